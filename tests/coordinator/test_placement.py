import pytest

from odradek.coordinator.placement import java_string_hash, partition_for


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
