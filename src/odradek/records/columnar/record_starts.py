"""Finds where each record of many batches starts.

A record's start is known only from the length of the one before it, so this search ("the chase") is the one
sequential step of decoding. It runs over all batches together ("lockstep"): one array of positions, each step
advances every batch by one record, through a table of the advance for each pair of bytes. Batches are ordered
by count, so that those with records left are always the first ones of the array. When few are left the array
operations of a step cost more than a plain loop over the bytes, which then ends the chase.
"""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from odradek.base.errors import CorruptRecord
from odradek.records.columnar.varints import Longs, VarintBytes, check, short_varints

LOCKSTEP_BATCHES_MIN: Final = 24
"""Below this many batches a plain loop is faster."""
RECORD_BYTES_MIN: Final = 7
"""A record without key, value and headers: a byte for each of its lengths, deltas, attributes and counts."""
_LENGTH_BITS_MAX: Final = 35


def record_starts(data: VarintBytes, starts: Longs, ends: Longs, counts: Longs) -> Longs:
    """The position of each record of the batches whose records lie in [start, end), batch after batch.

    CorruptRecord unless each batch is filled by exactly as many records as its count says.
    """
    check(
        bool((counts >= 0).all() and (counts * RECORD_BYTES_MIN <= ends - starts).all()),
        "fewer records than the batch claims",
    )
    check(bool((starts[counts == 0] == ends[counts == 0]).all()), "the records do not fill their batch")
    order = np.argsort(-counts, kind="stable")
    ordered = counts[order]
    # Batches that have a record at each step, and how many records all steps before it found.
    alive = np.searchsorted(-ordered, -np.arange(int(ordered[0]) if len(ordered) else 0), side="left")
    before = np.concatenate(([0], np.cumsum(alive)))
    found = np.empty(int(before[-1]), dtype=np.int64)
    step = int(np.count_nonzero(alive >= LOCKSTEP_BATCHES_MIN))
    positions = _lockstep(data, starts[order], alive[:step].tolist(), found)
    done = (ordered > 0) & (ordered <= step)
    check(bool((positions[done] == ends[order][done]).all()), "the records do not fill their batch")
    for rank in range(int(alive[step]) if step < len(alive) else 0):
        end, count = int(ends[order[rank]]), int(ordered[rank])
        found[before[step:count] + rank] = _chase(data, int(positions[rank]), end, count - step)
    # From the order in which the steps found them to that of the batches.
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    first_rows = np.cumsum(counts) - counts
    steps = np.arange(len(found)) - np.repeat(first_rows, counts)
    in_order: Longs = found[before[steps] + np.repeat(ranks, counts)]
    return in_order


@cache
def _advances() -> npt.NDArray[np.int64]:
    """From a record's start to the next one, by the pair of bytes there; 0 where these do not say it."""
    lengths, widths = short_varints()
    return np.where((widths > 0) & (lengths >= 0), widths + lengths, 0).astype(np.int64)


def _lockstep(data: VarintBytes, starts: Longs, alive: list[int], found: Longs) -> Longs:
    """Advance the first `alive[step]` batches at each step; their starts go to `found`.

    Returns where each batch got to.
    """
    advances, pairs = _advances(), data.pairs
    positions = starts.copy()
    row = 0
    for count in alive:
        here = positions[:count]
        found[row : row + count] = here
        row += count
        advance = advances.take(pairs[here])
        if not advance.all():
            _advance_long(data, here, advance)
        here += advance
        # Behind the data lie zeros: who left the data stays there, which the caller finds.
        np.minimum(here, data.size + 1, out=here)
    return positions


def _advance_long(data: VarintBytes, here: Longs, advance: Longs) -> None:
    """Fill in the advances over records whose length takes more than two bytes."""
    rows = np.flatnonzero(advance == 0)
    length, behind = data.read(here[rows])
    check(bool((length >= 0).all()), "a record with a negative length")
    check(bool((length <= data.size).all()), "a record ends outside its batch")
    advance[rows] = behind - here[rows] + length


def _chase(data: VarintBytes, start: int, end: int, count: int) -> Longs:
    """The starts of the `count` records of one batch from `start` on, by a plain loop over bytes."""
    check(start <= end, "a record ends outside its batch")
    content = data.slice(start, end)
    starts: list[int] = []
    note = starts.append
    position, size = 0, end - start
    try:
        for _ in range(count):
            note(position)
            byte = content[position]
            if byte & 1:
                raise CorruptRecord("a record with a negative length")
            if byte < 0x80:
                position += 1 + (byte >> 1)
                continue
            following = content[position + 1]
            if following < 0x80:
                position += 2 + ((byte & 0x7F | following << 7) >> 1)
                continue
            position = _behind_long(content, position)
    except IndexError:
        raise CorruptRecord("fewer records than the batch claims") from None
    check(position == size, "the records do not fill their batch")
    return np.array(starts, dtype=np.int64) + start


def _behind_long(content: bytes, position: int) -> int:
    """The position behind the record at `position`, whose length has any number of bytes."""
    raw = shift = 0
    while True:
        check(shift < _LENGTH_BITS_MAX, "a varint of more than five bytes")
        byte = content[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return position + (raw >> 1)
        shift += 7
