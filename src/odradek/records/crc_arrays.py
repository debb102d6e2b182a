"""CRC-32C by numpy, for interpreters without the package `crc32c`: the executors of a Spark cluster.

The checksum is linear over single bits (RFC 3720, section 12.1, has the polynomial). So the data is taken as
an array of words of four bytes, and neighbours are joined in pairs, all at once, until one word is left:

    joined = moved(left, by the length of right) XOR right

`moved` is what zero bytes behind a word do to it. Zero bytes in front of everything do nothing, so an odd
number of words gets one more. 1 MB takes 10 ms, a hundred times as long as by `crc32c`.
"""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from odradek.base.buffers import Buffer

Words = npt.NDArray[np.uint32]

_WORD_BYTES: Final = 4
_ONES: Final = 0xFFFFFFFF
_POLYNOMIAL: Final = 0x82F63B78  # with its bits reversed


def crc32c(data: Buffer, crc: int = 0, /) -> int:
    """The checksum of bytes, or of bytes behind others that have `crc`."""
    taken = np.frombuffer(data, np.uint8)
    # The register's first value counts as if it were in the first four bytes.
    begin = np.frombuffer((crc ^ _ONES).to_bytes(_WORD_BYTES, "little"), np.uint8)
    behind = max(0, _WORD_BYTES - len(taken))
    whole = np.zeros(-(-(len(taken) + behind) // _WORD_BYTES) * _WORD_BYTES, np.uint8)
    start = len(whole) - len(taken) - behind
    whole[start : start + len(taken)] = taken
    whole[start : start + _WORD_BYTES] ^= begin
    words = whole.view("<u4").astype(np.uint32)
    doublings = 0
    while len(words) > 1:
        if len(words) % 2:
            words = np.concatenate((np.zeros(1, np.uint32), words))
        words = _moved(words[0::2], doublings + 2) ^ words[1::2]
        doublings += 1
    if not behind:
        return int(_moved(words, 2)[0]) ^ _ONES
    # Fewer than four bytes: the register is moved by these alone.
    register = int(words[0])
    for _ in range(len(taken)):
        register = int(_moved(np.array([register], np.uint32), 0)[0])
    return register ^ _ONES


def _moved(words: Words, power: int) -> Words:
    """What each word is when 2**power zero bytes have followed it."""
    tables = _tables(power)
    found: Words = tables[0][words & 0xFF]
    for place in (1, 2, 3):
        found ^= tables[place][(words >> np.uint32(8 * place)) & 0xFF]
    return found


@functools.cache
def _tables(power: int) -> Words:
    """For each of the four bytes of a word, and each value of it, what 2**power zero bytes make of it."""
    if power:
        half = _tables(power - 1)
        return _moved(half.ravel(), power - 1).reshape(half.shape)
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1)
    # The other bytes of a word only move down by one place.
    others = [np.arange(256, dtype=np.uint32) << np.uint32(8 * place) for place in range(3)]
    return np.stack([first, *others])
