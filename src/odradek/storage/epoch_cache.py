"""The start offset of each leader epoch, by which two diverged logs find their common prefix (KIP-101).

0 0        epoch 0 began at offset 0
3 120      epoch 3 at 120: epochs 1 and 2 wrote nothing here
4 200

end of epoch 0 -> (0, 120)     end of 2 -> (0, 120), the largest one not above it
end of 4 -> (4, LEO)           end of 5 -> unknown
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset
from odradek.storage.positions import UNKNOWN_EPOCH_END, EpochEnd


class EpochCache:
    """(epoch, start offset) of each epoch that this log has seen; both rise."""

    __slots__ = ("_epochs", "_starts", "latest")

    def __init__(self, entries: Iterable[tuple[LeaderEpoch, Offset]] = ()) -> None:
        self._epochs: list[LeaderEpoch] = []
        self._starts: list[Offset] = []
        self.latest: LeaderEpoch = NO_EPOCH  # the last of `_epochs`; -1 when there is none
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    def entries(self) -> list[tuple[LeaderEpoch, Offset]]:
        """All of them, in rising order."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> bool:
        """Note that `epoch` begins at `start_offset`; returns whether it is new.

        A known epoch keeps its start offset. Older entries that begin at or above the new start have no
        records in the log, and are removed.
        """
        if epoch <= self.latest:
            return False
        keep = bisect_left(self._starts, start_offset)
        del self._epochs[keep:], self._starts[keep:]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        return True

    def end_offset_for(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEnd:
        """Where `epoch` ends in a log that ends at `log_end_offset`."""
        if epoch < 0 or epoch > self.latest:
            return UNKNOWN_EPOCH_END
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        above = bisect_right(self._epochs, epoch)
        floor = self._epochs[above - 1] if above else epoch
        return EpochEnd(floor, self._starts[above])

    def epoch_of(self, offset: Offset) -> LeaderEpoch:
        """The epoch that wrote `offset`, or -1."""
        number = bisect_right(self._starts, offset)
        return self._epochs[number - 1] if number else NO_EPOCH

    def truncate_from_end(self, end_offset: Offset) -> bool:
        """The log now ends at `end_offset`: drop the epochs that began there or later; True if any did."""
        keep = bisect_left(self._starts, end_offset)
        changed = keep < len(self._starts)
        del self._epochs[keep:], self._starts[keep:]
        self.latest = self._epochs[-1] if self._epochs else NO_EPOCH
        return changed

    def truncate_from_start(self, start_offset: Offset) -> bool:
        """The log now begins at `start_offset`, as does the epoch in force there; True if that is new."""
        number = bisect_right(self._starts, start_offset)
        if number == 0 or (number == 1 and self._starts[0] == start_offset):
            return False
        del self._epochs[: number - 1], self._starts[: number - 1]
        self._starts[0] = start_offset
        return True

    def clear(self) -> None:
        """Forget everything."""
        self._epochs, self._starts, self.latest = [], [], NO_EPOCH
