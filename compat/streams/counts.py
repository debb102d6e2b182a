"""The topic of counts: what is committed in it, and whether a transaction is open."""

from collections import defaultdict

from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

READ_TIMEOUT_S = 10.0
REQUEST_TIMEOUT_S = 10.0
POLLED_RECORDS_MAX = 10_000
# librdkafka's own name for having read all there is.
PARTITION_EOF = "_PARTITION_EOF"


class Counts:
    """The one partition into which a word count writes."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._partition = TopicPartition(topic, 0)
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def ends(self) -> tuple[int, int]:
        """The last stable offset and the log end; they differ while a transaction is open."""
        stable, end = (self._end(isolation) for isolation in ISOLATIONS)
        return stable, end

    def committed(self) -> dict[str, list[int]]:
        """The counts of each word in their order, up to the last stable offset."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )
        consumer.assign([TopicPartition(self._partition.topic, 0, 0)])
        counts: dict[str, list[int]] = defaultdict(list)
        try:
            while True:
                polled = consumer.consume(1, timeout=READ_TIMEOUT_S)
                assert polled, f"the end was not reached in {READ_TIMEOUT_S} s"
                for message in [*polled, *consumer.consume(POLLED_RECORDS_MAX, timeout=0)]:
                    error = message.error()
                    if error is not None:
                        assert error.name() == PARTITION_EOF, error
                        return dict(counts)
                    key, value = message.key(), message.value()
                    assert key is not None, "a count without its word"
                    assert value is not None, f"no count of {key!r}"
                    counts[key.decode()].append(int.from_bytes(value, "big"))
        finally:
            consumer.close()

    def _end(self, isolation: IsolationLevel) -> int:
        asked = {self._partition: OffsetSpec.latest()}
        answers = self._admin.list_offsets(
            asked, isolation_level=isolation, request_timeout=REQUEST_TIMEOUT_S
        )
        offset: int = answers[self._partition].result().offset
        return offset


ISOLATIONS = (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
