"""`partitioning` for a column of keys: murmur2 of all keys at once, four bytes of each in a step."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from odradek.client.partitioning import MULTIPLIER, SEED, murmur2
from odradek.records.columnar.varints import Longs

_Hashes = npt.NDArray[np.uint32]

# Longer keys are hashed one by one: a few of them would cost a step of all rows for each four bytes.
_TOGETHER_BYTES_MAX: Final = 1024
# What is hashed in a few milliseconds, where each key takes as long as so many bytes beside its own.
_STEP_BYTES: Final = 1 << 19
_ROW_BYTES: Final = 24
# The same of keys that are hashed one by one.
_STEP_BYTES_ALONE: Final = 1 << 14
_FACTOR: Final = np.uint32(MULTIPLIER)


def rows_at_a_time(keys: Any) -> int:
    """How many of these keys are hashed in a few milliseconds; at least one."""
    longest = int(pc.max(pc.binary_length(keys)).as_py() or 0)
    if longest > _TOGETHER_BYTES_MAX:
        return max(1, _STEP_BYTES_ALONE // longest)
    return _STEP_BYTES // (longest + _ROW_BYTES)


def partitions_of_keys(keys: Any, partition_count: int) -> Longs:
    """The partition of each key of a `pa.BinaryArray`, as `partition_of_key`; of null, that of b""."""
    return (murmur2_of(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % partition_count


def murmur2_of(keys: Any) -> _Hashes:
    """The hash of each key of a `pa.BinaryArray`, as `murmur2`."""
    if not len(keys):
        return np.zeros(0, dtype=np.uint32)
    _, offsets, content = keys.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[keys.offset : keys.offset + len(keys) + 1]
    starts, sizes = bounds[:-1].astype(np.int64), np.diff(bounds).astype(np.int64)
    # Behind the last key there are bytes for a whole word.
    data = bytes(content)[: int(bounds[-1])] + bytes(4) if content is not None else bytes(4)
    hashes = _short(data, starts, np.minimum(sizes, _TOGETHER_BYTES_MAX))
    for row in np.flatnonzero(sizes > _TOGETHER_BYTES_MAX):
        hashes[row] = murmur2(data[starts[row] : starts[row] + sizes[row]])
    return hashes


def _short(data: bytes, starts: Longs, sizes: Longs) -> _Hashes:
    words: _Hashes = np.ndarray(shape=(len(data) - 3,), dtype="<u4", buffer=data, strides=(1,))
    hashes = np.uint32(SEED) ^ sizes.astype(np.uint32)
    whole = sizes >> 2
    shared = int(whole.min())
    for step in range(shared):  # all rows have this word
        word = words[starts + 4 * step] * _FACTOR
        word = (word ^ word >> np.uint32(24)) * _FACTOR
        hashes = hashes * _FACTOR ^ word
    for step in range(shared, int(whole.max())):
        rows = np.flatnonzero(whole > step)
        word = words[starts[rows] + 4 * step] * _FACTOR
        word = (word ^ word >> np.uint32(24)) * _FACTOR
        hashes[rows] = hashes[rows] * _FACTOR ^ word
    left = sizes & 3
    rows = np.flatnonzero(left)
    tail = words[starts[rows] + 4 * whole[rows]] & _TAIL_MASKS[left[rows]]
    hashes[rows] = (hashes[rows] ^ tail) * _FACTOR
    hashes = (hashes ^ hashes >> np.uint32(13)) * _FACTOR
    return hashes ^ hashes >> np.uint32(15)


_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)
