"""The partitions of a column of keys are those of the keys one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.partitioning import murmur2, partition_of_key

pa = pytest.importorskip("pyarrow")

from odradek.client.columnar_partitioning import (  # noqa: E402
    murmur2_of,
    partitions_of_keys,
    rows_at_a_time,
)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 2), st.integers(1, 50))
def test_each_key_gets_the_partition_that_it_would_get_alone(
    keys: list[bytes], skipped: int, count: int
) -> None:
    column = pa.array(keys, pa.binary())[skipped:]
    assert murmur2_of(column).tolist() == [murmur2(key) for key in keys[skipped:]]
    expected = [partition_of_key(key, count) for key in keys[skipped:]]
    assert partitions_of_keys(column, count).tolist() == expected


def test_long_keys_and_missing_ones() -> None:
    keys = [b"k" * size for size in (255, 256, 257, 1_023, 1_024, 1_025, 1_026, 1_027, 5_000, 3)]
    assert murmur2_of(pa.array(keys)).tolist() == [murmur2(key) for key in keys]
    assert murmur2_of(pa.array([None, b"a"], pa.binary())).tolist() == [murmur2(b""), murmur2(b"a")]
    assert murmur2_of(pa.array([None], pa.binary())).tolist() == [murmur2(b"")]


def test_fewer_long_keys_are_hashed_at_a_time() -> None:
    counts = [rows_at_a_time(pa.array([b"k" * size])) for size in (0, 8, 1_024, 1_025, 1 << 20)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 10_000
    assert counts[-1] == 1
    assert rows_at_a_time(pa.nulls(2, pa.binary())) == counts[0]
