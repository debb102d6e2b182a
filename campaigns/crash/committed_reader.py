"""Read-committed readers: one reads continuously, one reads everything again."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from campaigns.crash.campaign import QUICK_RECONNECTS, QUIET, Broken
from campaigns.crash.transactions_check import Written

READ_TIMEOUT_S = 60.0

Place = tuple[int, int]
"""Partition and offset."""


def read_committed(bootstrap: str, topic: str, partitions: int) -> dict[Place, Written]:
    """Everything in a topic that is committed. Raises Broken."""
    consumer = _consumer(bootstrap, {"enable.partition.eof": True})
    found: dict[Place, Written] = {}
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        ended: set[int] = set()
        deadline = time.monotonic() + READ_TIMEOUT_S
        while len(ended) < partitions:
            if time.monotonic() > deadline:
                raise Broken(f"reading everything did not end; ended: {sorted(ended)} of {partitions}")
            for message in consumer.consume(1_000, 0.05):
                error = message.error()
                if error is None:
                    _add(found, message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                elif error.fatal() or not error.retriable():
                    raise Broken(f"reading everything failed: {error}")
    finally:
        consumer.close()
    return found


class FollowingReader(threading.Thread):
    """Reads continuously while the broker stops and starts; a record that it has seen must stay."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self._consumer = _consumer(bootstrap, {})
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        self._ending = threading.Event()
        self._found: dict[Place, Written] = {}
        self._failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ending.is_set():
                for message in self._consumer.consume(500, 0.05):
                    error = message.error()
                    if error is None:
                        _add(self._found, message)
                    elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                        raise Broken(f"the following reader lost its place: {error}")
        except Exception as failure:
            self._failure = failure
        finally:
            self._consumer.close()

    def await_all(self, expected: Mapping[Place, Written]) -> None:
        """Wait until it has seen this. Raises Broken when it does not, or saw anything else."""
        deadline = time.monotonic() + READ_TIMEOUT_S
        while len(self._found) < len(expected) and self._failure is None:
            if time.monotonic() > deadline:
                missing = sorted(expected.keys() - self._found.keys())
                raise Broken(f"the following reader does not go on; {len(missing)} missing: {missing[:5]}")
            time.sleep(0.01)
        if self._failure is not None:
            raise Broken(f"the following reader failed: {self._failure}")
        seen = dict(self._found)
        if seen != expected:
            unlike = [(place, one) for place, one in seen.items() if expected.get(place) != one]
            raise Broken(f"{len(unlike)} records were seen that are not there now: {unlike[:5]}")

    def finish(self) -> None:
        """Stop."""
        self._ending.set()
        self.join()


def _consumer(bootstrap: str, settings: Mapping[str, Any]) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "check.crcs": True,
            **QUICK_RECONNECTS,
            **QUIET,
            **settings,
        }
    )


def _add(found: dict[Place, Written], message: Message) -> None:
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None, "a record without a partition"
    assert offset is not None, "a record without an offset"
    assert value is not None, "a record without a value"
    if (partition, offset) in found:
        raise Broken(f"offset {offset} of partition {partition} was read twice")
    found[partition, offset] = Written.decode(value)
