"""A committed position, as clients pass it and get it."""

from dataclasses import dataclass

from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A committed position: the offset of the next record to read, and a note beside it."""

    offset: Offset
    metadata: str = ""
    leader_epoch: LeaderEpoch = NO_EPOCH
