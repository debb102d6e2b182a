"""Builds batches: from records one by one, or from the records that compaction keeps of another batch.

A built batch is complete: header, compressed records, CRC. In a producer's batch, which has no offsets yet,
they start at 0; the log that appends it assigns offsets by writing only the base offset.
"""

from collections.abc import Iterable
from dataclasses import replace

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId
from odradek.records.compression import Codec, compress
from odradek.records.framing import Record, RecordHeaders, append_record
from odradek.records.header import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    blank_header,
)


class BatchBuilder:
    """Builds one batch: `append` its records in the order of their offsets, then `build` once."""

    __slots__ = ("_body", "_header", "codec", "level")

    def __init__(
        self,
        *,
        base_offset: Offset = 0,
        codec: int = Codec.NONE,
        level: int | None = None,
        leader_epoch: LeaderEpoch = NO_EPOCH,
        producer_id: ProducerId = NO_PRODUCER_ID,
        producer_epoch: int = -1,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self.codec = codec
        self.level = level
        # The header so far: offsets, timestamps and count describe what `_body` holds.
        self._header = blank_header()
        self._header.base_offset = base_offset
        self._header.leader_epoch = leader_epoch
        self._header.producer_id = producer_id
        self._header.producer_epoch = producer_epoch
        self._header.base_sequence = base_sequence
        self._header.attributes = TRANSACTIONAL_BIT * is_transactional | CONTROL_BIT * is_control
        # The records appended, uncompressed.
        self._body = bytearray()

    @property
    def record_count(self) -> int:
        """How many records have been appended."""
        return self._header.record_count

    @property
    def size_bytes(self) -> int:
        """The size of the batch if it is not compressed."""
        return HEADER_BYTES + len(self._body)

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders = (),
        *,
        offset: Offset | None = None,
    ) -> Offset:
        """Add a record at the next offset, or at the later one that is given; returns its offset."""
        header = self._header
        delta = header.last_offset_delta + 1 if offset is None else offset - header.base_offset
        assert delta > header.last_offset_delta, f"offset delta {delta} after {header.last_offset_delta}"
        if not header.record_count:
            header.base_timestamp = timestamp_ms
        append_record(self._body, timestamp_ms - header.base_timestamp, delta, key, value, headers)
        header.last_offset_delta = delta
        header.max_timestamp = max(header.max_timestamp, timestamp_ms)
        header.record_count += 1
        return header.base_offset + delta

    def build(self) -> bytearray:
        """Returns the batch's bytes; it must have at least one record."""
        assert self._header.record_count, "a batch without records"
        return assemble_batch(self._header, self._body, self.codec, self.level)


def batch_of(
    body: Buffer,
    count: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    *,
    codec: int,
    level: int | None = None,
    is_transactional: bool = False,
) -> bytearray:
    """A producer's batch of `count` encoded records, whose deltas are to the first of them."""
    assert count, "a batch without records"
    header = blank_header()
    header.attributes = TRANSACTIONAL_BIT * is_transactional
    header.base_timestamp, header.max_timestamp = base_timestamp_ms, max_timestamp_ms
    header.record_count, header.last_offset_delta = count, count - 1
    return assemble_batch(header, body, codec, level)


def rebuild_batch(
    header: BatchHeader,
    kept: Iterable[Record],
    *,
    level: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """The batch of `header` with only `kept` of its records, as compaction (L5) writes it.

    Offsets, and the batch's range of offsets and sequence numbers, do not change, even if its first or last
    record is dropped, or all are (a batch without records still has its producer's last sequence number).
    `delete_horizon_ms`, if given, is stored in the batch, unless the batch already has one (KIP-534).
    """
    horizon = header.delete_horizon_ms if header.delete_horizon_ms is not None else delete_horizon_ms
    records = list(kept)
    rebuilt = replace(header)
    rebuilt.record_count = len(records)
    if horizon is not None:
        rebuilt.attributes |= DELETE_HORIZON_BIT
        rebuilt.base_timestamp = horizon
    elif records:
        rebuilt.base_timestamp = records[0].timestamp_ms
    if not header.is_log_append_time:
        rebuilt.max_timestamp = max((record.timestamp_ms for record in records), default=NO_TIMESTAMP)
    body = bytearray()
    for record in records:
        append_record(
            body,
            record.timestamp_ms - rebuilt.base_timestamp,
            record.offset - rebuilt.base_offset,
            record.key,
            record.value,
            record.headers,
        )
    return assemble_batch(rebuilt, body, header.codec if records else Codec.NONE, level)


def assemble_batch(header: BatchHeader, body: Buffer, codec: int, level: int | None = None) -> bytearray:
    """Put `body`, uncompressed records, under `codec` behind `header`, which gets length, codec and CRC."""
    packed = compress(codec, body, level)
    batch = bytearray(HEADER_BYTES)
    batch += packed
    header.size_bytes = len(batch)
    header.attributes = header.attributes & ~CODEC_MASK | codec
    header.seal_into(batch)
    return batch
