"""One assigned partition: where reading is, and what must happen before it may be fetched.

    NEEDS_COMMITTED ──► NEEDS_RESET ──► FETCHING ──► NEEDS_VALIDATION ──► FETCHING
          (the group's offset)   (auto.offset.reset)        (the leader's epoch changed, KIP-320)

Invariant: only a partition in FETCHING has a position that may be fetched and returned.
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
    """The offset of the last record that could not be read, and why; None before one."""
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
        self.reset_timestamp = self.error = None
        self.settle()

    def reset(self, timestamp: int | None) -> None:
        """Look the position up: by this timestamp, or as the setting says."""
        self.phase = Phase.NEEDS_RESET
        self.reset_timestamp = timestamp
        self.error = None
        self.settle()

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
