"""Positions in a log: an offset with the segment and the byte that hold it.

High watermarks, fetches and truncations use positions: the difference of two positions in one segment is a
number of bytes, without disk access (F5).
"""

from typing import NamedTuple

from odradek.base.ids import NO_EPOCH, NO_OFFSET, LeaderEpoch, Offset


class LogPosition(NamedTuple):
    """An offset, the base offset of its segment, and the byte in that segment's file where it begins."""

    offset: Offset
    segment_base_offset: Offset
    byte_position: int

    def is_in_older_segment_than(self, other: "LogPosition") -> bool:
        """Whether this position's segment lies before the other's (F4)."""
        return self.segment_base_offset < other.segment_base_offset

    def bytes_since(self, earlier: "LogPosition") -> int:
        """Bytes from `earlier` up to here; both must lie in one segment."""
        assert self.segment_base_offset == earlier.segment_base_offset, (
            f"{earlier} and {self} are in two segments"
        )
        return self.byte_position - earlier.byte_position


UNKNOWN_POSITION = LogPosition(NO_OFFSET, NO_OFFSET, -1)


class TimestampOffset(NamedTuple):
    """The first record at or after a time: its timestamp in ms, its offset, the leader epoch of its batch."""

    timestamp_ms: int
    offset: Offset
    leader_epoch: LeaderEpoch


class EpochEnd(NamedTuple):
    """The largest epoch not above the one asked for, and the offset at which it ends; (-1, -1) if unknown."""

    epoch: LeaderEpoch
    end_offset: Offset


UNKNOWN_EPOCH_END = EpochEnd(NO_EPOCH, NO_OFFSET)
