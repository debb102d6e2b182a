"""Keys go where Kafka's Java producer puts them."""

import pytest

from odradek.client.partitioning import murmur2, partition_of_key


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_kafkas_clients(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


def test_a_partition_is_one_of_those_there_are() -> None:
    assert {partition_of_key(b"%d" % number, 3) for number in range(50)} == {0, 1, 2}
