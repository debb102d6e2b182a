from typing import TypeAlias

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.builder import BatchBuilder, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.framing import Record, iter_records
from odradek.records.header import check_crc, read_header

Header: TypeAlias = tuple[bytes, bytes | None]
Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]
"""Gap to the offset before, timestamp, key, value, headers."""

maybe_bytes = st.one_of(st.none(), st.binary(max_size=200))
headers = st.lists(st.tuples(st.binary(max_size=10), maybe_bytes), max_size=3).map(tuple)
rows = st.lists(
    st.tuples(st.integers(1, 70), st.integers(0, 1 << 45), maybe_bytes, maybe_bytes, headers),
    min_size=1,
    max_size=6,
)


def build(codec: Codec, base_offset: int, given_rows: list[Row]) -> tuple[bytearray, list[Record]]:
    builder = BatchBuilder(base_offset=base_offset, codec=codec)
    written = []
    offset = base_offset - 1
    for gap, timestamp_ms, key, value, record_headers in given_rows:
        offset += gap
        builder.append(timestamp_ms, key, value, record_headers, offset=offset)
        written.append(Record(offset, timestamp_ms, key, value, record_headers))
    return builder.build(), written


@given(st.sampled_from(list(Codec)), st.integers(0, 1 << 60), rows)
def test_what_was_built_reads_back(codec: Codec, base_offset: int, given_rows: list[Row]) -> None:
    batch, written = build(codec, base_offset, given_rows)
    header = read_header(batch)
    check_crc(batch, header)
    assert header.size_bytes == len(batch)
    assert list(iter_records(batch, header)) == written
    assert header.last_offset == written[-1].offset
    assert header.max_timestamp == max(record.timestamp_ms for record in written)


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_other_clients_read_what_is_built(codec: Codec) -> None:
    builder = BatchBuilder(
        codec=codec, producer_id=3, producer_epoch=1, base_sequence=8, is_transactional=True
    )
    builder.append(1000, b"key", b"value" * 100, ((b"name", b"content"), (b"none", None)))
    builder.append(1200, None, None)
    theirs = AiokafkaBatch(bytes(builder.build()))
    assert theirs.validate_crc()
    assert [(one.offset, one.timestamp, one.key, one.value, one.headers) for one in theirs] == [
        (0, 1000, b"key", b"value" * 100, [("name", b"content"), ("none", None)]),
        (1, 1200, None, None, []),
    ]
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (3, 1, 8)
    assert theirs.is_transactional
    assert not theirs.is_control_batch


def test_size_is_that_of_the_uncompressed_batch() -> None:
    builder = BatchBuilder()
    for number in range(100):
        assert builder.append(number, b"k", bytes(number)) == number
    assert builder.size_bytes == len(builder.build())


def test_an_offset_out_of_order_is_a_mistake_of_ours() -> None:
    builder = BatchBuilder(base_offset=10)
    builder.append(0, None, b"", offset=12)
    with pytest.raises(AssertionError):
        builder.append(0, None, b"", offset=12)


@given(st.sampled_from(list(Codec)), rows, st.data())
def test_compaction_keeps_offsets_and_all_that_is_not_dropped(
    codec: Codec, given_rows: list[Row], draw: st.DataObject
) -> None:
    """L5: the records that stay are what they were."""
    batch, written = build(codec, 1000, given_rows)
    header = read_header(batch)
    kept = [record for record in written if draw.draw(st.booleans())]
    rebuilt = rebuild_batch(header, kept)
    after = read_header(rebuilt)
    check_crc(rebuilt, after)
    assert list(iter_records(rebuilt, after)) == kept
    assert (after.base_offset, after.last_offset) == (header.base_offset, header.last_offset)
    assert after.max_timestamp == max((record.timestamp_ms for record in kept), default=-1)


def test_a_batch_left_without_records_still_says_where_its_producer_stands() -> None:
    builder = BatchBuilder(producer_id=7, producer_epoch=2, base_sequence=40, codec=Codec.LZ4)
    builder.append(5, b"k", b"v")
    builder.append(6, b"k", b"v")
    emptied = rebuild_batch(read_header(builder.build()), [])
    header = read_header(emptied)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (7, 2, 41)
    assert (header.record_count, header.last_offset, len(emptied)) == (0, 1, 61)
    assert list(iter_records(emptied, header)) == []


def test_a_delete_horizon_is_noted_once_and_changes_no_timestamp() -> None:
    """L5, KIP-534."""
    builder = BatchBuilder()
    builder.append(1000, b"k", None)
    first = rebuild_batch(
        read_header(builder.build()), [Record(0, 1000, b"k", None)], delete_horizon_ms=90_000
    )
    header = read_header(first)
    assert header.delete_horizon_ms == 90_000
    assert [record.timestamp_ms for record in iter_records(first, header)] == [1000]
    second = rebuild_batch(header, iter_records(first, header), delete_horizon_ms=200_000)
    assert read_header(second).delete_horizon_ms == 90_000
    assert [record.timestamp_ms for record in iter_records(second, read_header(second))] == [1000]


def test_compaction_keeps_the_append_time() -> None:
    builder = BatchBuilder()
    builder.append(1000, b"k", b"v")
    batch = builder.build()
    header = read_header(batch)
    header.attributes |= 0x08
    header.max_timestamp = 5000
    header.seal_into(batch)
    rebuilt = rebuild_batch(header, iter_records(batch, header))
    assert [record.timestamp_ms for record in iter_records(rebuilt, read_header(rebuilt))] == [5000]
