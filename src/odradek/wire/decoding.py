"""Reads values from a peer's bytes: the functions that the generated decoders call.

Positions are passed in and out as plain ints; the only state is the budget of array elements. Malicious
bytes do no harm for three reasons:

- A position only ever grows. A string or records field that reaches past the end is read short and leaves
  the position beyond the buffer; the next read fails there, or at last `Message.decode`, which checks that
  the position is the end.
- A count is refused if that many elements, at their minimum size, do not fit into the remaining bytes, or if
  all arrays of the message together would exceed its ElementBudget: memory is bounded before anything is
  allocated.
- Every failure is one of DECODING_ERRORS. `explain` describes it: it reads the bytes a second time, so that
  decoding valid bytes costs nothing extra.
"""

import struct
from functools import lru_cache
from typing import Final
from uuid import UUID

from odradek.base.buffers import Buffer

# How many elements all arrays of one message may hold together.
ARRAY_ELEMENTS_MAX: Final = 100_000
# A request may hold so many of any size, and above that one for each ELEMENT_BYTES: what it takes in memory
# is bounded by its size. The smallest that clients send, a partition's number, has four bytes.
ELEMENTS_FREE: Final = 1_000
ELEMENT_BYTES: Final = 4
# How many tagged fields a header or one structure may hold, as in Kafka 4.4.
TAGGED_FIELDS_MAX: Final = 10_000
# How many are decoded at once, in a few milliseconds at most; more go in steps.
ELEMENTS_AT_ONCE_MAX: Final = 2_000
# An unsigned varint of 32 bits is at most this long.
UVARINT_BYTES_MAX: Final = 5
# In any version, as in Kafka's schemas: what comes in a request may go into a record that has 16 bits for it.
STRING_BYTES_MAX: Final = (1 << 15) - 1
# How many UUIDs are kept as objects: topics asked for again and again.
_UUIDS_KEPT: Final = 4096

_INT16: Final = struct.Struct(">h").unpack_from
_INT32: Final = struct.Struct(">i").unpack_from


# Replica lists are short and many: their formats are looked up by their length.
_FEW_INT32S: Final = tuple(struct.Struct(f">{count}i").unpack_from for count in range(8))
# Makes a structure without running its __init__: a decoder sets every field itself, in half the time.
new: Final = object.__new__


class Undecodable(ValueError):
    """Malformed bytes; `explain` describes which and why."""


# What reading malformed bytes can raise: struct.error and IndexError for missing bytes, ValueError for
# Undecodable and for bytes that are not UTF-8, KeyError for an unknown version.
DECODING_ERRORS: Final = (struct.error, IndexError, ValueError, KeyError)


class ElementBudget:
    """How many more array elements a message may hold; falls, never below zero."""

    __slots__ = ("left",)

    def __init__(self, elements_max: int) -> None:
        self.left = elements_max

    def spend(self, count: int) -> None:
        """Take `count` elements; raises Undecodable when there are not as many left."""
        self.left -= count
        if self.left < 0:
            raise Undecodable


def elements_max_of(message_bytes: int) -> int:
    """How many array elements and tagged fields a peer's message of that size may hold."""
    elements_max = ELEMENTS_FREE + message_bytes // ELEMENT_BYTES
    return elements_max if elements_max < ARRAY_ELEMENTS_MAX else ARRAY_ELEMENTS_MAX


def read_uvarint(buffer: Buffer, at: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits, and the position behind it."""
    byte = buffer[at]
    if byte < 128:
        return byte, at + 1
    value = byte & 127
    for index in range(1, UVARINT_BYTES_MAX):
        byte = buffer[at + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            if value >> 32:
                raise Undecodable
            return value, at + index + 1
    raise Undecodable


def read_string(buffer: Buffer, at: int) -> tuple[str, int]:
    """A string with a 16-bit length."""
    (size,) = _INT16(buffer, at)
    if size < 0:
        raise Undecodable
    at += 2
    end = at + size
    return str(buffer[at:end], "utf-8"), end


def read_nullable_string(buffer: Buffer, at: int) -> tuple[str | None, int]:
    """A string with a 16-bit length, -1 for null."""
    (size,) = _INT16(buffer, at)
    at += 2
    if size < 0:
        if size != -1:
            raise Undecodable
        return None, at
    end = at + size
    return str(buffer[at:end], "utf-8"), end


def read_compact_string(buffer: Buffer, at: int) -> tuple[str, int]:
    """A string with its length + 1 as a varint."""
    size = buffer[at]
    if size > 127:
        size, at = read_uvarint(buffer, at)
        if size > STRING_BYTES_MAX + 1:
            raise Undecodable
    else:
        at += 1
    if size == 0:
        raise Undecodable
    end = at + size - 1
    return str(buffer[at:end], "utf-8"), end


def read_compact_nullable_string(buffer: Buffer, at: int) -> tuple[str | None, int]:
    """A string with its length + 1 as a varint, 0 for null."""
    size = buffer[at]
    if size > 127:
        size, at = read_uvarint(buffer, at)
        if size > STRING_BYTES_MAX + 1:
            raise Undecodable
    else:
        at += 1
    if size == 0:
        return None, at
    end = at + size - 1
    return str(buffer[at:end], "utf-8"), end


def read_bytes(buffer: Buffer, at: int) -> tuple[bytes, int]:
    """Bytes with a 32-bit length."""
    (size,) = _INT32(buffer, at)
    if size < 0:
        raise Undecodable
    at += 4
    end = at + size
    return bytes(buffer[at:end]), end


def read_nullable_bytes(buffer: Buffer, at: int) -> tuple[bytes | None, int]:
    """Bytes with a 32-bit length, -1 for null."""
    (size,) = _INT32(buffer, at)
    at += 4
    if size < 0:
        if size != -1:
            raise Undecodable
        return None, at
    end = at + size
    return bytes(buffer[at:end]), end


def read_compact_bytes(buffer: Buffer, at: int) -> tuple[bytes, int]:
    """Bytes with their length + 1 as a varint."""
    size, at = read_uvarint(buffer, at)
    if size == 0:
        raise Undecodable
    end = at + size - 1
    return bytes(buffer[at:end]), end


def read_compact_nullable_bytes(buffer: Buffer, at: int) -> tuple[bytes | None, int]:
    """Bytes with their length + 1 as a varint, 0 for null."""
    size, at = read_uvarint(buffer, at)
    if size == 0:
        return None, at
    end = at + size - 1
    return bytes(buffer[at:end]), end


def read_records(buffer: Buffer, at: int) -> tuple[memoryview, int]:
    """Record batches with a 32-bit size, as a view into the buffer."""
    (size,) = _INT32(buffer, at)
    if size < 0:
        raise Undecodable
    at += 4
    end = at + size
    return memoryview(buffer)[at:end], end


def read_nullable_records(buffer: Buffer, at: int) -> tuple[memoryview | None, int]:
    """Record batches with a 32-bit size, -1 for null, as a view into the buffer."""
    (size,) = _INT32(buffer, at)
    at += 4
    if size < 0:
        if size != -1:
            raise Undecodable
        return None, at
    end = at + size
    return memoryview(buffer)[at:end], end


def read_compact_records(buffer: Buffer, at: int) -> tuple[memoryview, int]:
    """Record batches with their size + 1 as a varint, as a view into the buffer."""
    size, at = read_uvarint(buffer, at)
    if size == 0:
        raise Undecodable
    end = at + size - 1
    return memoryview(buffer)[at:end], end


def read_compact_nullable_records(buffer: Buffer, at: int) -> tuple[memoryview | None, int]:
    """Record batches with their size + 1 as a varint, 0 for null, as a view into the buffer."""
    size = buffer[at]
    if size > 127:
        size, at = read_uvarint(buffer, at)
    else:
        at += 1
    if size == 0:
        return None, at
    end = at + size - 1
    return memoryview(buffer)[at:end], end


def read_uuid(buffer: Buffer, at: int) -> tuple[UUID, int]:
    """Sixteen bytes; zero is NO_TOPIC_ID."""
    end = at + 16
    return _uuid(bytes(buffer[at:end])), end


@lru_cache(_UUIDS_KEPT)
def _uuid(data: bytes) -> UUID:
    return UUID(bytes=data)


def read_count(buffer: Buffer, at: int, element_bytes_min: int, budget: ElementBudget) -> tuple[int, int]:
    """The 32-bit length of an array that is not null."""
    (count,) = _INT32(buffer, at)
    at += 4
    if count < 0 or count * element_bytes_min > len(buffer) - at:
        raise Undecodable
    budget.left -= count  # `spend`, without a call for each array of each message
    if budget.left < 0:
        raise Undecodable
    return count, at


def read_nullable_count(
    buffer: Buffer, at: int, element_bytes_min: int, budget: ElementBudget
) -> tuple[int, int]:
    """The 32-bit length of an array, -1 when it is null."""
    (count,) = _INT32(buffer, at)
    if count == -1:
        return -1, at + 4
    return read_count(buffer, at, element_bytes_min, budget)


def read_compact_count(
    buffer: Buffer, at: int, element_bytes_min: int, budget: ElementBudget
) -> tuple[int, int]:
    """The varint length + 1 of an array that is not null."""
    count = buffer[at] - 1
    if count > 126:
        count, at = read_uvarint(buffer, at)
        count -= 1
    else:
        at += 1
    if count < 0 or count * element_bytes_min > len(buffer) - at:
        raise Undecodable
    budget.left -= count
    if budget.left < 0:
        raise Undecodable
    return count, at


def read_compact_nullable_count(
    buffer: Buffer, at: int, element_bytes_min: int, budget: ElementBudget
) -> tuple[int, int]:
    """The varint length + 1 of an array, -1 when it is null."""
    count = buffer[at] - 1
    if count > 126:
        count, at = read_uvarint(buffer, at)
        count -= 1
    else:
        at += 1
    if count > 0:
        if count * element_bytes_min > len(buffer) - at:
            raise Undecodable
        budget.spend(count)
    return count, at


def read_int8s(buffer: Buffer, at: int, count: int) -> tuple[list[int], int]:
    """`count` 8-bit integers."""
    return list(struct.unpack_from(f">{count}b", buffer, at)), at + count


def read_int32s(buffer: Buffer, at: int, count: int) -> tuple[list[int], int]:
    """`count` 32-bit integers."""
    if count < len(_FEW_INT32S):
        return list(_FEW_INT32S[count](buffer, at)), at + 4 * count
    return list(struct.unpack_from(f">{count}i", buffer, at)), at + 4 * count


def read_int64s(buffer: Buffer, at: int, count: int) -> tuple[list[int], int]:
    """`count` 64-bit integers."""
    return list(struct.unpack_from(f">{count}q", buffer, at)), at + 8 * count


def read_strings(buffer: Buffer, at: int, count: int) -> tuple[list[str], int]:
    """`count` strings with 16-bit lengths."""
    items = []
    for _ in range(count):
        item, at = read_string(buffer, at)
        items.append(item)
    return items, at


def read_compact_strings(buffer: Buffer, at: int, count: int) -> tuple[list[str], int]:
    """`count` strings with varint lengths."""
    items = []
    for _ in range(count):
        item, at = read_compact_string(buffer, at)
        items.append(item)
    return items, at


def read_uuids(buffer: Buffer, at: int, count: int) -> tuple[list[UUID], int]:
    """`count` UUIDs."""
    items = []
    for _ in range(count):
        item, at = read_uuid(buffer, at)
        items.append(item)
    return items, at


def read_presence(buffer: Buffer, at: int) -> tuple[bool, int]:
    """Whether a structure that may be null follows."""
    return buffer[at] < 128, at + 1


def read_tagged_presence(buffer: Buffer, at: int) -> tuple[bool, int]:
    """The same in a tagged field, where null is 0 and not -1."""
    return buffer[at] != 0, at + 1


def read_tag_count(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[int, int]:
    """How many tagged fields follow; each counts as an element and has two bytes at least.

    Raises Undecodable if they are more than TAGGED_FIELDS_MAX, than the bytes left hold, or than the budget.
    """
    count, at = read_uvarint(buffer, at)
    if count:
        if count > TAGGED_FIELDS_MAX or 2 * count > len(buffer) - at:
            raise Undecodable
        budget.spend(count)
    return count, at


def read_tag(buffer: Buffer, at: int) -> tuple[int, int, int]:
    """A tagged field's tag, the position of its value, and the position behind the value."""
    tag, at = read_uvarint(buffer, at)
    size, at = read_uvarint(buffer, at)
    end = at + size
    if end > len(buffer):
        raise Undecodable
    return tag, at, end


def skip_tags(buffer: Buffer, at: int, budget: ElementBudget) -> int:
    """The position behind tagged fields of which none is known (KIP-482: unknown ones are ignored)."""
    count, at = read_tag_count(buffer, at, budget)
    for _ in range(count):
        _, _, at = read_tag(buffer, at)
    return at
