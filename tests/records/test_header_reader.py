"""Headers are read as they were written, and no more of them in a slice than the bound says."""

import pytest

from odradek.base.errors import InvalidRecord
from odradek.records.framing import NamedHeaders, RecordHeaders, append_record
from odradek.records.header_reader import HEADERS_MAX, HEADERS_PER_SLICE, HeaderReader
from odradek.records.varint import append_varint, read_varint


def record_of(headers: RecordHeaders) -> tuple[bytes, int]:
    """A record without key and value, and where the number of its headers stands."""
    body = bytearray()
    append_record(body, 0, 0, None, None, headers)
    _, position = read_varint(bytes(body), 0)
    return bytes(body), position + 5  # attributes, two deltas, two lengths


def slices_of(reader: HeaderReader, body: bytes, start: int) -> tuple[int, NamedHeaders, int]:
    slices = 1
    while (read := reader.read(body, start, len(body))) is None:
        slices += 1
        reader.renew()
    return slices, *read


def test_headers_are_read_as_they_were_written() -> None:
    body, start = record_of(((b"a", b"1"), (b"\xff", None), (b"", b"")))
    headers = (("a", b"1"), ("\\xff", None), ("", b""))
    assert HeaderReader().read(body, start, len(body)) == (headers, len(body))


@pytest.mark.parametrize("more", [0, 1, 2 * HEADERS_PER_SLICE + 1])
def test_many_headers_take_several_slices(more: int) -> None:
    headers = tuple((b"%d" % number, None) for number in range(HEADERS_PER_SLICE + more))
    body, start = record_of(headers)
    slices, found, position = slices_of(HeaderReader(), body, start)
    assert slices == -(-len(headers) // HEADERS_PER_SLICE)
    assert found == tuple((name.decode(), value) for name, value in headers)
    assert position == len(body)


def test_the_records_of_a_slice_share_its_bound() -> None:
    body, start = record_of(((b"a", None),) * (HEADERS_PER_SLICE // 2 + 1))
    reader = HeaderReader()
    assert reader.read(body, start, len(body)) is not None
    assert reader.read(body, start, len(body)) is None
    reader.renew()
    read = reader.read(body, start, len(body))
    assert read is not None
    assert len(read[0]) == HEADERS_PER_SLICE // 2 + 1


def test_more_headers_than_bytes_are_refused() -> None:
    body = bytearray()
    append_varint(body, 3)
    with pytest.raises(InvalidRecord, match="3 headers are announced, 4 bytes are left"):
        HeaderReader().read(bytes(body) + bytes(4), 0, len(body) + 4)


def test_a_record_with_too_many_headers_is_refused_before_they_are_read() -> None:
    body = bytearray()
    append_varint(body, HEADERS_MAX + 1)
    whole = bytes(body) + b"\0\1" * (HEADERS_MAX + 1)
    with pytest.raises(InvalidRecord, match="at most 1000000 are read"):
        HeaderReader().read(whole, 0, len(whole))


def test_a_fault_in_a_later_slice_is_raised_each_time() -> None:
    body, start = record_of(((b"a", None),) * (HEADERS_PER_SLICE + 10))
    broken = body[:-1] + b"\x03"  # the length of the last value: -2
    reader = HeaderReader()
    assert reader.read(broken, start, len(broken)) is None
    for _ in range(2):
        reader.renew()
        with pytest.raises(InvalidRecord, match="negative length"):
            reader.read(broken, start, len(broken))
