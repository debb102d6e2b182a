"""confluent-kafka: librdkafka in Python."""

import time
from collections.abc import Sequence
from typing import ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from peers.waiting import WAIT_S_MAX

from compat.clients.model import (
    ISOLATION_LEVELS,
    LINGER_MS,
    Client,
    Record,
    Refused,
)
from odradek.base.error_codes import ErrorCode

MESSAGE_BYTES_MAX = 10_000_000

# librdkafka hides some of a broker's errors from the application and reports one of its own, below 0.
OWN_ERRORS = {
    "_AUTO_OFFSET_RESET": ErrorCode.OFFSET_OUT_OF_RANGE,
    "_UNKNOWN_PARTITION": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "_UNKNOWN_TOPIC": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
# After a fatal error only the message says what the broker answered.
FENCED_WORDS = "Static consumer fenced"


class ConfluentClient(Client):
    """Producer and Consumer of confluent-kafka."""

    name: ClassVar[str] = "confluent-kafka"

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write with one Producer."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "acks": acks,
                "compression.type": codec,
                "enable.idempotence": idempotent,
                "linger.ms": LINGER_MS,
                "message.max.bytes": MESSAGE_BYTES_MAX,
                "message.timeout.ms": int(WAIT_S_MAX * 1000),
            }
        )
        offsets = [-1] * len(records)
        errors: list[KafkaError] = []
        for index, record in enumerate(records):

            def delivered(error: KafkaError | None, message: Message, index: int = index) -> None:
                if error is not None:
                    errors.append(error)
                else:
                    offsets[index] = _known(message.offset())

            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                partition=-1 if record.partition is None else record.partition,
                timestamp=record.timestamp_ms or 0,
                on_delivery=delivered,
            )
            producer.poll(0)
        left = producer.flush(WAIT_S_MAX)
        if errors:
            raise refusal_of(errors[0])
        assert left == 0, f"{left} records were neither acknowledged nor refused"
        return offsets if acks != 0 else []

    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Read with one Consumer that is assigned the partition."""
        consumer = self._consumer(committed_only)
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            deadline = time.monotonic() + WAIT_S_MAX
            read: list[Record] = []
            while len(read) < count and time.monotonic() < deadline:
                for message in consumer.consume(count - len(read), timeout=0.1):
                    error = message.error()
                    if error is not None:
                        raise refusal_of(error)
                    read.append(record_of(message))
            return read
        finally:
            consumer.close()

    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Ask ListOffsets for both ends."""
        consumer = self._consumer()
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), WAIT_S_MAX)
            return low, high
        except KafkaException as exception:
            raise refusal_of(exception.args[0]) from exception
        finally:
            consumer.close()

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Ask ListOffsets by timestamp; librdkafka answers -1 (end) when there is none."""
        consumer = self._consumer()
        try:
            wanted = TopicPartition(topic, partition, timestamp_ms)
            (found,) = consumer.offsets_for_times([wanted], WAIT_S_MAX)
            if found.error is not None:
                raise refusal_of(found.error)
            return found.offset if found.offset >= 0 else None
        finally:
            consumer.close()

    def _consumer(self, committed_only: bool = False) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "check.crcs": True,
                "isolation.level": ISOLATION_LEVELS[committed_only],
                "fetch.message.max.bytes": MESSAGE_BYTES_MAX,
            }
        )


def refusal_of(error: KafkaError) -> Exception:
    """The broker's refusal behind librdkafka's error, or an exception for librdkafka's own error."""
    if error.name() == "_FATAL" and FENCED_WORDS in error.str():
        return Refused(ErrorCode.FENCED_INSTANCE_ID)
    if error.name() in OWN_ERRORS:
        return Refused(OWN_ERRORS[error.name()])
    return Refused(error.code()) if error.code() > 0 else KafkaException(error)


def _known(offset: int | None) -> int:
    return -1 if offset is None else offset


def record_of(message: Message) -> Record:
    """A message as the suite sees it."""
    return Record(
        value=message.value(),
        key=message.key(),
        headers=tuple(message.headers() or ()),  # type: ignore[arg-type] # bytes, when they were read
        timestamp_ms=message.timestamp()[1],
        partition=message.partition(),
        offset=message.offset(),
    )
