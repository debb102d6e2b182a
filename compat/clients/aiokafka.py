"""aiokafka, the asyncio client in Python with C records."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord
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


class AiokafkaClient(Client):
    """AIOKafkaProducer and AIOKafkaConsumer, each call in an event loop of its own."""

    name: ClassVar[str] = "aiokafka"
    abilities: ClassVar[frozenset[Ability]] = ALL_ABILITIES - {Ability.NEWER_ERRORS}

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write with one AIOKafkaProducer."""
        return asyncio.run(self._write(topic, records, codec, acks, idempotent))

    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Read with one AIOKafkaConsumer that is assigned the partition."""
        return asyncio.run(self._read(TopicPartition(topic, partition), count, offset, committed_only))

    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Ask ListOffsets for both ends."""
        return asyncio.run(self._offset_range(TopicPartition(topic, partition)))

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Ask ListOffsets by timestamp."""
        return asyncio.run(self._offset_at(TopicPartition(topic, partition), timestamp_ms))

    async def _write(
        self, topic: str, records: Sequence[Record], codec: str, acks: int, idempotent: bool
    ) -> list[int]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks="all" if acks == -1 else acks,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=LINGER_MS,
            max_request_size=MESSAGE_BYTES_MAX,
        )
        await producer.start()
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                futures = [
                    await producer.send(
                        topic,
                        value=record.value,
                        key=record.key,
                        headers=list(record.headers),
                        partition=record.partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                    for record in records
                ]
                # All of them, or an error of a later one would be reported as never retrieved.
                delivered = await asyncio.gather(*futures, return_exceptions=True)
        except KafkaError as error:
            raise refusal_of(error) from error
        finally:
            await producer.stop()
        offsets: list[int] = []
        for outcome in delivered:
            if isinstance(outcome, BaseException):
                raise refusal_of(outcome) from outcome
            offsets.append(-1 if outcome is None else outcome.offset)
        return offsets if acks != 0 else []

    async def _read(
        self, assigned: TopicPartition, count: int, offset: int, committed_only: bool
    ) -> list[Record]:
        read: list[Record] = []
        async with self._consumer(committed_only) as consumer:
            consumer.assign([assigned])
            consumer.seek(assigned, offset)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S_MAX):
                    while len(read) < count:
                        polled = await consumer.getmany(
                            assigned, timeout_ms=100, max_records=count - len(read)
                        )
                        read.extend(record_of(record) for record in polled.get(assigned, ()))
        return read

    async def _offset_range(self, asked: TopicPartition) -> tuple[int, int]:
        async with self._consumer() as consumer:
            first = await consumer.beginning_offsets([asked])
            end = await consumer.end_offsets([asked])
            return first[asked], end[asked]

    async def _offset_at(self, asked: TopicPartition, timestamp_ms: int) -> int | None:
        async with self._consumer() as consumer:
            found = (await consumer.offsets_for_times({asked: timestamp_ms}))[asked]
            return None if found is None else found.offset

    @contextlib.asynccontextmanager
    async def _consumer(self, committed_only: bool = False) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            auto_offset_reset="none",
            check_crcs=True,
            isolation_level=ISOLATION_LEVELS[committed_only],
            max_partition_fetch_bytes=MESSAGE_BYTES_MAX,
        )
        await consumer.start()
        try:
            yield consumer
        except KafkaError as error:
            raise refusal_of(error) from error
        finally:
            await consumer.stop()


def refusal_of(error: BaseException) -> BaseException:
    """The broker's refusal behind an error of aiokafka, or the error itself."""
    return Refused(error.errno) if isinstance(error, KafkaError) and error.errno > 0 else error


def record_of(record: ConsumerRecord[bytes, bytes]) -> Record:
    """A record as the suite sees it."""
    return Record(
        value=record.value,
        key=record.key,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
        partition=record.partition,
        offset=record.offset,
    )
