"""From a key to the offset of its last record, in memory that is bounded and known beforehand.

One table of fixed slots, digest and offset side by side, searched from the digest's own place on. A key
costs 24 bytes, however long it is, where a dictionary would take 160 or more: the same buffer then holds
five times as many keys (slots stay free), and a log is rewritten that many times less often.

    slot     0           1           2           3
             digest|off  ........|.  digest|off  digest|off        put d, whose place is 2: 2 and 3 are
                                                                   others', 0 too, 1 is free -> there

The digest is 128 bits of BLAKE2b: two keys with the same digest do not occur by chance and cannot be
constructed, so no producer can have another one's record removed as outdated.
"""

from hashlib import blake2b
from struct import Struct

from odradek.base.ids import Offset

DIGEST_BYTES = 16
SLOT_BYTES = 24
# Fuller than this, a key that is not there takes long to be missed.
LOAD_MAX = 0.75
SLOTS_MIN = 16

_OFFSET = Struct(">q")
_EMPTY = bytes(DIGEST_BYTES)


class OffsetMap:
    """Grows to no more than the buffer it was given; `put` then says that it is full."""

    __slots__ = ("_count", "_count_max", "_slots", "_slots_end")

    def __init__(self, bytes_max: int, keys_expected: int) -> None:
        """`keys_expected`: how many keys there can be at most, so that a small log needs a small table."""
        count = min(bytes_max // SLOT_BYTES, int(keys_expected / LOAD_MAX) + 1)
        count = max(count, SLOTS_MIN)
        self._slots = bytearray(count * SLOT_BYTES)
        self._slots_end = count * SLOT_BYTES
        self._count = 0
        self._count_max = int(count * LOAD_MAX)

    def __len__(self) -> int:
        return self._count

    def put(self, key: bytes, offset: Offset) -> bool:
        """Note the last offset of `key` so far; False, and nothing noted, when there is no room for it."""
        digest = blake2b(key, digest_size=DIGEST_BYTES).digest()
        slots, end = self._slots, self._slots_end
        position = int.from_bytes(digest[:8]) % (end // SLOT_BYTES) * SLOT_BYTES
        while True:
            found = slots[position : position + DIGEST_BYTES]
            if found == digest:
                break
            if found == _EMPTY:
                if self._count == self._count_max:
                    return False
                slots[position : position + DIGEST_BYTES] = digest
                self._count += 1
                break
            position += SLOT_BYTES
            if position == end:
                position = 0
        _OFFSET.pack_into(slots, position + DIGEST_BYTES, offset)
        return True

    def get(self, key: bytes) -> Offset:
        """The last offset noted for `key`, -1 when there is none."""
        digest = blake2b(key, digest_size=DIGEST_BYTES).digest()
        slots, end = self._slots, self._slots_end
        position = int.from_bytes(digest[:8]) % (end // SLOT_BYTES) * SLOT_BYTES
        while True:
            found = slots[position : position + DIGEST_BYTES]
            if found == digest:
                offset: Offset = _OFFSET.unpack_from(slots, position + DIGEST_BYTES)[0]
                return offset
            if found == _EMPTY:
                return -1
            position += SLOT_BYTES
            if position == end:
                position = 0
