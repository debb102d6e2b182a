import sys
import tracemalloc
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinator.placement import (
    REMEMBERED_KEY_CHARACTERS_MAX,
    REMEMBERED_KEYS_MAX,
    java_string_hash,
    partition_for,
)


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("g1", 3242),
        ("hello", 99162322),
        ("Aa", 2112),
        ("polygenelubricants", -(1 << 31)),
        ("π", 960),
        ("𝄞", 1772394),
    ],
)
def test_hashes_are_those_of_java(text: str, hashed: int) -> None:
    """String.hashCode: s[0]·31ⁿ⁻¹ + … + s[n-1] over UTF-16 units, in 32 bits."""
    assert java_string_hash(text) == hashed


def test_the_smallest_hash_falls_to_partition_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0


def test_a_negative_hash_counts_by_its_size() -> None:
    assert java_string_hash("my-group") < 0
    assert partition_for("my-group", 50) == -java_string_hash("my-group") % 50


@given(st.text(max_size=3), st.sampled_from([1, 2, 4, 5, 85, 128, 255, 256, 257]))
def test_keys_of_any_length_are_hashed(text: str, repeats: int) -> None:
    long = text * repeats
    units = long.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + (units[at] << 8 | units[at + 1])) % (1 << 32)
    assert java_string_hash(long) % (1 << 32) == hashed


def test_a_long_key_is_hashed_in_few_operations() -> None:
    """600 keys of 32 KB in one FindCoordinator took 1.3 s, when each block of 256 characters had a loop."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    java_string_hash("é" * 32_767)
    sys.setprofile(count)
    try:
        java_string_hash("é" * 32_767)
    finally:
        sys.setprofile(None)
    assert calls < 50


def test_what_is_remembered_of_keys_is_bounded_in_bytes() -> None:
    """Any peer chooses them: 65,536 remembered ids of 32 KB were 2 GB."""
    partition_for("x" * 30_000, 50)  # the masks for keys of that length stay, 200 KB in all
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(5):
            partition_for(f"{number:030000d}", 50)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 60 << 10, "long keys are not remembered at all"
    bytes_per_key_max = sys.getsizeof(chr(0x1F600) * REMEMBERED_KEY_CHARACTERS_MAX) + 200
    assert REMEMBERED_KEYS_MAX * bytes_per_key_max < 3 << 20
