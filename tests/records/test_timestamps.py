import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.builder import BatchBuilder, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.header import read_header
from odradek.records.timestamps import find_in_steps
from odradek.records.work import finish


def batch_at(timestamps: list[int], codec: Codec = Codec.NONE) -> bytearray:
    builder = BatchBuilder(base_offset=10, codec=codec)
    for timestamp_ms in timestamps:
        builder.append(timestamp_ms, None, b"v")
    return builder.build()


def test_the_example_of_the_module_holds() -> None:
    """L6"""
    batch = batch_at([500, 700, 600, 700])
    assert finish(find_in_steps(batch, 600)) == (11, 700)


@given(
    st.sampled_from(list(Codec)),
    st.lists(st.integers(0, 20), min_size=1, max_size=12),
    st.integers(-1, 22),
    st.integers(0, 25),
)
def test_the_first_record_late_enough_is_found(
    codec: Codec, timestamps: list[int], target: int, start: int
) -> None:
    """L6"""
    found = finish(find_in_steps(batch_at(timestamps, codec), target, start))
    late = [(offset, one) for offset, one in enumerate(timestamps, 10) if one >= target and offset >= start]
    assert found == (late[0] if late else None)


@pytest.mark.parametrize("target", [0, 900])
def test_under_log_append_time_the_first_record_answers_for_all(target: int) -> None:
    """L6"""
    batch = batch_at([1, 2, 3])
    header = read_header(batch)
    header.attributes |= 0x08
    header.max_timestamp = 900
    header.seal_into(batch)
    assert finish(find_in_steps(batch, target)) == (10, 900)


def test_a_batch_without_records_has_no_timestamp() -> None:
    emptied = rebuild_batch(read_header(batch_at([5])), [])
    assert finish(find_in_steps(emptied, 0)) is None


def test_a_batch_is_read_where_it_stands() -> None:
    batch = batch_at([500, 700])
    assert finish(find_in_steps(b"before" + batch, 600, position=6)) == (11, 700)
