"""`NNN.snapshot`: the producers of a log as of offset NNN, in Kafka's format.

Written at every roll and at a clean stop, so that opening a log reads one snapshot and the batches behind
it instead of all batches.

    version i16 = 1, CRC-32C u32 of all that follows, count i32, then per row 46 bytes:
    id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
    coordinator epoch i32, first offset of the open transaction i64 (-1: none)

Kafka writes one row per producer, with its last batch. After a restart it therefore refuses the batches that
were in flight together with the last one, if their answers were lost: OUT_OF_ORDER_SEQUENCE_NUMBER for
records that the log has, and the client writes them again. Here a producer has a row for each remembered
batch, oldest first. Of several rows Kafka keeps the last one, which is the row that it would have written.
"""

from collections.abc import Iterable, Iterator
from struct import Struct

from odradek.base.errors import CorruptRecord
from odradek.records.crc import crc32c
from odradek.storage.producer_state import NO_SEQUENCE, ProducerEntry, RememberedBatch, sequence_before

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_pack = _ENTRY.pack
_NO_OFFSET = -1
_NO_BATCHES = (RememberedBatch(NO_SEQUENCE, NO_SEQUENCE, _NO_OFFSET, _NO_OFFSET, -1),)


def render_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """The file's content."""
    rows: list[bytes] = []
    for entry in entries:
        _render(entry, rows)
    body = _COUNT.pack(len(rows)) + b"".join(rows)
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
        raise CorruptRecord(f"a producer snapshot announces {count} rows and has {len(body)} bytes")
    return list(_entries(body[_COUNT.size :]))


def _render(entry: ProducerEntry, rows: list[bytes]) -> None:
    """Append a row for each earlier batch, then Kafka's row."""
    producer_id, epoch, coordinator_epoch = entry.producer_id, entry.epoch, entry.coordinator_epoch
    newest_ms = entry.last_timestamp_ms
    *earlier, last = entry.batches or _NO_BATCHES
    for _, sequence, first, offset, timestamp_ms in earlier:
        # Kafka compares each row with the time of expiry: none may be younger than the last one.
        row_ms = timestamp_ms if timestamp_ms < newest_ms else newest_ms
        rows.append(
            _pack(producer_id, epoch, sequence, offset, offset - first, row_ms, coordinator_epoch, _NO_OFFSET)
        )
    _, sequence, first, offset, _ = last
    open_since = entry.transaction_first_offset
    if open_since is None:
        open_since = _NO_OFFSET
    rows.append(
        _pack(producer_id, epoch, sequence, offset, offset - first, newest_ms, coordinator_epoch, open_since)
    )


def _entries(rows: memoryview) -> Iterator[ProducerEntry]:
    entry: ProducerEntry | None = None
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
        if entry is None or entry.producer_id != producer_id:
            if entry is not None:
                yield entry
            entry = ProducerEntry(producer_id, epoch)
        elif entry.epoch != epoch:
            entry.enter_epoch(epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp_ms = timestamp_ms
        entry.transaction_first_offset = None if open_since == _NO_OFFSET else open_since
        if offset >= 0:
            first_sequence = sequence_before(sequence, delta)
            entry.batches.append(
                RememberedBatch(first_sequence, sequence, offset - delta, offset, timestamp_ms)
            )
    if entry is not None:
        yield entry
