"""Which partition of its topic coordinates a group or a transactional id, by Kafka's own arithmetic.

Java's hash of a string is s[0]·31ⁿ⁻¹ + … + s[n-1] over its UTF-16 units, as a signed 32-bit number:

    "g1"   103·31 + 49 = 3242   |3242| mod 50 = 42   partition 42 of __consumer_offsets
"""

from functools import lru_cache
from typing import Final

PLACED_KEYS_KEPT: Final = 65_536
"""Keys whose hashes are remembered."""

_HASH_BITS: Final = 32
_HASH_MASK: Final = (1 << _HASH_BITS) - 1
_SIGN_BIT: Final = 1 << (_HASH_BITS - 1)


def partition_for(key: str, partition_count: int) -> int:
    """The partition, in [0, `partition_count`), whose leader coordinates `key`."""
    hashed = java_string_hash(key)
    # Java cannot negate its smallest number; Kafka takes 0 for it.
    return (0 if hashed == -_SIGN_BIT else abs(hashed)) % partition_count


@lru_cache(PLACED_KEYS_KEPT)
def java_string_hash(text: str) -> int:
    """`String.hashCode` of Java."""
    units = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + (units[at] << 8 | units[at + 1])) & _HASH_MASK
    return hashed - (1 << _HASH_BITS) if hashed & _SIGN_BIT else hashed
