import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.errors import CorruptRecord
from odradek.spark.columns import LOCKSTEP_BATCHES_MIN, Section, decode_sections

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


def lay_out(batches: list[list[Row]], *, append_ms: int | None = None) -> tuple[bytes, list[Section]]:
    """Batches with some bytes between them, as headers lie in a fetch response."""
    data, sections, offset = b"", [], 0
    for rows in batches:
        data += b"\xff" * 61
        body = b"".join(record(index, row) for index, row in enumerate(rows))
        sections.append(Section(len(data), len(data) + len(body), len(rows), offset, 1000, append_ms))
        data += body
        offset += len(rows)
    return data, sections


ROWS = st.lists(
    st.tuples(
        st.integers(-(1 << 40), 1 << 40),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
    ),
    max_size=8,
)


@settings(max_examples=150)
@given(st.lists(ROWS, min_size=1, max_size=2 * LOCKSTEP_BATCHES_MIN))
def test_columns_hold_what_was_written(batches: list[list[Row]]) -> None:
    data, sections = lay_out(batches)
    columns = decode_sections(data, sections, with_headers=True)
    rows = [row for batch in batches for row in batch]
    assert columns.offsets.tolist() == list(range(len(rows)))
    assert columns.timestamps_ms.tolist() == [1000 + row[0] for row in rows]
    assert columns.keys.to_pylist() == [row[1] for row in rows]
    assert columns.values.to_pylist() == [row[2] for row in rows]
    assert columns.headers is not None
    found = [entry and [(one["key"], one["value"]) for one in entry] for entry in columns.headers.to_pylist()]
    assert found == [row[3] or None for row in rows]


def test_append_time_takes_the_place_of_every_timestamp() -> None:
    data, sections = lay_out([[(5, b"k", b"v", []), (9, b"k", b"v", [])]], append_ms=77)
    columns = decode_sections(data, sections)
    assert columns.timestamps_ms.tolist() == [77, 77]
    assert columns.timestamp_types.tolist() == [1, 1]


def test_no_sections_give_no_rows() -> None:
    assert decode_sections(b"", []).offsets.tolist() == []


@pytest.mark.parametrize("batch_count", [1, LOCKSTEP_BATCHES_MIN + 1])
def test_a_count_that_lies_is_corrupt(batch_count: int) -> None:
    rows: list[Row] = [(0, b"key", b"value", [])] * 3
    data, sections = lay_out([rows] * batch_count)
    first = sections[0]
    for count in (2, 4):
        lying = Section(first.start, first.end, count, 0, 0, None)
        with pytest.raises(CorruptRecord):
            decode_sections(data, [lying, *sections[1:]])


@pytest.mark.parametrize("batch_count", [1, LOCKSTEP_BATCHES_MIN + 1])
def test_damaged_bytes_are_corrupt_or_other_records_but_never_another_error(batch_count: int) -> None:
    chance = random.Random(11)
    data, sections = lay_out([[(0, b"key", b"value", [("h", b"x")])] * 4] * batch_count)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            section = chance.choice(sections)
            damaged[chance.randrange(section.start, section.end)] = chance.randrange(256)
        try:
            decode_sections(bytes(damaged), sections, with_headers=True)
        except CorruptRecord:
            refused += 1
    assert refused > 100, f"only {refused} of 300 damaged buffers were refused"


def test_a_length_that_never_ends_is_corrupt() -> None:
    data = b"\xff" * 61 + b"\xff" * 12
    with pytest.raises(CorruptRecord):
        decode_sections(data, [Section(61, len(data), 1, 0, 0, None)])


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
    batch = bytes(builder.build())
    base_timestamp = struct.unpack_from(">q", batch, 27)[0]
    columns = decode_sections(
        batch, [Section(61, len(batch), 100, 0, base_timestamp, None)], with_headers=True
    )
    theirs = list(DefaultRecordBatch(batch))
    assert columns.keys.to_pylist() == [one.key for one in theirs]
    assert columns.values.to_pylist() == [one.value for one in theirs]
    assert columns.timestamps_ms.tolist() == [one.timestamp for one in theirs]
