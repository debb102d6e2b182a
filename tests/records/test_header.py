import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.records.builder import BatchBuilder
from odradek.records.header import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    BatchHeader,
    blank_header,
    check_crc,
    iter_headers,
    read_header,
)


def batch_of(*values: bytes, base_offset: int = 0) -> bytes:
    builder = BatchBuilder(base_offset=base_offset)
    for number, value in enumerate(values):
        builder.append(1000 + number, None, value)
    return bytes(builder.build())


def test_a_header_says_what_stands_in_its_bytes() -> None:
    data = struct.pack(">qiibIhiqqqhii", 40, 60, 3, 2, 77, 0x34, 9, 100, 200, 5, 6, 7, 10)
    header = read_header(data)
    assert header == BatchHeader(40, 72, 3, 2, 77, 0x34, 9, 100, 200, 5, 6, 7, 10)
    assert header.size_bytes == 60 + OVERHEAD_BYTES
    assert (header.last_offset, header.next_offset) == (49, 50)
    assert header.codec == 4
    assert (header.is_transactional, header.is_control, header.is_log_append_time) == (True, True, False)
    assert header.last_sequence == 16
    assert header.delete_horizon_ms is None


def test_bit_six_makes_the_base_timestamp_a_delete_horizon() -> None:
    header = blank_header()
    header.attributes, header.base_timestamp = 0x40, 5000
    assert header.delete_horizon_ms == 5000


def test_sequence_numbers_wrap_to_zero() -> None:
    header = blank_header()
    header.base_sequence, header.last_offset_delta = 2**31 - 2, 3
    assert header.last_sequence == 1


def test_a_batch_of_no_producer_has_no_last_sequence() -> None:
    header = blank_header()
    header.last_offset_delta = 3
    assert header.last_sequence == -1


def test_packing_what_was_read_gives_the_same_bytes() -> None:
    data = batch_of(b"a", b"b")
    header, copy = read_header(data), bytearray(HEADER_BYTES)
    header.pack_into(copy)
    assert copy == data[:HEADER_BYTES]


def test_batches_are_walked_in_order_and_a_last_one_cut_short_is_left_out() -> None:
    first, second = batch_of(b"a"), batch_of(b"bb", b"c", base_offset=1)
    found = list(iter_headers(first + second + first[:-1]))
    assert [(position, header.base_offset, header.record_count) for position, header in found] == [
        (0, 0, 1),
        (len(first), 1, 2),
    ]


def test_walking_can_begin_and_end_inside_a_buffer() -> None:
    one = batch_of(b"a")
    assert [position for position, _ in iter_headers(one * 4, len(one), 3 * len(one))] == [
        len(one),
        2 * len(one),
    ]


@pytest.mark.parametrize("size", [0, 1, 16, 17, 60])
def test_fewer_bytes_than_a_header_are_corrupt(size: int) -> None:
    with pytest.raises(CorruptRecord, match=f"{size} bytes are too few"):
        read_header(batch_of(b"a")[:size])


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_a_length_below_a_header_is_corrupt(length: int) -> None:
    data = bytearray(batch_of(b"a"))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(CorruptRecord, match="less than its header"):
        read_header(data)


@pytest.mark.parametrize("size", [20, 100])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused_as_such(magic: int, size: int) -> None:
    data = bytearray(size)
    data[16] = magic
    with pytest.raises(InvalidRecord, match=f"message format {magic}"):
        read_header(data)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_a_magic_that_does_not_exist_is_corrupt(magic: int) -> None:
    data = bytearray(batch_of(b"a"))
    data[16] = magic
    with pytest.raises(CorruptRecord, match="magic"):
        read_header(data)


@given(st.data())
def test_any_flipped_bit_that_the_crc_covers_is_found(draw: st.DataObject) -> None:
    data = bytearray(batch_of(b"some", b"records"))
    at = draw.draw(st.integers(17, len(data) - 1))
    data[at] ^= 1 << draw.draw(st.integers(0, 7))
    with pytest.raises(CorruptRecord, match="CRC"):
        check_crc(data, read_header(data))


def test_the_crc_is_that_of_the_batch_at_the_position() -> None:
    data = b"xyz" + batch_of(b"a") + b"more"
    check_crc(memoryview(data), read_header(data, 3), 3)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_walked_or_refused(data: bytes) -> None:
    try:
        for position, header in iter_headers(data):
            assert position + header.size_bytes <= len(data)
    except (CorruptRecord, InvalidRecord):
        pass
