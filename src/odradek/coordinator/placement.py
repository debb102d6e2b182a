"""The partition that coordinates a group or a transactional id, computed as in Kafka.

Java's hash of a string is s[0]·31ⁿ⁻¹ + … + s[n-1] over its UTF-16 units, as a signed 32-bit number:

    "g1"   103·31 + 49 = 3242   |3242| mod 50 = 42   partition 42 of __consumer_offsets

Clients choose these ids, so the cache of their hashes is bounded: about 2 MB in all. A request may
have hundreds of ids of 32 KB, so a hash is computed in few operations on large integers.
"""

from functools import cache, lru_cache
from typing import Final

REMEMBERED_KEYS_MAX: Final = 4_096
REMEMBERED_KEY_CHARACTERS_MAX: Final = 64
"""Hashes of longer keys are not cached."""

_HASH_BITS: Final = 32
_HASH_MASK: Final = (1 << _HASH_BITS) - 1
_SIGN_BIT: Final = 1 << (_HASH_BITS - 1)
_UNIT_BYTES: Final = 2
_LANE_BYTES: Final = 8
_LANE_UNITS: Final = _LANE_BYTES // _UNIT_BYTES


def partition_for(key: str, partition_count: int) -> int:
    """The partition, in [0, `partition_count`), whose leader coordinates `key`."""
    is_short = len(key) <= REMEMBERED_KEY_CHARACTERS_MAX
    hashed = _remembered_hash(key) if is_short else java_string_hash(key)
    # Java cannot negate its smallest number; Kafka takes 0 for it.
    return (0 if hashed == -_SIGN_BIT else abs(hashed)) % partition_count


def java_string_hash(text: str) -> int:
    """`String.hashCode` of Java; 32,767 characters take a third of a millisecond.

    The units are one large integer, in lanes of 64 bits of which each operation changes all at once:

        units    a b c d | e f g h         four in each lane
        lanes    a·31³+b·31²+c·31+d | e·31³+f·31²+g·31+h
        folded   the upper half of the lanes · 31⁴ + the lower half, in 32 bits, until there is one
    """
    units = text.encode("utf-16-be", "surrogatepass")
    count = 1
    while count * _LANE_BYTES < len(units):
        count *= 2
    lanes, mask = int.from_bytes(units), _lane_mask(count, _UNIT_BYTES)
    lanes = (
        (lanes & mask)
        + 31 * (lanes >> 16 & mask)
        + 31**2 * (lanes >> 32 & mask)
        + 31**3 * (lanes >> 48 & mask)
    )
    while count > 1:
        count //= 2
        upper = lanes >> 8 * _LANE_BYTES * count
        lower = lanes ^ upper << 8 * _LANE_BYTES * count
        lanes = upper * _factor(count) + lower & _lane_mask(count, _HASH_BITS // 8)
    hashed = lanes & _HASH_MASK
    return hashed - (1 << _HASH_BITS) if hashed & _SIGN_BIT else hashed


@cache
def _lane_mask(count: int, size_bytes: int) -> int:
    """The lowest bytes of `count` lanes; there are few counts, powers of two."""
    return int.from_bytes((bytes(_LANE_BYTES - size_bytes) + b"\xff" * size_bytes) * count)


@cache
def _factor(count: int) -> int:
    """What the units above `count` lanes are worth more."""
    return pow(31, _LANE_UNITS * count, 1 << _HASH_BITS)


_remembered_hash = lru_cache(REMEMBERED_KEYS_MAX)(java_string_hash)
