"""Writes values as bytes: the functions that the generated encoders call.

All small values of a message go into one bytearray. Large records are not copied: they go into Payloads, with
their place in the bytearray; `gather` cuts the bytearray there.
"""

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias
from uuid import UUID

from odradek.base.buffers import Buffer

# Records of fewer bytes are copied: one more piece to write costs more than they do.
PAYLOAD_BYTES_MIN: Final = 4096

# (how many bytes of the bytearray come before it, the records), rising.
Payloads: TypeAlias = list[tuple[int, Buffer]]

_INT16: Final = struct.Struct(">h").pack
_INT32: Final = struct.Struct(">i").pack
# Replica lists are short and many: their formats are looked up by their length.
_FEW_INT32S: Final = tuple(struct.Struct(f">{count}i").pack for count in range(8))
_NULL_INT16: Final = _INT16(-1)
# A null array or null bytes with a 32-bit length.
NULL_INT32: Final = _INT32(-1)


def gather(out: bytearray, payloads: Payloads) -> list[Buffer]:
    """The pieces of a message in their order."""
    if not payloads:
        return [out]
    parts: list[Buffer] = []
    view = memoryview(out)
    start = 0
    for place, payload in payloads:
        parts.append(view[start:place])
        parts.append(payload)
        start = place
    if start < len(out):
        parts.append(view[start:])
    return parts


def write_uvarint(out: bytearray, value: int) -> None:
    """An unsigned varint."""
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def write_string(out: bytearray, value: str) -> None:
    """A string with a 16-bit length."""
    data = value.encode()
    out += _INT16(len(data))
    out += data


def write_nullable_string(out: bytearray, value: str | None) -> None:
    """A string with a 16-bit length, -1 for null."""
    if value is None:
        out += _NULL_INT16
    else:
        write_string(out, value)


def write_compact_string(out: bytearray, value: str) -> None:
    """A string with its length + 1 as a varint."""
    data = value.encode()
    size = len(data) + 1
    if size < 128:
        out.append(size)
    else:
        write_uvarint(out, size)
    out += data


def write_compact_nullable_string(out: bytearray, value: str | None) -> None:
    """A string with its length + 1 as a varint, 0 for null."""
    if value is None:
        out.append(0)
    else:
        write_compact_string(out, value)


def write_bytes(out: bytearray, value: bytes) -> None:
    """Bytes with a 32-bit length."""
    out += _INT32(len(value))
    out += value


def write_nullable_bytes(out: bytearray, value: bytes | None) -> None:
    """Bytes with a 32-bit length, -1 for null."""
    if value is None:
        out += NULL_INT32
    else:
        write_bytes(out, value)


def write_compact_bytes(out: bytearray, value: bytes) -> None:
    """Bytes with their length + 1 as a varint."""
    write_uvarint(out, len(value) + 1)
    out += value


def write_compact_nullable_bytes(out: bytearray, value: bytes | None) -> None:
    """Bytes with their length + 1 as a varint, 0 for null."""
    if value is None:
        out.append(0)
    else:
        write_compact_bytes(out, value)


def write_records(out: bytearray, value: Buffer, payloads: Payloads) -> None:
    """Record batches with a 32-bit size; large ones stay where they are."""
    size = len(value)
    out += _INT32(size)
    if size < PAYLOAD_BYTES_MIN:
        out += value
    else:
        payloads.append((len(out), value))


def write_nullable_records(out: bytearray, value: Buffer | None, payloads: Payloads) -> None:
    """Record batches with a 32-bit size, -1 for null; large ones stay where they are."""
    if value is None:
        out += NULL_INT32
    else:
        write_records(out, value, payloads)


def write_compact_records(out: bytearray, value: Buffer, payloads: Payloads) -> None:
    """Record batches with their size + 1 as a varint; large ones stay where they are."""
    size = len(value)
    write_uvarint(out, size + 1)
    if size < PAYLOAD_BYTES_MIN:
        out += value
    else:
        payloads.append((len(out), value))


def write_compact_nullable_records(out: bytearray, value: Buffer | None, payloads: Payloads) -> None:
    """Record batches with their size + 1 as a varint, 0 for null; large ones stay where they are."""
    if value is None:
        out.append(0)
        return
    size = len(value)
    if size < 127:  # as `write_compact_records`, which most answers without records need not call
        out.append(size + 1)
        out += value
    else:
        write_compact_records(out, value, payloads)


def write_uuid(out: bytearray, value: UUID) -> None:
    """Sixteen bytes."""
    out += value.bytes


def write_count(out: bytearray, values: Sequence[object]) -> None:
    """The 32-bit length of an array."""
    out += _INT32(len(values))


def write_compact_count(out: bytearray, values: Sequence[object]) -> None:
    """The varint length + 1 of an array."""
    count = len(values) + 1
    if count < 128:
        out.append(count)
    else:
        write_uvarint(out, count)


def write_int8s(out: bytearray, values: Sequence[int]) -> None:
    """8-bit integers."""
    out += struct.pack(f">{len(values)}b", *values)


def write_int32s(out: bytearray, values: Sequence[int]) -> None:
    """32-bit integers."""
    if len(values) < len(_FEW_INT32S):
        out += _FEW_INT32S[len(values)](*values)
        return
    out += struct.pack(f">{len(values)}i", *values)


def write_int64s(out: bytearray, values: Sequence[int]) -> None:
    """64-bit integers."""
    out += struct.pack(f">{len(values)}q", *values)


def write_strings(out: bytearray, values: Sequence[str]) -> None:
    """Strings with 16-bit lengths."""
    for value in values:
        write_string(out, value)


def write_compact_strings(out: bytearray, values: Sequence[str]) -> None:
    """Strings with varint lengths."""
    for value in values:
        write_compact_string(out, value)


def write_uuids(out: bytearray, values: Sequence[UUID]) -> None:
    """UUIDs."""
    for value in values:
        out += value.bytes


def write_tag(out: bytearray, tag: int, value: bytes | bytearray) -> None:
    """One tagged field."""
    write_uvarint(out, tag)
    write_uvarint(out, len(value))
    out += value
