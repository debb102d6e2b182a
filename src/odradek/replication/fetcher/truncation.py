"""Computes where a follower truncates its log, from the leader's end of an epoch (X4, KIP-101, KIP-279).

Two logs that both have an epoch have the same records in it, up to the shorter of the two: an epoch has one
leader, which wrote each offset once. So the common prefix ends at the smaller of the two ends of the last
epoch that both logs have:

    leader      epoch 0: 0-9     epoch 1: 10-19     epoch 4: 20-
    follower    epoch 0: 0-9     epoch 1: 10-24     epoch 2: 25-29

    asks (2)    answer (1, 20)   2 is unknown to the leader; the follower's 1 ends at 25: cut to 20, ask again
    asks (1)    answer (1, 20)   the epoch asked for: the smaller of 20 and LEO, done

As in KIP-279, the search continues when the leader answers with an epoch that the follower does not have:
between the leader's epochs the follower may have records of another epoch, which only the next answer shows.

    leader      epoch 1: 0-4     epoch 2: 5-19      epoch 4: 20-
    follower    epoch 1: 0-9     epoch 3: 10-19

    asks (3)    answer (2, 20)   the follower's largest epoch not above 2 is 1, which ends at 10: cut to 10
    asks (1)    answer (1, 5)    cut to 5, done
"""

from typing import NamedTuple, Protocol

from odradek.base.ids import LeaderEpoch, Offset
from odradek.storage import EpochEnd, LogPosition
from odradek.storage.positions import UNKNOWN_EPOCH_END


class EpochHistory(Protocol):
    """The epochs and offsets of a log."""

    @property
    def end_offset(self) -> Offset:
        """LEO."""

    @property
    def high_watermark(self) -> LogPosition:
        """HW."""

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch not above `epoch`, and where it ends."""


class Cut(NamedTuple):
    """The truncation offset, and whether the truncated log is a prefix of the leader's."""

    offset: Offset
    is_agreed: bool


def cut_for(log: EpochHistory, asked: LeaderEpoch, end: EpochEnd) -> Cut:
    """X4: returns the cut for the leader's answer `end` to the request for the end of epoch `asked`.

    Without agreement the next request is for the last epoch of the truncated log, which is below `asked`.
    """
    if end == UNKNOWN_EPOCH_END or end.end_offset < 0:
        return Cut(min(log.high_watermark.offset, log.end_offset), is_agreed=True)
    if end.epoch >= asked:
        return Cut(min(end.end_offset, log.end_offset), is_agreed=True)
    ours = log.end_offset_for_epoch(end.epoch)
    if ours == UNKNOWN_EPOCH_END:
        return Cut(min(end.end_offset, log.end_offset), is_agreed=True)
    return Cut(min(end.end_offset, ours.end_offset, log.end_offset), is_agreed=False)
