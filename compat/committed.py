"""Reads a partition up to its last stable offset, where a read-committed consumer learns of the end.

So a test does not have to wait to see that nothing follows.
"""

from confluent_kafka import Consumer, TopicPartition
from peers.waiting import WAIT_S_MAX

POLLED_RECORDS_MAX = 10_000
# librdkafka's own name for the end of a partition.
PARTITION_EOF = "_PARTITION_EOF"


def committed_records(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of all committed records of partition 0, up to its last stable offset.

    Raises AssertionError if that is not reached, or if the broker refuses.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    records: list[tuple[bytes | None, bytes | None]] = []
    try:
        while True:
            polled = consumer.consume(1, timeout=WAIT_S_MAX)
            assert polled, f"the last stable offset was not reached in {WAIT_S_MAX} s"
            for message in [*polled, *consumer.consume(POLLED_RECORDS_MAX, timeout=0)]:
                error = message.error()
                if error is not None:
                    assert error.name() == PARTITION_EOF, error
                    return records
                records.append((message.key(), message.value()))
    finally:
        consumer.close()
