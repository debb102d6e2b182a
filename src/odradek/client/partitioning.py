"""Which partition a record goes to, as Kafka's Java producer decides it.

With a key: murmur2 of its bytes, so that all clients with that partitioner put a key into one partition.
Without one: one partition for a batch, then the next.

    >>> partition_of_key(b"flight-7", 3)
    1
"""

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash with the seed of Kafka's clients, unsigned."""
    length = len(data)
    hashed = (SEED ^ length) & _MASK
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * MULTIPLIER & _MASK
        word = (word ^ word >> 24) * MULTIPLIER & _MASK
        hashed = hashed * MULTIPLIER & _MASK ^ word
    if length != whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * MULTIPLIER & _MASK
    return hashed ^ hashed >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    """The partition of a key among `partition_count`."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
