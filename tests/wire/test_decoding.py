import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    DECODING_ERRORS,
    STRING_BYTES_MAX,
    ElementBudget,
    Undecodable,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_count,
    read_nullable_string,
    read_string,
    read_tag,
    read_uuid,
    read_uvarint,
    skip_tags,
)
from odradek.wire.encoding import write_compact_string, write_int32s, write_uvarint


@given(st.integers(0, 2**32 - 1), st.binary(max_size=3))
def test_every_32_bit_varint_comes_back(value: int, before: bytes) -> None:
    data = bytearray(before)
    write_uvarint(data, value)
    assert read_uvarint(data + b"\xff", len(before)) == (value, len(data))


@given(st.binary(max_size=8))
def test_a_varint_of_any_bytes_stays_within_32_bits(data: bytes) -> None:
    try:
        value, end = read_uvarint(data, 0)
    except DECODING_ERRORS:
        return
    assert 0 <= value < 2**32
    assert 0 < end <= 5


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20))
def test_integers_come_back_few_or_many(values: list[int]) -> None:
    data = bytearray()
    write_int32s(data, values)
    assert read_int32s(data, 0, len(values)) == (values, len(data))


def test_null_is_minus_one_and_nothing_below() -> None:
    assert read_nullable_string(b"\xff\xff", 0) == (None, 2)
    assert read_nullable_count(b"\xff\xff\xff\xff", 0, 1, ElementBudget(0)) == (-1, 4)
    for data in (b"\xff\xfe", b"\x80\x00"):
        with pytest.raises(Undecodable):
            read_nullable_string(data, 0)
        with pytest.raises(Undecodable):
            read_string(data, 0)
    with pytest.raises(Undecodable):
        read_nullable_count(b"\xff\xff\xff\xfe", 0, 1, ElementBudget(0))


def test_a_count_spends_the_budget_and_must_fit_the_bytes_left() -> None:
    budget = ElementBudget(5)
    assert read_compact_nullable_count(b"\x04" + bytes(6), 0, 2, budget) == (3, 1)
    assert budget.left == 2
    with pytest.raises(Undecodable):
        read_compact_nullable_count(b"\x04" + bytes(5), 0, 2, ElementBudget(5))
    with pytest.raises(Undecodable):
        read_compact_nullable_count(b"\x04" + bytes(6), 0, 2, budget)


def test_zero_is_no_topic_id() -> None:
    assert read_uuid(bytes(16), 0) == (NO_TOPIC_ID, 16)


def test_tagged_fields_end_inside_the_buffer() -> None:
    assert read_tag(b"\x05\x02ab", 0) == (5, 2, 4)
    with pytest.raises(Undecodable):
        read_tag(b"\x05\x03ab", 0)
    assert skip_tags(b"\x02\x00\x01a\x05\x00rest", 0, ElementBudget(2)) == 6


def test_a_structure_has_no_more_tagged_fields_than_kafka_reads() -> None:
    """10,000, with Kafka 4.4."""
    fields = b"\x05\x00" * 10_001
    assert skip_tags(b"\x90\x4e" + fields[2:], 0, ElementBudget(20_000)) == len(fields)
    with pytest.raises(Undecodable):
        skip_tags(b"\x91\x4e" + fields, 0, ElementBudget(20_000))


def test_missing_bytes_raise_what_the_caller_expects() -> None:
    for read in (read_uvarint, read_string, read_nullable_string):
        with pytest.raises((struct.error, IndexError)):
            read(b"", 0)


def test_a_string_is_no_longer_in_new_versions_than_in_old_ones() -> None:
    """A group's id goes into the key of a record, which has 16 bits for its length."""
    longest, longer = bytearray(), bytearray()
    write_compact_string(longest, "x" * STRING_BYTES_MAX)
    write_compact_string(longer, "x" * (STRING_BYTES_MAX + 1))
    for read in (read_compact_string, read_compact_nullable_string):
        assert read(longest, 0) == ("x" * STRING_BYTES_MAX, len(longest))
        with pytest.raises(Undecodable):
            read(longer, 0)
