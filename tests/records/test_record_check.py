import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import InvalidRecord
from odradek.records.framing import append_record, iter_body
from odradek.records.header import blank_header
from odradek.records.record_check import RecordSummary, check_records

Row = tuple[int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]

small_bytes = st.one_of(st.none(), st.binary(max_size=5), st.binary(min_size=60, max_size=140))
header_entries = st.lists(st.tuples(st.binary(max_size=4), small_bytes), max_size=3).map(tuple)
rows = st.lists(
    st.tuples(st.integers(-(1 << 62), 1 << 62), small_bytes, small_bytes, header_entries),
    min_size=1,
    max_size=10,
)


def body_of_rows(given_rows: list[Row]) -> bytes:
    body = bytearray()
    for number, (delta, key, value, headers) in enumerate(given_rows):
        append_record(body, delta, number, key, value, headers)
    return bytes(body)


@given(rows)
def test_the_summary_is_that_of_the_records(given_rows: list[Row]) -> None:
    deltas = [row[0] for row in given_rows]
    keyless = [number for number, row in enumerate(given_rows) if row[1] is None]
    assert check_records(body_of_rows(given_rows), len(given_rows)) == RecordSummary(
        min(deltas), max(deltas), keyless[0] if keyless else None
    )


def test_numbers_of_every_width_are_walked() -> None:
    given_rows: list[Row] = [(1 << shift, bytes(1 << shift), None, ()) for shift in range(0, 22, 3)]
    given_rows += [(0, None, bytes(1 << shift), ()) for shift in range(0, 22, 3)]
    given_rows += [(-number, b"", b"", ()) for number in range(9000)]
    assert check_records(body_of_rows(given_rows), len(given_rows)) == RecordSummary(-8999, 1 << 21, 8)


@given(rows, st.data())
def test_the_walk_and_the_reader_agree_on_damaged_bytes(given_rows: list[Row], draw: st.DataObject) -> None:
    body = bytearray(body_of_rows(given_rows))
    for _ in range(draw.draw(st.integers(0, 2))):
        body[draw.draw(st.integers(0, len(body) - 1))] = draw.draw(st.integers(0, 255))
    header = blank_header()
    header.record_count = draw.draw(st.sampled_from([len(given_rows), len(given_rows) + 1]))
    header.last_offset_delta = header.record_count - 1
    try:
        records = list(iter_body(bytes(body), header))
        is_whole = [record.offset for record in records] == list(range(header.record_count))
    except InvalidRecord as refusal:
        if "64 bits" in str(refusal):
            return  # the walk leaves that to those who know the base timestamp
        is_whole = False
    if is_whole:
        check_records(bytes(body), header.record_count)
    else:
        with pytest.raises(InvalidRecord):
            check_records(bytes(body), header.record_count)


@pytest.mark.parametrize("count", [1, 3, 2**31 - 1])
def test_another_count_than_there_are_records_is_refused(count: int) -> None:
    with pytest.raises(InvalidRecord):
        check_records(body_of_rows([(0, b"k", b"v", ()), (0, b"k", b"v", ())]), count)


def test_offset_deltas_that_are_not_dense_are_refused() -> None:
    body = bytearray()
    append_record(body, 0, 0, None, None)
    append_record(body, 0, 2, None, None)
    with pytest.raises(InvalidRecord, match="record 1 has offset delta 2"):
        check_records(bytes(body), 2)


def test_every_shorter_body_is_refused() -> None:
    body = body_of_rows([(5, b"key", b"value", ((b"h", b"1"),))] * 3)
    for size in range(len(body)):
        with pytest.raises(InvalidRecord):
            check_records(body[:size], 3)


@given(st.binary(max_size=60), st.integers(1, 5))
def test_arbitrary_bytes_are_refused_or_add_up(body: bytes, count: int) -> None:
    try:
        check_records(body, count)
    except InvalidRecord:
        return
    header = blank_header()
    header.record_count, header.last_offset_delta, header.base_timestamp = count, count - 1, 0
    assert len(list(iter_body(body, header))) == count
