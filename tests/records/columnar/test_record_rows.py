"""Records of many batches at once are those of the decoder that reads them one by one."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from odradek.base.errors import InvalidRecord, OdradekError
from odradek.records.builder import BatchBuilder
from odradek.records.columnar.record_rows import RecordRows
from odradek.records.framing import RecordHeaders, body_of
from odradek.records.header import LOG_APPEND_TIME_BIT, BatchHeader, read_header
from odradek.records.header_reader import HeaderReader
from odradek.records.record_tuples import TupleReader
from tests.records.test_record_tuples import CONTENT, HEADERS, Found

Records = list[tuple[int, bytes | None, bytes | None, RecordHeaders]]
RECORDS = some.lists(
    some.tuples(some.integers(-(1 << 40), 1 << 40), CONTENT, CONTENT, HEADERS), min_size=1, max_size=8
)
Batches = Sequence[tuple[bytes, BatchHeader]]


def batches_of(several: Sequence[Records], *, is_append_time: bool = False) -> Batches:
    found, base = [], 7
    for records in several:
        builder = BatchBuilder(base_offset=base)
        for timestamp, key, value, headers in records:
            builder.append(timestamp, key, value, headers)
        batch = builder.build()
        header = read_header(batch)
        if is_append_time:
            header.attributes |= LOG_APPEND_TIME_BIT
        found.append((body_of(batch, header), header))
        base = header.next_offset + 3
    return found


def at_once(batches: Batches, first: int = 0, count: int = 1 << 30) -> list[Found]:
    reader = RecordRows(Found, ("t", 5), (3, False), batches, first)
    found: list[Found] = []
    while not reader.is_done:
        found += reader.read(count)
    return found


def one_by_one(batches: Batches, first: int = 0) -> list[Found]:
    found: list[Found] = []
    for body, header in batches:
        found += TupleReader(Found, ("t", 5), (3, False), body, header, first, HeaderReader()).read(1 << 30)
    return found


@given(some.lists(RECORDS, min_size=1, max_size=5), some.booleans(), some.integers(0, 40))
def test_it_finds_what_the_other_decoder_finds(
    several: list[Records], is_append_time: bool, first: int
) -> None:
    batches = batches_of(several, is_append_time=is_append_time)
    expected = one_by_one(batches, first)
    assert at_once(batches, first) == expected
    assert at_once(batches, first, count=3) == expected
    assert all(type(one) is Found for one in at_once(batches, first))


@settings(max_examples=300)
@given(some.lists(RECORDS, min_size=1, max_size=3), some.data())
def test_it_accepts_what_the_other_decoder_accepts(several: list[Records], data: some.DataObject) -> None:
    batches = batches_of(several)
    which = data.draw(some.integers(0, len(batches) - 1))
    body, header = batches[which]
    changed = bytearray(body)
    for _ in range(data.draw(some.integers(1, 3))):
        changed[data.draw(some.integers(0, len(changed) - 1))] = data.draw(some.integers(0, 255))
    end = data.draw(some.integers(len(changed) // 2, len(changed)))
    broken = [*batches[:which], (bytes(changed[:end]), header), *batches[which + 1 :]]
    try:
        expected = one_by_one(broken)
    except InvalidRecord:
        with pytest.raises(OdradekError):
            at_once(broken)
    else:
        assert at_once(broken) == expected


def test_timestamps_that_no_64_bits_hold_are_refused() -> None:
    ((body, header),) = batches_of([[(5, None, b"v", ()), (9, None, b"v", ())]])
    header.base_timestamp = (1 << 63) - 2
    with pytest.raises(OdradekError):
        one_by_one([(body, header)])
    with pytest.raises(OdradekError, match="a timestamp of more than 64 bits"):
        at_once([(body, header)])


def test_faults_of_headers_are_told_each_time_behind_the_records_in_front() -> None:
    ((body, header),) = batches_of([[(0, None, b"v", ((b"name", b"value"),))] * 2])
    at = body.rindex(b"\x0avalue")
    broken = body[:at] + b"\x08" + body[at + 1 :]
    reader = RecordRows(Found, ("t", 5), (3, False), [(broken, header)], 0)
    assert [one.headers for one in reader.read(9)] == [(("name", b"value"),)]
    for _ in range(2):
        with pytest.raises(InvalidRecord, match="headers of a record cannot be read"):
            reader.read(1)
    assert not reader.is_done
