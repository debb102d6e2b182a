"""A fetch answer as columns holds the same records as one by one, and is decoded piece by piece."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from odradek.base.errors import InvalidRecord, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.column_reader import ColumnReader
from odradek.client.core.consumer.completed_fetch import CompletedFetch
from odradek.records.compression import Codec
from odradek.records.control import EndTxnMarker, build_marker
from odradek.wire.messages.fetch import AbortedTransaction, PartitionData
from tests.batches import numbered_batch as batch

pytest.importorskip("pyarrow")

P0 = TopicPartition("orders", 0)
PRODUCER = 7


def marker(offset: int) -> bytes:
    made = build_marker(EndTxnMarker(False, 0), producer_id=PRODUCER, producer_epoch=0, timestamp_ms=1_000)
    made[:8] = offset.to_bytes(8, "big")
    return bytes(made)


def completed(records: bytes, at: int = 0, aborted: Sequence[AbortedTransaction] = ()) -> CompletedFetch:
    data = PartitionData(partition_index=0, records=records, aborted_transactions=list(aborted))
    return CompletedFetch(P0, at, data, is_committed_only=True, checks_crc=True)


def columns_of(one: CompletedFetch) -> ColumnReader:
    found = one.as_columns(with_headers=False)
    assert found is not None
    return found


def offsets(pieces: Sequence[Any]) -> list[int]:
    return [offset for rows in pieces for offset in rows.column("offset").to_pylist()]


def all_columns(one: CompletedFetch, count: int) -> list[int]:
    found: list[int] = []
    reader = columns_of(one)
    while not one.is_exhausted:
        if (away := one.away) is not None:
            one.has(away, away.call())
        taken = offsets(reader.take(count))
        assert len(taken) <= count
        found += taken
    return found


def all_records(one: CompletedFetch) -> list[int]:
    found: list[int] = []
    while not one.is_exhausted:
        if (away := one.away) is not None:
            one.has(away, away.call())
        found += [record.offset for record in one.take(500)]
    return found


@given(
    some.lists(
        some.tuples(some.integers(1, 6), some.sampled_from([0, 1, 3]), some.booleans()),
        min_size=1,
        max_size=6,
    ),
    some.integers(0, 3),
    some.integers(1, 9),
)
def test_it_holds_the_same_records(batches: list[tuple[int, int, bool]], at: int, count: int) -> None:
    """Also of aborted transactions, and from a position within a batch."""
    records, base, aborted = b"", 0, []
    for number, codec, is_aborted in batches:
        records += batch(base, number, codec=codec, producer=PRODUCER if is_aborted else -1)
        if is_aborted:
            aborted.append(AbortedTransaction(PRODUCER, base))
            records += marker(base + number)
        base += number + is_aborted
    expected = completed(records, at, aborted)
    found = completed(records, at, aborted)
    assert all_columns(found, count) == all_records(expected)
    assert columns_of(found).next_offset == expected.next_offset


def test_what_is_compressed_is_decoded_elsewhere_and_a_repeated_call_finds_the_same() -> None:
    one = completed(batch(0, 10, codec=Codec.ZSTD) + batch(10, 10, codec=Codec.ZSTD))
    reader = columns_of(one)
    assert reader.take(100) == []
    away = one.away
    assert away is not None
    away.call()  # its caller was cancelled
    one.has(away, away.call())
    assert offsets(reader.take(100)) == list(range(20))


def test_what_is_corrupt_is_told_each_time_behind_what_is_not() -> None:
    broken = bytearray(batch(0, 3, codec=Codec.ZSTD))
    broken[-1] ^= 1
    one = completed(bytes(broken))
    reader = columns_of(one)
    reader.take(10)
    away = one.away
    assert away is not None
    with pytest.raises(OdradekError) as fault:
        away.call()
    one.has(away, fault.value)
    for _ in range(2):
        with pytest.raises(OdradekError, match=str(fault.value)):
            reader.take(10)
    assert not one.is_exhausted
    assert reader.next_offset == 0


def test_a_fetch_that_was_begun_in_one_way_is_not_read_in_another() -> None:
    one = completed(batch(0, 3))
    one.take(1)
    assert one.as_columns(with_headers=False) is None
    other = completed(batch(0, 3))
    assert offsets(columns_of(other).take(1)) == [0]
    assert other.as_columns(with_headers=True) is None


def test_rows_come_once_whatever_the_base_offsets_say() -> None:
    records = batch(0, 4) + batch(0, 4, codec=Codec.ZSTD) + batch(2, 4) + batch(6, 1)
    assert all_columns(completed(records), 3) == list(range(7))


def test_a_leap_beyond_the_high_watermark_is_told_behind_what_comes_before() -> None:
    leap = bytearray(batch(0, 1))
    leap[:8] = (4).to_bytes(8, "big")
    reader = columns_of(completed(batch(0, 2) + batch(2, 1) + bytes(leap)))
    assert offsets(reader.take(10)) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(InvalidRecord, match="at offset 4, beyond the high watermark 0 of"):
            reader.take(10)
    assert reader.next_offset == 3


def test_what_no_position_can_be_behind_and_what_is_cut_short_is_told() -> None:
    last = bytearray(batch(0, 1))
    last[:8] = ((1 << 63) - 1).to_bytes(8, "big")
    reader = columns_of(completed(batch(0, 2) + bytes(last)))
    assert offsets(reader.take(2)) == [0, 1]
    with pytest.raises(InvalidRecord, match="a batch ends at offset 9223372036854775807"):
        reader.take(2)
    with pytest.raises(InvalidRecord, match="no whole batch"):
        columns_of(completed(batch(0, 9)[:70])).take(2)
