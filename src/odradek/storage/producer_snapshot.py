"""`NNN.snapshot`: the producers of a log as of offset NNN, in Kafka's format.

Written at every roll and at a clean stop, so that opening a log reads one snapshot and the batches behind
it instead of all batches. Of each producer only the last batch is kept, as in Kafka.

    version i16 = 1, CRC-32C u32 of all that follows, count i32, then per producer 46 bytes:
    id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
    coordinator epoch i32, first offset of the open transaction i64 (-1: none)
"""

from collections.abc import Iterable, Iterator
from struct import Struct

from odradek.base.errors import CorruptRecord
from odradek.records.crc import crc32c
from odradek.storage.producer_state import ProducerEntry, RememberedBatch, sequence_before

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_NO_OFFSET = -1


def render_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """The file's content."""
    rendered = [_ENTRY.pack(*_columns(entry)) for entry in entries]
    body = _COUNT.pack(len(rendered)) + b"".join(rendered)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def parse_snapshot(data: bytes) -> list[ProducerEntry]:
    """The producers of a snapshot; CorruptRecord when its version, CRC or length does not hold."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptRecord(f"a producer snapshot of {len(data)} bytes is cut short")
    version, crc = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    if version != _VERSION:
        raise CorruptRecord(f"a producer snapshot of version {version}, not {_VERSION}")
    if crc32c(body) != crc:
        raise CorruptRecord("the CRC of a producer snapshot does not hold")
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptRecord(f"a producer snapshot announces {count} producers and has {len(body)} bytes")
    return list(_entries(body[_COUNT.size :]))


def _columns(entry: ProducerEntry) -> tuple[int, ...]:
    last = entry.batches[-1] if entry.batches else None
    first_offset = entry.transaction_first_offset
    return (
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.last_offset,
        last.last_offset - last.first_offset if last else 0,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        _NO_OFFSET if first_offset is None else first_offset,
    )


def _entries(rows: memoryview) -> Iterator[ProducerEntry]:
    for (
        producer_id,
        epoch,
        sequence,
        offset,
        delta,
        timestamp_ms,
        coordinator_epoch,
        open_since,
    ) in _ENTRY.iter_unpack(rows):
        entry = ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp_ms)
        entry.transaction_first_offset = None if open_since == _NO_OFFSET else open_since
        if offset >= 0:
            first_sequence = sequence_before(sequence, delta)
            batch = RememberedBatch(first_sequence, sequence, offset - delta, offset, timestamp_ms)
            entry.batches.append(batch)
        yield entry
