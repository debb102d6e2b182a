import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.columnar import record_sets
from odradek.records.columnar.record_sets import HEADERS_SCHEMA, SCHEMA, RecordSet, record_batches
from odradek.records.compression import Codec
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.header import read_header
from odradek.records.isolation import AbortedTransactions
from odradek.storage.transaction_index import AbortedTransaction

pytestmark = pytest.mark.spark

FLIGHTS, PLANES = TopicPartition("flights", 1), TopicPartition("planes", 0)


def batch(first: int, values: list[bytes], *, codec: int = Codec.NONE, producer: int | None = None) -> bytes:
    builder = BatchBuilder(
        base_offset=first,
        codec=codec,
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1 if producer is None else 0,
        is_transactional=producer is not None,
    )
    for number, value in enumerate(values):
        builder.append(1000 + number, b"k", value, ((b"n", b"%d" % number),) if number % 2 else ())
    return bytes(builder.build())


def marker(offset: int, producer: int, *, committed: bool) -> bytes:
    built = build_marker(EndTxnMarker(committed, 0), producer_id=producer, producer_epoch=0, timestamp_ms=1)
    struct.pack_into(">q", built, 0, offset)
    return bytes(built)


def values_of(*sets: RecordSet) -> list[bytes]:
    return [value for rows in record_batches(sets) for value in rows.column("value").to_pylist()]


def rows_of(*sets: RecordSet, with_headers: bool = False) -> list[dict[str, Any]]:
    return [row for rows in record_batches(sets, with_headers=with_headers) for row in rows.to_pylist()]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Codec)), st.lists(st.binary(max_size=30), min_size=1, max_size=9))
    ),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_sets_hold_what_was_written_between_their_offsets(
    batches: list[tuple[Codec, list[bytes]]], start: int, length: int
) -> None:
    data, offset, written = b"", 0, []
    for codec, values in batches:
        data += batch(offset, values, codec=codec)
        written += [(offset + number, value) for number, value in enumerate(values)]
        offset += len(values)
    one = RecordSet(FLIGHTS, data, start, start + length)
    assert one.next_offset == max(start, offset)
    found = [(row["offset"], row["value"]) for row in rows_of(one)]
    assert found == [row for row in written if start <= row[0] < start + length]


@pytest.mark.parametrize("with_headers", [False, True])
def test_the_columns_are_those_of_spark_s_source(with_headers: bool) -> None:
    one = RecordSet(FLIGHTS, batch(5, [b"a", b"b"]), 0)
    (rows,) = record_batches([one], with_headers=with_headers)
    assert rows.schema.equals(HEADERS_SCHEMA if with_headers else SCHEMA)
    second = rows.to_pylist()[1]
    assert second.pop("timestamp").timestamp() == 1.001
    expected = {
        "key": b"k",
        "value": b"b",
        "topic": "flights",
        "partition": 1,
        "offset": 6,
        "timestampType": 0,
    }
    assert second == expected | ({"headers": [{"key": "n", "value": b"1"}]} if with_headers else {})


def test_sets_of_several_partitions_are_decoded_together_in_their_order() -> None:
    sets = [RecordSet(part, batch(0, [part.topic.encode()] * 2), 1) for part in (FLIGHTS, PLANES, FLIGHTS)]
    (rows,) = record_batches(sets)
    assert rows.column("topic").to_pylist() == ["flights", "planes", "flights"]
    assert rows.column("partition").to_pylist() == [1, 0, 1]
    assert rows.column("value").to_pylist() == [b"flights", b"planes", b"flights"]


def test_records_of_aborted_transactions_and_markers_are_hidden() -> None:
    data = batch(0, [b"a"], producer=7) + batch(1, [b"b"], producer=8) + batch(2, [b"plain"])
    data += marker(3, 7, committed=False) + batch(4, [b"c"], producer=7)
    data += marker(5, 8, committed=True) + marker(6, 7, committed=True)
    aborted = AbortedTransactions()
    aborted.learn([AbortedTransaction(7, 0, 3, 0)])
    assert values_of(RecordSet(FLIGHTS, data, 0, aborted=aborted)) == [b"b", b"plain", b"c"]
    assert values_of(RecordSet(FLIGHTS, data, 0)) == [b"a", b"b", b"plain", b"c"]


def test_a_transaction_that_was_aborted_goes_on_in_the_next_set() -> None:
    aborted = AbortedTransactions()
    aborted.learn([AbortedTransaction(7, 0, 3, 0)])
    first = RecordSet(FLIGHTS, batch(0, [b"a"], producer=7), 0, aborted=aborted)
    following = batch(1, [b"b"], producer=7) + marker(2, 7, committed=False) + batch(3, [b"c"], producer=7)
    assert values_of(first) == []
    assert values_of(RecordSet(FLIGHTS, following, 1, aborted=aborted)) == [b"c"]


def test_a_batch_that_is_cut_short_is_left_for_the_next_set() -> None:
    whole, cut = batch(0, [b"a"]), batch(1, [b"b"])
    for left in range(len(cut)):
        one = RecordSet(FLIGHTS, whole + cut[:left], 0)
        assert (values_of(one), one.next_offset) == ([b"a"], 1)


def test_nothing_gives_nothing() -> None:
    one = RecordSet(FLIGHTS, b"", 12)
    assert (rows_of(one), one.next_offset) == ([], 12)


def test_damage_is_found_by_the_crc() -> None:
    data = bytearray(batch(0, [b"value"]))
    data[-3] ^= 1
    with pytest.raises(CorruptRecord, match="CRC"):
        rows_of(RecordSet(FLIGHTS, data, 0))


@pytest.mark.parametrize(("magic", "error"), [(1, InvalidRecord), (9, CorruptRecord)])
def test_what_is_no_batch_is_refused(magic: int, error: type[Exception]) -> None:
    data = bytearray(batch(0, [b"value"]))
    data[16] = magic
    with pytest.raises(error):
        RecordSet(FLIGHTS, data, 0)


def test_compressed_sets_are_decoded_in_pieces_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "ROWS_BYTES_MAX", 1000)
    data = b"".join(batch(number, [b"x" * 400], codec=Codec.ZSTD) for number in range(7))
    assert [rows.num_rows for rows in record_batches([RecordSet(FLIGHTS, data, 0)])] == [3, 3, 1]


def test_agrees_with_another_reader_of_the_format() -> None:
    from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for number in range(100):
        builder.append(number, 5000 + number, b"k%d" % number, b"v" * number, [("h", b"%d" % number)])
    written = bytes(builder.build())
    theirs = list(DefaultRecordBatch(written))
    assert read_header(written).record_count == 100
    rows = rows_of(RecordSet(FLIGHTS, written, 0), with_headers=True)
    assert [(row["key"], row["value"]) for row in rows] == [(one.key, one.value) for one in theirs]
    assert [row["timestamp"].timestamp() * 1000 for row in rows] == [one.timestamp for one in theirs]
    assert [row["headers"][0]["value"] for row in rows] == [one.headers[0][1] for one in theirs]
