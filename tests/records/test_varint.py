import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import InvalidRecord
from odradek.records.varint import LONG_BYTES_MAX, append_varint, read_bits, read_varint


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (64, "8001"), (300, "d804"), (-65, "8101")],
)
def test_numbers_take_the_bytes_of_the_format(value: int, encoded: str) -> None:
    target = bytearray()
    append_varint(target, value)
    assert target.hex() == encoded


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=3))
def test_a_number_reads_back_as_it_was_written(value: int, before: bytes) -> None:
    data = bytearray(before)
    append_varint(data, value)
    assert read_varint(bytes(data), len(before), LONG_BYTES_MAX) == (value, len(data))


def test_bits_keep_the_sign_in_the_lowest_bit() -> None:
    assert read_bits(b"\x81\x01", 0) == (129, 2)


def test_padding_is_accepted_up_to_the_most_bytes() -> None:
    assert read_varint(b"\x82\x80\x80\x80\x00", 0) == (1, 5)


@pytest.mark.parametrize("bytes_max", [5, 10])
def test_a_number_of_too_many_bytes_is_refused(bytes_max: int) -> None:
    with pytest.raises(InvalidRecord, match=f"more than {bytes_max} bytes"):
        read_varint(b"\x80" * bytes_max + b"\x00", 0, bytes_max)
