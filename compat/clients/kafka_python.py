"""kafka-python, the oldest client in pure Python."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import BrokerResponseError
from peers.waiting import WAIT_S_MAX

from compat.clients.model import (
    ALL_ABILITIES,
    ISOLATION_LEVELS,
    LINGER_MS,
    Ability,
    Client,
    Record,
    Refused,
)

MESSAGE_BYTES_MAX = 10_000_000


class KafkaPythonClient(Client):
    """KafkaProducer and KafkaConsumer."""

    name: ClassVar[str] = "kafka-python"
    abilities: ClassVar[frozenset[Ability]] = ALL_ABILITIES - {Ability.NULL_HEADERS}

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write with one KafkaProducer."""
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks="all" if acks == -1 else acks,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=LINGER_MS,
            max_request_size=MESSAGE_BYTES_MAX,
            max_block_ms=int(WAIT_S_MAX * 1000),
        )
        with contextlib.closing(producer), refusals():
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            producer.flush(WAIT_S_MAX)
            offsets = [future.get(WAIT_S_MAX).offset for future in futures]
        return offsets if acks != 0 else []

    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Read with one KafkaConsumer that is assigned the partition."""
        assigned = TopicPartition(topic, partition)
        read: list[Record] = []
        with contextlib.closing(self._consumer(committed_only)) as consumer, refusals():
            consumer.assign([assigned])
            consumer.seek(assigned, offset)
            deadline = time.monotonic() + WAIT_S_MAX
            while len(read) < count and time.monotonic() < deadline:
                polled = consumer.poll(timeout_ms=100, max_records=count - len(read))
                read.extend(record_of(record) for record in polled.get(assigned, ()))
        return read

    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Ask ListOffsets for both ends."""
        asked = TopicPartition(topic, partition)
        with contextlib.closing(self._consumer()) as consumer, refusals():
            return consumer.beginning_offsets([asked])[asked], consumer.end_offsets([asked])[asked]

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Ask ListOffsets by timestamp."""
        asked = TopicPartition(topic, partition)
        with contextlib.closing(self._consumer()) as consumer, refusals():
            found = consumer.offsets_for_times({asked: timestamp_ms})[asked]
            return None if found is None else found.offset

    def _consumer(self, committed_only: bool = False) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            auto_offset_reset="none",
            check_crcs=True,
            isolation_level=ISOLATION_LEVELS[committed_only],
            max_partition_fetch_bytes=MESSAGE_BYTES_MAX,
        )


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """The broker's errors come out as Refused."""
    try:
        yield
    except BrokerResponseError as error:
        raise Refused(error.errno) from error


def record_of(record: Any) -> Record:  # noqa: ANN401 - the client ships no type for it
    """A record as the suite sees it."""
    return Record(
        value=record.value,
        key=record.key,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
        partition=record.partition,
        offset=record.offset,
    )
