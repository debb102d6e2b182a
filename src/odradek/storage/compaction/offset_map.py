"""Maps a key to the offset of its last record, in a fixed amount of memory.

    near   a dictionary of the keys themselves: 0.1 µs a record, 144 bytes and the key
    far    a table of fixed slots, digest and offset side by side: 1 µs, 24 bytes however long the key is

The map starts with the near dictionary. When that has used up its share of the buffer, all keys move to the
far table, which holds five times as many keys in the same memory (some slots stay free), so that a log with
very many keys is rewritten a fifth as often. During the move both exist.

The search for a digest begins at its place in the table:

    slot     0           1           2           3
             digest|off  ........|.  digest|off  digest|off        put d, whose place is 2: 2, 3 and 0 are
                                                                   taken, 1 is free -> there

The digest is 128 bits of BLAKE2b: two keys with the same digest do not occur by chance and cannot be
constructed, so no producer can have another one's record removed as outdated.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from struct import Struct

from odradek.base.ids import Offset
from odradek.storage.compaction.record_walk import RecordSpan

DIGEST_BYTES = 16
SLOT_BYTES = 24
# In a fuller table the search for an absent key takes long.
LOAD_MAX = 0.75
SLOTS_MIN = 16
# Memory of a near key in addition to its bytes: the two objects, the dictionary's entry and free room.
NEAR_KEY_BYTES = 144
# The share of the buffer that the near dictionary may use.
NEAR_SHARE = 4

_OFFSET = Struct(">q")
_EMPTY = bytes(DIGEST_BYTES)


class OffsetMap:
    """Grows up to the size of its buffer; `put` returns False when it is full."""

    __slots__ = ("_bytes_max", "_far", "_keys_expected", "_near", "_near_bytes")

    def __init__(self, bytes_max: int, keys_expected: int) -> None:
        """`keys_expected`: how many keys there can be at most, so that a small log needs a small table."""
        self._bytes_max = bytes_max
        self._keys_expected = keys_expected
        self._near: dict[bytes, Offset] = {}
        self._near_bytes = 0  # memory of the near keys; at most their share of the buffer
        self._far: SlotTable | None = None  # once created it has all keys, and `_near` is empty

    def __len__(self) -> int:
        return len(self._near) if self._far is None else len(self._far)

    def put(self, key: bytes, offset: Offset) -> bool:
        """Note the last offset of `key` so far; False, and nothing noted, when there is no room for it."""
        far = self._far
        if far is None:
            if key in self._near:
                self._near[key] = offset
                return True
            taken_bytes = self._near_bytes + len(key) + NEAR_KEY_BYTES
            if taken_bytes <= self._bytes_max // NEAR_SHARE:
                self._near[key] = offset
                self._near_bytes = taken_bytes
                return True
            far = self._move_away()
        return far.put(key, offset)

    def put_records(self, records: Sequence[RecordSpan], base_offset: Offset, start: Offset) -> Offset | None:
        """`put` the keys of a batch's records from `start` on; returns the first offset without room."""
        near = self._near
        key_bytes_max = records[-1][1] - records[0][0]
        bytes_max = self._near_bytes + key_bytes_max + NEAR_KEY_BYTES * len(records)
        if self._far is None and base_offset >= start and bytes_max <= self._bytes_max // NEAR_SHARE:
            before = len(near)
            for _, _, _, delta, key, _ in records:
                if key is not None:
                    near[key] = base_offset + delta
            new = len(near) - before
            if new:  # they are the last ones
                self._near_bytes += sum(map(len, islice(reversed(near), new))) + new * NEAR_KEY_BYTES
            return None
        for _, _, _, delta, key, _ in records:
            offset = base_offset + delta
            if key is not None and offset >= start and not self.put(key, offset):
                return offset
        return None

    @property
    def get(self) -> Callable[[bytes, Offset], Offset]:
        """The function that returns the last offset noted for a key, or else its second argument."""
        return self._near.get if self._far is None else self._far.get

    def _move_away(self) -> "SlotTable":
        near, self._near = self._near, {}
        self._far = far = SlotTable(self._bytes_max, self._keys_expected)
        while near:
            is_put = far.put(*near.popitem())
            assert is_put, "the table holds more keys than a share of its memory does near"
        return far


class SlotTable:
    """The table of fixed slots."""

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

    def get(self, key: bytes, absent: Offset) -> Offset:
        """The last offset noted for `key`, `absent` when there is none."""
        digest = blake2b(key, digest_size=DIGEST_BYTES).digest()
        slots, end = self._slots, self._slots_end
        position = int.from_bytes(digest[:8]) % (end // SLOT_BYTES) * SLOT_BYTES
        while True:
            found = slots[position : position + DIGEST_BYTES]
            if found == digest:
                offset: Offset = _OFFSET.unpack_from(slots, position + DIGEST_BYTES)[0]
                return offset
            if found == _EMPTY:
                return absent
            position += SLOT_BYTES
            if position == end:
                position = 0
