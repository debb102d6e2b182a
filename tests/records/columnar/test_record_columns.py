import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.errors import CorruptRecord
from odradek.records.columnar.record_columns import RecordColumns, decode_sections
from odradek.records.columnar.record_fields import Sections
from odradek.records.columnar.record_starts import LOCKSTEP_BATCHES_MIN
from odradek.records.columnar.varints import PADDING_BYTES

pytestmark = pytest.mark.spark

Header = tuple[str, bytes | None]
Row = tuple[int, bytes | None, bytes | None, list[Header]]


def varint(number: int) -> bytes:
    raw = (number << 1) ^ (number >> 63)
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def byte_string(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(offset_delta: int, row: Row) -> bytes:
    timestamp_delta, key, value, headers = row
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + byte_string(key) + byte_string(value)
    body += varint(len(headers))
    for name, content in headers:
        body += byte_string(name.encode()) + byte_string(content)
    return varint(len(body)) + body


def lay_out(batches: list[list[Row]], *, append_ms: int | None = None) -> tuple[bytes, Sections]:
    """Batches with some bytes between them, as headers lie in a fetch response."""
    data, starts, ends = b"", [], []
    for rows in batches:
        data += b"\xff" * 61
        starts.append(len(data))
        data += b"".join(record(index, row) for index, row in enumerate(rows))
        ends.append(len(data))
    counts = [len(rows) for rows in batches]
    return data, Sections(
        starts=np.array(starts, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        last_deltas=np.array([count - 1 for count in counts], dtype=np.int64),
        base_offsets=np.array([0, *np.cumsum(counts)[:-1]], dtype=np.int64),
        timestamps_ms=np.full(len(counts), 1000 if append_ms is None else append_ms, dtype=np.int64),
        appended=np.full(len(counts), append_ms is not None, dtype=np.bool_),
    )


def decode(data: bytes, sections: Sections, *, with_headers: bool = False) -> RecordColumns:
    return decode_sections(data + bytes(PADDING_BYTES), sections, with_headers=with_headers)


def headers_of(columns: RecordColumns) -> list[list[Header] | None]:
    assert columns.headers is not None
    return [entry and [(one["key"], one["value"]) for one in entry] for entry in columns.headers.to_pylist()]


ROWS = st.lists(
    st.tuples(
        st.integers(-(1 << 40), 1 << 40),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(ROWS, min_size=1, max_size=2 * LOCKSTEP_BATCHES_MIN))
def test_columns_hold_what_was_written(batches: list[list[Row]]) -> None:
    data, sections = lay_out(batches)
    columns = decode(data, sections, with_headers=True)
    rows = [row for batch in batches for row in batch]
    assert headers_of(columns) == [row[3] or None for row in rows]
    assert columns.offsets.tolist() == list(range(len(rows)))
    assert columns.timestamps_ms.tolist() == [1000 + row[0] for row in rows]
    assert columns.keys.to_pylist() == [row[1] for row in rows]
    assert columns.values.to_pylist() == [row[2] for row in rows]


def test_append_time_takes_the_place_of_every_timestamp() -> None:
    data, sections = lay_out([[(5, b"k", b"v", []), (9, b"k", b"v", [])]], append_ms=77)
    columns = decode(data, sections)
    assert columns.timestamps_ms.tolist() == [77, 77]
    assert columns.timestamp_types.tolist() == [1, 1]


def test_batches_of_very_different_counts_and_wide_records() -> None:
    short: list[Row] = [(0, b"k", b"v", [])]
    wide: list[Row] = [(0, None, bytes(20_000), []), (0, None, bytes(8_200), []), (1, b"", b"", [])]
    batches = [short * 500, *([wide] * (LOCKSTEP_BATCHES_MIN + 3)), [], short * 40, *([short] * 30)]
    data, sections = lay_out(batches)
    columns = decode(data, sections)
    assert columns.values.to_pylist() == [row[2] for batch in batches for row in batch]


def test_no_sections_give_no_rows() -> None:
    assert decode(*lay_out([[]])).offsets.tolist() == []


@pytest.mark.parametrize("batch_count", [1, LOCKSTEP_BATCHES_MIN + 1])
def test_a_count_that_lies_is_corrupt(batch_count: int) -> None:
    rows: list[Row] = [(0, b"key", b"value", [])] * 3
    data, sections = lay_out([rows] * batch_count)
    for count in (-1, 0, 2, 4, 1 << 31):
        counts = sections.counts.copy()
        counts[0] = count
        with pytest.raises(CorruptRecord):
            decode(data, replace(sections, counts=counts))


@pytest.mark.parametrize("batch_count", [1, LOCKSTEP_BATCHES_MIN + 1])
def test_damaged_bytes_are_corrupt_or_other_records_but_never_another_error(batch_count: int) -> None:
    chance = random.Random(11)
    data, sections = lay_out([[(0, b"key", b"value", [("h", b"x")])] * 4] * batch_count)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            one = chance.randrange(batch_count)
            at = chance.randrange(int(sections.starts[one]), int(sections.ends[one]))
            damaged[at] = chance.randrange(256)
        try:
            decode(bytes(damaged), sections, with_headers=True)
        except CorruptRecord:
            refused += 1
    assert refused > 100, f"only {refused} of 300 damaged buffers were refused"


@pytest.mark.parametrize("batch_count", [1, LOCKSTEP_BATCHES_MIN + 1])
def test_a_length_that_never_ends_is_corrupt(batch_count: int) -> None:
    data, sections = lay_out([[(0, b"key", b"value", [])]] * batch_count)
    start, end = int(sections.starts[-1]), int(sections.ends[-1])
    with pytest.raises(CorruptRecord):
        decode(data[:start] + b"\xff" * (end - start), sections)


@pytest.mark.parametrize("deltas", [[0, 1, 1], [2, 1, 3], [0, 1, 5], [-1, 0, 1]])
def test_offsets_that_do_not_rise_to_the_last_of_the_header_are_refused(deltas: list[int]) -> None:
    _, sections = lay_out([[(0, None, b"v", [])] * 2, [(0, None, b"v", [])] * 3])
    data = b"".join(record(delta, (0, None, b"v", [])) for delta in (0, 1, *deltas))
    size = len(record(0, (0, None, b"v", [])))
    sections = replace(
        sections,
        starts=np.array([0, 2 * size], dtype=np.int64),
        ends=np.array([2 * size, 5 * size], dtype=np.int64),
        last_deltas=np.array([1, 4], dtype=np.int64),
    )
    with pytest.raises(CorruptRecord, match="do not rise"):
        decode(data, sections)


def test_few_records_with_many_headers_among_others() -> None:
    many: list[Header] = [(f"k{number}", None if number % 3 else b"v" * number) for number in range(300)]
    rows: list[Row] = [(0, b"k", b"v", many if number == 7 else many[: number % 3]) for number in range(40)]
    data, sections = lay_out([rows, rows[:9]])
    columns = decode(data, sections, with_headers=True)
    assert headers_of(columns) == [row[3] or None for row in [*rows, *rows[:9]]]


@pytest.mark.parametrize("broken", [b"\x03\x01", b"\x02\x00", b"\xff\xff\xff\xff\xff\x01"])
def test_a_broken_header_among_many_is_corrupt(broken: bytes) -> None:
    whole = record(0, (0, None, b"v", [("", None)] * 100))
    broken_one = whole[: -len(broken)] + broken
    sections = lay_out([[(0, None, b"v", [("", None)] * 100)]])[1]
    data = b"\xff" * 61 + broken_one
    with pytest.raises(CorruptRecord):
        decode(data, sections, with_headers=True)
