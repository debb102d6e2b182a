"""The partition that coordinates a group or a transactional id, computed as in Kafka.

Java's hash of a string is s[0]·31ⁿ⁻¹ + … + s[n-1] over its UTF-16 units, as a signed 32-bit number:

    "g1"   103·31 + 49 = 3242   |3242| mod 50 = 42   partition 42 of __consumer_offsets

Clients choose these ids, so the cache of their hashes is bounded: about 2 MB in all.
"""

import sys
from functools import lru_cache
from operator import mul
from typing import Final

REMEMBERED_KEYS_MAX: Final = 4_096
REMEMBERED_KEY_CHARACTERS_MAX: Final = 64
"""Hashes of longer keys are not cached."""

_HASH_BITS: Final = 32
_HASH_MASK: Final = (1 << _HASH_BITS) - 1
_SIGN_BIT: Final = 1 << (_HASH_BITS - 1)
_UNITS_AT_ONCE: Final = 256
_POWERS: Final = tuple(pow(31, exponent, 1 << _HASH_BITS) for exponent in range(_UNITS_AT_ONCE - 1, -1, -1))
"""31²⁵⁵ … 31⁰: the factor of each unit in a block."""
_BLOCK_FACTOR: Final = pow(31, _UNITS_AT_ONCE, 1 << _HASH_BITS)
_NATIVE_UTF_16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def partition_for(key: str, partition_count: int) -> int:
    """The partition, in [0, `partition_count`), whose leader coordinates `key`."""
    is_short = len(key) <= REMEMBERED_KEY_CHARACTERS_MAX
    hashed = _remembered_hash(key) if is_short else java_string_hash(key)
    # Java cannot negate its smallest number; Kafka takes 0 for it.
    return (0 if hashed == -_SIGN_BIT else abs(hashed)) % partition_count


def java_string_hash(text: str) -> int:
    """`String.hashCode` of Java; 32,767 characters take about a millisecond."""
    units = memoryview(text.encode(_NATIVE_UTF_16, "surrogatepass")).cast("H")
    first = len(units) % _UNITS_AT_ONCE
    hashed: int = sum(map(mul, units[:first], _POWERS[_UNITS_AT_ONCE - first :]))
    for at in range(first, len(units), _UNITS_AT_ONCE):
        block: int = sum(map(mul, units[at : at + _UNITS_AT_ONCE], _POWERS))
        hashed = (hashed * _BLOCK_FACTOR + block) & _HASH_MASK
    hashed &= _HASH_MASK
    return hashed - (1 << _HASH_BITS) if hashed & _SIGN_BIT else hashed


_remembered_hash = lru_cache(REMEMBERED_KEYS_MAX)(java_string_hash)
