"""Zigzag variable-length integers: seven bits a byte, lowest first, the high bit on all bytes but the last.

    value     0   -1    1   -2     63    64      300
    bits      0    1    2    3    126   128      600
    bytes    00   01   02   03     7e    80 01   d8 04

"Bits" are the number before the sign is taken out of its lowest bit. Code that reads many of them decodes
one and two bytes inline (see `record_check`); code that writes many of them takes their bytes from `VARINTS`.
Padding, a number in more bytes than it needs, is accepted, as by every reader of Kafka's.
"""

from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord

INT_BYTES_MAX = 5
LONG_BYTES_MAX = 10
# The bits of -1, the length of what is null.
NULL_BITS = 1
_LONG_MASK = (1 << 64) - 1
# The numbers of at most two bytes that are not negative: nearly all deltas and lengths.
_KEPT: Final = range(1 << 13)


class _Varints(dict[int, bytes]):
    """The bytes of any signed number of at most 64 bits; those of `_KEPT` are made once."""

    def __missing__(self, value: int) -> bytes:
        made = bytearray()
        append_varint(made, value)
        encoded = bytes(made)
        if value in _KEPT:
            self[value] = encoded
        return encoded


VARINTS: Final = _Varints()
"""`VARINTS[300]` are the bytes of 300."""


def append_varint(target: bytearray, value: int) -> None:
    """Append `value`, a signed number of at most 64 bits."""
    bits = (value << 1) ^ (value >> 63)
    while bits > 0x7F:
        target.append(bits & 0x7F | 0x80)
        bits >>= 7
    target.append(bits)


def read_varint(data: Buffer, position: int, bytes_max: int = INT_BYTES_MAX) -> tuple[int, int]:
    """The value at `position` and the position behind it.

    InvalidRecord when it takes more than `bytes_max` bytes, IndexError when more than there are.
    """
    bits = data[position]
    if bits < 0x80:
        return (bits >> 1) ^ -(bits & 1), position + 1
    bits, position = read_bits(data, position, bytes_max)
    return (bits >> 1) ^ -(bits & 1), position


def read_bits(data: Buffer, position: int, bytes_max: int = INT_BYTES_MAX) -> tuple[int, int]:
    """`read_varint` with the sign still in the lowest bit."""
    bits = 0
    shift = 0
    for at in range(position, position + bytes_max):
        byte = data[at]
        if byte < 0x80:
            return (bits | byte << shift) & _LONG_MASK, at + 1
        bits |= (byte & 0x7F) << shift
        shift += 7
    raise InvalidRecord(f"a number takes more than {bytes_max} bytes")
