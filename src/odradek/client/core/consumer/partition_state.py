"""One assigned partition: where reading is, and what must happen before it may be fetched.

    NEEDS_COMMITTED ──► NEEDS_RESET ──► FETCHING ──► NEEDS_VALIDATION ──► FETCHING
          (the group's offset)   (auto.offset.reset)        (the leader's epoch changed, KIP-320)

Invariants: only a partition in FETCHING has a position that may be fetched and returned. Phase, position and
epochs change together, in the methods here, and nowhere else.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import (
    NO_BROKER,
    NO_EPOCH,
    NO_OFFSET,
    NO_TOPIC_ID,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerId,
    TopicId,
)
from odradek.client.core.backoff import Backoff


class Phase(Enum):
    """What a partition waits for."""

    NEEDS_COMMITTED = auto()
    NEEDS_RESET = auto()
    NEEDS_VALIDATION = auto()
    FETCHING = auto()


NEXT: Final = {
    Phase.NEEDS_COMMITTED: {Phase.NEEDS_RESET, Phase.FETCHING},
    Phase.NEEDS_RESET: {Phase.NEEDS_RESET, Phase.FETCHING},
    Phase.NEEDS_VALIDATION: {Phase.NEEDS_RESET, Phase.FETCHING},
    Phase.FETCHING: {Phase.NEEDS_RESET, Phase.NEEDS_VALIDATION, Phase.FETCHING},
}
"""Which phase may follow which; a seek of the application may follow in any."""


@dataclass(slots=True)
class PartitionState:
    """See the module."""

    phase: Phase = Phase.NEEDS_COMMITTED
    topic_id: TopicId = NO_TOPIC_ID
    """The topic that the position is one of: a topic made again has its name, and other records."""
    offset: Offset = NO_OFFSET
    """The next offset to return; NO_OFFSET before the first one is known."""
    epoch: LeaderEpoch = NO_EPOCH
    """The leader epoch of the record before `offset`; NO_EPOCH if it is not known."""
    leader_epoch: LeaderEpoch = NO_EPOCH
    """The epoch of the leader for which the position was last valid; what fetches carry."""
    reset_timestamp: int | None = None
    """In NEEDS_RESET: the timestamp to look up, LATEST or EARLIEST among them; None: as the setting says."""
    is_paused: bool = False
    is_leaving: bool = False
    """Whether it is being revoked: nothing of it is fetched or returned any more."""
    retry_ms: int = 0
    """Before this time nothing is asked about it: something has just failed. 0 when the time has come."""
    failures: int = 0
    """How many requests about it have failed in a row: the wait for the next one grows with them."""
    error: OdradekError | None = None
    """What the application must be told; the next poll raises it."""
    failed: ApiError | None = None
    """Why the latest request about it failed, also when the application was told; None after an answer."""
    unreadable: tuple[Offset, str] | None = None
    """The offset of the last record that could not be read, and why; None before one, and after a seek."""
    high_watermark: Offset = NO_OFFSET
    last_stable_offset: Offset = NO_OFFSET
    log_start_offset: Offset = NO_OFFSET
    held_up_since_ms: int | None = None
    """Since when answers say that an open transaction begins at the position; None if they do not."""
    held_up_by: ProducerId | None = None
    """Whose transaction that is; None while it is not known."""
    held_up_asked: Offset = NO_OFFSET
    """The position for which the leader was asked whose it is."""
    replica: BrokerId = NO_BROKER
    """The replica to fetch from (KIP-392); NO_BROKER: the leader."""
    replica_until_ms: int = 0
    """Until when; meaningless without a replica."""

    def go(self, phase: Phase) -> None:
        """Enter a phase that may follow."""
        assert phase in NEXT[self.phase], f"{phase} does not follow {self.phase}"
        self.phase = phase

    def seek(self, offset: Offset, epoch: LeaderEpoch = NO_EPOCH) -> None:
        """The application's choice; it ends whatever was under way."""
        self.phase = Phase.FETCHING
        self.offset, self.epoch, self.leader_epoch = offset, epoch, NO_EPOCH
        self.reset_timestamp = self.error = self.unreadable = None
        self.settle()

    def reset(self, timestamp: int | None) -> None:
        """Look the position up: by this timestamp, or as the setting says."""
        self.phase = Phase.NEEDS_RESET
        self.reset_timestamp = timestamp
        self.error = self.unreadable = None
        self.settle()

    def found(self, offset: Offset, epoch: LeaderEpoch = NO_EPOCH) -> None:
        """A broker said where to begin; `epoch` is that of the record before, if it is known."""
        self.go(Phase.FETCHING)
        self.offset, self.epoch, self.leader_epoch = offset, epoch, NO_EPOCH
        self.reset_timestamp = None
        self.settle()

    def lost(self) -> None:
        """There are no records at the position: where to go on is looked up as the setting says."""
        self.go(Phase.NEEDS_RESET)
        self.reset_timestamp = None

    def begin_again(self) -> Offset:
        """Its topic was deleted and made again: neither position nor epoch counts there.

        Returns the position before. It is forgotten, so that nobody commits it for the new topic.
        """
        self.lost()
        gone, self.offset = self.offset, NO_OFFSET
        self.epoch = self.leader_epoch = NO_EPOCH
        self.settle()
        return gone

    def follow(self, leader_epoch: LeaderEpoch) -> None:
        """Another leader leads: compare the position with its log, if there is an epoch to compare."""
        if self.epoch != NO_EPOCH and self.epoch < leader_epoch:
            self.go(Phase.NEEDS_VALIDATION)
        else:
            self.leader_epoch = leader_epoch
        self.retry_ms = self.failures = 0  # the new leader is asked at once

    def validated(self, leader_epoch: LeaderEpoch) -> None:
        """The log of the leader in this epoch has the position."""
        self.go(Phase.FETCHING)
        self.leader_epoch = leader_epoch
        self.settle()

    def cut_off(self, end: Offset, leader_epoch: LeaderEpoch) -> None:
        """The log of the leader in this epoch ends before the position: go on there (KIP-320)."""
        assert end < self.offset
        self.offset, self.epoch = end, NO_EPOCH
        self.validated(leader_epoch)

    def taken(self, offset: Offset, epoch: LeaderEpoch) -> None:
        """Records up to this offset were taken, the last in this epoch; NO_EPOCH: as before."""
        assert self.phase is Phase.FETCHING
        assert offset >= self.offset
        self.offset = offset
        if epoch != NO_EPOCH:
            self.epoch = epoch

    def give_back(self, offset: Offset) -> None:
        """The records from this offset on were taken, and the application has not got them."""
        self.offset = offset

    def note_hold_up(self, asked: Offset, now_ms: int) -> None:
        """After an answer to a fetch from `asked`: since when an open transaction begins there."""
        if not asked == self.last_stable_offset < self.high_watermark:
            self.held_up_since_ms = self.held_up_by = None
            self.held_up_asked = NO_OFFSET
        elif self.held_up_since_ms is None:
            self.held_up_since_ms = now_ms

    def await_leader(self, now_ms: int, backoff: Backoff) -> None:
        """Its leader is not known: look again soon, though nothing has failed."""
        self.retry_ms = now_ms + backoff.after(0)

    def put_off(self, now_ms: int, backoff: Backoff) -> None:
        """A request about it has failed: wait before the next one."""
        self.retry_ms = now_ms + backoff.after(self.failures)
        self.failures += 1

    def settle(self) -> None:
        """What failed is over."""
        self.retry_ms = self.failures = 0
        self.failed = None

    def end(self, *, is_committed_only: bool) -> Offset:
        """Where the readable records end, as the latest answer said; NO_OFFSET before the first."""
        return self.last_stable_offset if is_committed_only else self.high_watermark
