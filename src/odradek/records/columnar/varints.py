"""Zigzag varints at many positions of a buffer at once.

One varint of one or two bytes is one entry of a table of all pairs of bytes; nearly all are that short.
Longer ones are read again, byte by byte, for all rows that have one. Nothing is read outside the buffer: a
position that is not in it raises CorruptRecord, and `PADDING_BYTES` zeros behind the buffer end a varint that
would run over its end.
"""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from odradek.base.errors import CorruptRecord
from odradek.records.varint import INT_BYTES_MAX

Longs = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

PADDING_BYTES: Final = 16
"""The zeros that `VarintBytes` expects behind its data."""


def check(holds: bool, fault: str) -> None:
    """CorruptRecord with the fault unless it holds."""
    if not holds:
        raise CorruptRecord(fault)


@cache
def short_varints() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(values, widths) of the varint at the beginning of each pair of bytes; width 0 where it is longer."""
    pairs = np.arange(1 << 16, dtype=np.int32)
    first, second = pairs & 0xFF, pairs >> 8
    widths = np.where(first < 0x80, 1, np.where(second < 0x80, 2, 0)).astype(np.int32)
    raw = np.where(widths == 1, first, first & 0x7F | (second & 0x7F) << 7)
    return ((raw >> 1) ^ -(raw & 1)).astype(np.int32), widths


_WIDTH_BITS: Final = 2
_WIDTH_MASK: Final = 3


@cache
def _packed_short_varints() -> Longs:
    """Value and width of `short_varints` in one number: one access to a table is cheaper than two."""
    values, widths = short_varints()
    return values.astype(np.int64) << _WIDTH_BITS | widths


class VarintBytes:
    """A buffer of bytes in which varints lie at known positions."""

    __slots__ = ("_bytes", "padded", "pairs", "size")

    def __init__(self, padded: bytes) -> None:
        self.size = len(padded) - PADDING_BYTES
        """Bytes without the padding."""
        self.padded = padded
        """The bytes with the padding."""
        self._bytes = np.frombuffer(padded, dtype=np.uint8)
        self.pairs: npt.NDArray[np.uint16] = np.ndarray(
            shape=(len(padded) - 1,), dtype="<u2", buffer=padded, strides=(1,)
        )
        """The two bytes at each position, as a number: a view, nothing is copied."""

    def slice(self, start: int, end: int) -> bytes:
        """A copy of the bytes of [start, end)."""
        return self.padded[start:end]

    def read(self, positions: Longs, bytes_max: int = INT_BYTES_MAX) -> tuple[Longs, Longs]:
        """The varints at `positions`: (values, positions behind them). None takes more than `bytes_max`."""
        if not len(positions):
            return positions, positions
        check(int(positions.min()) >= 0 and int(positions.max()) <= self.size, "a varint outside the batch")
        # Two gathers of bytes are faster than one of unaligned pairs, and `take` is faster than an index.
        pairs = self._bytes.take(positions + 1).astype(np.uint16) << 8
        pairs |= self._bytes.take(positions)
        packed = _packed_short_varints().take(pairs)
        values, widths = packed >> _WIDTH_BITS, packed & _WIDTH_MASK
        ends = positions + widths
        if not widths.all():
            rows = np.flatnonzero(widths == 0)
            values[rows], ends[rows] = self._read_long(positions[rows], bytes_max)
        return values, ends

    def _read_long(self, positions: Longs, bytes_max: int) -> tuple[Longs, Longs]:
        raw = np.zeros(len(positions), dtype=np.int64)
        ends = positions.copy()
        open_rows = np.arange(len(positions))
        shift = 0
        while len(open_rows):
            check(shift < 7 * bytes_max, f"a varint of more than {bytes_max} bytes")
            byte = self._bytes[ends[open_rows]].astype(np.int64)
            raw[open_rows] |= (byte & 0x7F) << shift
            ends[open_rows] += 1
            open_rows = open_rows[byte >= 0x80]
            shift += 7
        # The logical shift of zigzag, on the bits as an unsigned number.
        halved = (raw.view(np.uint64) >> np.uint64(1)).view(np.int64)
        return halved ^ -(raw & 1), ends
