"""How much of an answer is applied in one step: a few partitions, or some bytes of one.

600 KB of p1 in batches of 100 KB    steps of 200, 200 and 200 KB
16 partitions of 1 KB                one step
one batch of 5 MB                    one step: a batch is written whole
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from odradek.base.buffers import Buffer
from odradek.records.header import HEADER_BYTES, OVERHEAD_BYTES

BYTES_PER_STEP: Final = 256 * 1024
"""Checked and written in about a third of a millisecond."""
PARTITIONS_PER_STEP: Final = 16

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8


class Portion:
    """Counts the work of the present step."""

    __slots__ = ("_bytes", "_partitions")

    def __init__(self) -> None:
        self._bytes = 0
        self._partitions = 0

    def is_full_after(self, *, size_bytes: int = 0, partitions: int = 0) -> bool:
        """Count work; when the step is full, start the next one and return True."""
        self._bytes += size_bytes
        self._partitions += partitions
        if self._bytes < BYTES_PER_STEP and self._partitions < PARTITIONS_PER_STEP:
            return False
        self._bytes = self._partitions = 0
        return True


def portions_of(records: Buffer) -> Iterator[Buffer]:
    """Runs of batches, each of at most BYTES_PER_STEP or a single batch; no records make one empty run.

    Only the batches' lengths are read. Bytes after an invalid length become part of the last run, which the
    log refuses.
    """
    size_bytes = len(records)
    if size_bytes <= BYTES_PER_STEP:
        yield records
        return
    whole = memoryview(records)
    start = end = 0
    while size_bytes - end >= HEADER_BYTES:
        batch_bytes = OVERHEAD_BYTES + _LENGTH.unpack_from(whole, end + _LENGTH_AT)[0]
        if not HEADER_BYTES <= batch_bytes <= size_bytes - end:
            break
        if end > start and end + batch_bytes - start > BYTES_PER_STEP:
            yield whole[start:end]
            start = end
        end += batch_bytes
    yield whole[start:]
