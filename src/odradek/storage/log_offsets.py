"""The offsets of a log, and their order.

    log start ≤ LSO ≤ HW ≤ LEO        cleaned ≤ LEO

    10        14      15    20
    |---------|-------|-----|         read-committed readers see up to LSO, others up to HW, replicas to LEO

Invariant: every method keeps this order, and asserts it. The caller passes in positions; nothing here reads a
file.
"""

from odradek.base.ids import Offset
from odradek.storage.positions import LogPosition


class LogOffsets:
    """Changed by the log that it belongs to, through methods only."""

    __slots__ = ("cleaned", "end", "end_position", "high_watermark", "last_stable", "log_start")

    def __init__(self, log_start: Offset, start_position: LogPosition, end_position: LogPosition) -> None:
        self.log_start = log_start  # the first offset that may be read
        self.end: Offset = end_position.offset  # LEO: the offset of the next record
        self.end_position = end_position  # of LEO: after the last byte of the active segment
        # HW: below it every record is on all in-sync replicas. Restored by the replica that opens the log.
        self.high_watermark = start_position
        # LSO: every transaction below it has ended, with its marker below HW.
        self.last_stable = start_position
        self.cleaned: Offset = 0  # compaction has cleaned everything below (L5)
        self._check()

    def append_up_to(self, end_position: LogPosition) -> None:
        """Called after a write: the log ends at `end_position`, which may be in a new segment."""
        end = end_position.offset
        assert end >= self.end, f"an append moved LEO from {self.end} to {end}"
        self.end_position = end_position
        self.end = end

    def stand_at(self, high_watermark: LogPosition, last_stable: LogPosition) -> None:
        """Move HW and LSO."""
        self.high_watermark = high_watermark
        self.last_stable = last_stable
        # As `_check`: after each append, so without the call.
        assert self.log_start <= last_stable.offset <= high_watermark.offset <= self.end, (
            f"offsets out of order: {self}"
        )

    def start_at(self, log_start: Offset, last_stable: LogPosition) -> None:
        """Raise the log start, and with it LSO where that would be below it."""
        assert log_start >= self.log_start, f"the log start moved from {self.log_start} to {log_start}"
        self.log_start = log_start
        self.last_stable = last_stable
        self._check()

    def cut_at(self, end_position: LogPosition) -> None:
        """Called after a truncation: lower every offset that is above the new end."""
        end = end_position.offset
        self.end_position, self.end = end_position, end
        self.log_start = min(self.log_start, end)
        self.cleaned = min(self.cleaned, end)
        if not self.log_start <= self.high_watermark.offset < end:
            self.high_watermark = end_position
        if self.last_stable.offset >= self.high_watermark.offset:
            self.last_stable = self.high_watermark
        self._check()

    def begin_anew_at(self, position: LogPosition) -> None:
        """Called when the log is empty and begins at `position`."""
        self.end_position, self.end, self.log_start = position, position.offset, position.offset
        self.high_watermark = self.last_stable = position
        self.cleaned = min(self.cleaned, self.end)
        self._check()

    def mark_cleaned(self, offset: Offset) -> None:
        """Note that compaction has cleaned everything below `offset`; outside the log it counts as 0."""
        self.cleaned = offset if 0 <= offset <= self.end else 0

    def _check(self) -> None:
        last_stable, high_watermark = self.last_stable.offset, self.high_watermark.offset
        assert self.log_start <= last_stable <= high_watermark <= self.end, f"offsets out of order: {self}"
        assert self.cleaned <= self.end, f"cleaned up to {self.cleaned}, behind LEO {self.end}"

    def __str__(self) -> str:
        return (
            f"log start {self.log_start}, LSO {self.last_stable.offset}, "
            f"HW {self.high_watermark.offset}, LEO {self.end}"
        )
