"""Ten topics that differ in all that a reader may get wrong, made from one seed.

Five have one codec each, and random keys, values, times and partitions. The others have nulls, headers,
transactions, a transaction that is open at the end, and gaps that compaction left.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from peers.waiting import wait_until

import odradek
from compat.clients import CODECS, Record
from compat.clients.confluent import ConfluentClient
from compat.transactions.confluent import ConfluentProducer

SEED: Final = 20130101
RECORDS: Final = 600
# 2013-01-01, and the milliseconds of a year after it.
_FIRST_MS: Final = 1_356_998_400_000
_YEAR_MS: Final = 31_536_000_000
_NAMES: Final = ("a", "source", "ключ", "")
# So large that each segment of the compacted topic has a few of them: no segment may be under 1 MiB.
_COMPACTED_BYTES: Final = 100_000
_COMPACTED_KEYS: Final = 7
# No broker ends the open transaction while a slow machine reads.
_OPEN_MS_MAX: Final = 600_000


@dataclass(frozen=True, slots=True)
class Generated:
    """One topic, and how many of its records a reader finds."""

    name: str
    all_records: int | None
    """None for a compacted topic, where the broker decides when it removes which."""
    committed_records: int | None


@contextmanager
def generated_topics(
    bootstrap: str, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> Iterator[list[Generated]]:
    """The topics; one of them has an open transaction until the end of the `with` block."""
    made = _Maker(bootstrap, new_topic, fresh_name)
    topics = [made.of_codec(codec, partitions) for partitions, codec in enumerate(CODECS, 1)]
    topics += [made.with_nulls(), made.with_headers(), made.with_transactions(), made.compacted()]
    still_open, topic = made.with_open_transaction()
    try:
        yield [*topics, topic]
    finally:
        still_open.close()


class _Maker:
    def __init__(self, bootstrap: str, new_topic: Callable[..., str], fresh_name: Callable[[], str]) -> None:
        self._bootstrap = bootstrap
        self._new_topic = new_topic
        self._fresh_name = fresh_name
        self._client = ConfluentClient(bootstrap)
        self._random = random.Random(SEED)

    def of_codec(self, codec: str, partitions: int) -> Generated:
        """Texts that compress and bytes that do not; the broker's own times where there are two partitions.

        The last of several partitions stays empty.
        """
        times = {"message_timestamp_type": "LogAppendTime"} if partitions == 2 else {}
        name = self._new_topic(partitions=partitions, retention_ms=-1, **times)
        records = [
            Record(
                key=b"key %d" % self._random.randrange(50),
                value=self._value(),
                timestamp_ms=self._time_ms(),
                partition=self._random.randrange(max(1, partitions - 1)),
            )
            for _ in range(RECORDS)
        ]
        for start in range(0, RECORDS, 100):  # several batches in each partition
            self._client.write(name, records[start : start + 100], codec=codec)
        return Generated(name, RECORDS, RECORDS)

    def with_nulls(self) -> Generated:
        """Keys and values that are null, empty or neither, in all combinations."""
        name = self._new_topic(partitions=2, retention_ms=-1)
        choices = (None, b"", b"\x00\xff", "Zürich".encode())
        records = [
            Record(
                key=self._random.choice(choices),
                value=self._random.choice(choices),
                timestamp_ms=self._time_ms(),
                partition=self._random.randrange(2),
            )
            for _ in range(RECORDS)
        ]
        self._client.write(name, records, codec="lz4")
        return Generated(name, RECORDS, RECORDS)

    def with_headers(self) -> Generated:
        """No, one or several headers, with equal and empty names, and values that are null or empty."""
        name = self._new_topic(partitions=2, retention_ms=-1)
        values = (None, b"", b"tower", b"\x00\xff")
        records = [
            Record(
                value=self._value(),
                headers=tuple(
                    (self._random.choice(_NAMES), self._random.choice(values))
                    for _ in range(self._random.randrange(4))
                ),
                timestamp_ms=self._time_ms(),
                partition=self._random.randrange(2),
            )
            for _ in range(RECORDS)
        ]
        self._client.write(name, records, codec="zstd")
        return Generated(name, RECORDS, RECORDS)

    def with_transactions(self) -> Generated:
        """Transactions of two producers between each other; each partition ends with control records."""
        name = self._new_topic(partitions=2)
        producers = [ConfluentProducer(self._bootstrap, self._fresh_name()) for _ in range(2)]
        written = committed = 0
        for _ in range(8):
            for producer in producers:
                producer.begin()
            counts = [0, 0]
            for _ in range(4):
                index = self._random.randrange(2)
                sent = self._random.randrange(1, 20)
                producers[index].send(name, [self._small(partition=number % 2) for number in range(sent)])
                counts[index] += sent
            written += sum(counts)
            for producer, count in zip(producers, counts, strict=True):
                if self._random.random() < 0.5:
                    producer.commit()
                    committed += count
                else:
                    producer.abort()
        for producer in producers:
            producer.close()
        assert 0 < committed < written, "the seed makes no aborted transactions, or no others"
        return Generated(name, written, committed)

    def with_open_transaction(self) -> tuple[odradek.Producer, Generated]:
        """Records before and behind the first one of a transaction that nobody has ended yet."""
        name = self._new_topic()
        self._client.write(name, [self._small() for _ in range(30)])
        settings = {"transactional.id": self._fresh_name(), "transaction.timeout.ms": _OPEN_MS_MAX}
        producer = odradek.Producer(self._bootstrap, settings=settings)
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(20):
            one = self._small()
            producer.send(name, value=one.value, key=one.key)
        producer.flush()
        self._client.write(name, [self._small() for _ in range(10)])
        return producer, Generated(name, 60, 30)

    def compacted(self) -> Generated:
        """Many records of few keys, most of which compaction has removed, and tombstones."""
        name = self._new_topic(
            cleanup_policy="compact", segment_bytes=1 << 20, min_cleanable_dirty_ratio=0.01, retention_ms=-1
        )
        records = [
            Record(
                key=b"key %d" % self._random.randrange(_COMPACTED_KEYS),
                value=None if self._random.random() < 0.1 else self._random.randbytes(_COMPACTED_BYTES),
            )
            for _ in range(80)
        ]
        for start in range(0, len(records), 8):  # so many in a batch that the log has several segments
            self._client.write(name, records[start : start + 8])

        def has_gaps() -> bool:
            left = self._client.read(name, _COMPACTED_KEYS)
            return [record.offset for record in left] != list(range(_COMPACTED_KEYS))

        wait_until(has_gaps, f"{name} is not compacted")
        return Generated(name, None, None)

    def _small(self, partition: int = 0) -> Record:
        return Record(
            key=b"%d" % self._random.randrange(9), value=self._random.randbytes(30), partition=partition
        )

    def _value(self) -> bytes:
        if self._random.random() < 0.5:
            return b"minutes %d; " % self._random.randrange(500) * self._random.randrange(1, 40)
        return self._random.randbytes(self._random.randrange(300))

    def _time_ms(self) -> int:
        return _FIRST_MS + self._random.randrange(_YEAR_MS)
