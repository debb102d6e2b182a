"""The state of one partition in its fetcher (X1 to X6).

The table TRANSITIONS has the states and the events that lead from one to another. `move` asserts that the
table has the transition.

                    ┌─ ASK_AGAIN ─┐
    begun ──► TRUNCATING ◄────────┘   asks where its last epoch ends in the leader's log (X4)
                │ AGREED ▲  ▲
                ▼        │  └─ RESUMED ── DELAYED ◄── DELAYED_BY ── any but FAILED
              FETCHING ──┘ DIVERGED       rests until a deadline (X5)
                │ ▲  └ ADVANCED, CUT: stays
    OUT_OF_RANGE│ │ LOCATED
                ▼ │
              LOCATING                    asks where the leader's log ends and begins (X3)

    SETTLING    instead of FETCHING after a truncation that is not on disk yet, until SETTLED (X6)

    FETCHING ── HELD_BACK ──► THROTTLED ── RELEASED ──► FETCHING       is left out by the quota (F8)

    FAILED      from any other, and final: only a LeaderAndIsr with another epoch starts again

An object stands for a partition in one leader epoch. The next epoch has a new object, so that an answer to an
earlier request is never applied to it.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from odradek.base.ids import NO_EPOCH, NO_OFFSET, LeaderEpoch, Offset, TopicId, TopicPartition


class State(Enum):
    """The states of a followed partition; the values are shown to people."""

    TRUNCATING = "compares epochs with the leader"
    FETCHING = "fetches"
    LOCATING = "asks for the leader's offsets"
    SETTLING = "waits until its truncation is on disk"
    THROTTLED = "waits for the quota"
    DELAYED = "waits after an error"
    FAILED = "failed"


class Event(Enum):
    """What may happen to a followed partition."""

    ASK_AGAIN = "the leader does not know the epoch asked for: an older one is asked for"
    AGREED = "the log is a prefix of the leader's, or as much of it as can be known"
    ADVANCED = "an answer was applied"
    CUT = "a diverging epoch in an answer was settled at once"
    DIVERGED = "a diverging epoch in an answer has to be asked about"
    OUT_OF_RANGE = "the leader does not have the offset"
    END_KNOWN = "the leader's end is known, and its start is asked for"
    LOCATED = "the log begins or ends where the leader's does"
    UNSETTLED = "AGREED, CUT or LOCATED, but the truncation is not on disk yet"
    SETTLED = "the truncation is on disk"
    HELD_BACK = "the follower's quota is exceeded"
    RELEASED = "the follower's quota is not exceeded any more"
    DELAYED_BY = "an error that may pass"
    RESUMED = "the delay is over"
    FAILED_BY = "an error that does not pass"


TRANSITIONS: Final[dict[tuple[State, Event], State]] = {
    (State.TRUNCATING, Event.ASK_AGAIN): State.TRUNCATING,
    (State.TRUNCATING, Event.AGREED): State.FETCHING,
    (State.TRUNCATING, Event.UNSETTLED): State.SETTLING,
    (State.TRUNCATING, Event.DELAYED_BY): State.DELAYED,
    (State.TRUNCATING, Event.FAILED_BY): State.FAILED,
    (State.FETCHING, Event.ADVANCED): State.FETCHING,
    (State.FETCHING, Event.CUT): State.FETCHING,
    (State.FETCHING, Event.UNSETTLED): State.SETTLING,
    (State.FETCHING, Event.DIVERGED): State.TRUNCATING,
    (State.FETCHING, Event.OUT_OF_RANGE): State.LOCATING,
    (State.FETCHING, Event.DELAYED_BY): State.DELAYED,
    (State.FETCHING, Event.FAILED_BY): State.FAILED,
    # The log does not change meanwhile, so fetching goes on where it was.
    (State.FETCHING, Event.HELD_BACK): State.THROTTLED,
    (State.THROTTLED, Event.HELD_BACK): State.THROTTLED,
    (State.THROTTLED, Event.RELEASED): State.FETCHING,
    (State.THROTTLED, Event.DELAYED_BY): State.DELAYED,
    (State.LOCATING, Event.END_KNOWN): State.LOCATING,
    (State.LOCATING, Event.LOCATED): State.FETCHING,
    (State.LOCATING, Event.UNSETTLED): State.SETTLING,
    (State.LOCATING, Event.DELAYED_BY): State.DELAYED,
    (State.LOCATING, Event.FAILED_BY): State.FAILED,
    (State.SETTLING, Event.SETTLED): State.FETCHING,
    (State.SETTLING, Event.DELAYED_BY): State.DELAYED,
    (State.SETTLING, Event.FAILED_BY): State.FAILED,
    # Whatever has happened during the delay, the epochs are compared before anything is appended.
    (State.DELAYED, Event.RESUMED): State.TRUNCATING,
    (State.DELAYED, Event.FAILED_BY): State.FAILED,
}

AGREED: Final = {
    State.TRUNCATING: Event.AGREED,
    State.FETCHING: Event.CUT,
    State.LOCATING: Event.LOCATED,
}
"""The event of a truncation after which the log is a prefix of the leader's, by the state before."""
DISAGREED: Final = {State.TRUNCATING: Event.ASK_AGAIN, State.FETCHING: Event.DIVERGED}
"""The event of a truncation after which the epochs must be compared again, by the state before."""

NO_LOG: Final = "no log of it follows here"
"""The reason for the delay of a partition for which `FollowerLogs.log` returns None."""


@dataclass(slots=True, eq=False)
class FollowedPartition:
    """One partition under one leader epoch. Times are on the monotonic clock.

    Its fields change by its methods alone.
    """

    topic_partition: TopicPartition
    topic_id: TopicId
    """Never zero: Fetch names topics by their ids."""
    leader_epoch: LeaderEpoch
    """The epoch of the LeaderAndIsr that made this broker a follower; never changes."""
    begun_ms: int
    """When that LeaderAndIsr was received."""
    state: State = State.TRUNCATING
    state_since_ms: int = 0
    """When it entered its present state."""
    reason: str = ""
    """Why it is delayed or failed; "" in any other state."""
    delayed_until_ms: int = 0
    """While it is delayed: when the delay ends."""
    fetch_offset: Offset = NO_OFFSET
    """While it fetches: the next offset, which is the log's LEO (X2); -1 before."""
    last_fetched_epoch: LeaderEpoch = NO_EPOCH
    """While it fetches: the epoch of the log's last record; -1 where there is none."""
    refused_delay_ms: int = 0
    """How long it was delayed by the latest answer of a broker that is not its leader yet; 0 before."""
    was_delayed: bool = False
    """Whether it was delayed since it was last fetched, also under earlier epochs."""
    asks_earliest: bool = False
    """While it locates: whether the leader's end is known, and not below LEO (X3)."""
    lag: int | None = None
    """X2: the leader's HW minus the next offset, at least 0; None before the first answer."""
    behind_since_ms: int | None = 0
    """When its lag was last 0, or when it began; None while its lag is 0."""
    fetched_bytes: int = 0
    """Bytes of records appended."""

    def __post_init__(self) -> None:
        self.state_since_ms = self.begun_ms
        self.behind_since_ms = self.begun_ms

    def move(self, event: Event, now_ms: int, reason: str = "") -> None:
        """Make the transition of an event, other than a delay; `reason` is for the state FAILED."""
        assert event is not Event.DELAYED_BY, "a delay has an end: see `delay`"
        self._move(event, now_ms, reason)
        if event is Event.OUT_OF_RANGE or event is Event.END_KNOWN:
            self.asks_earliest = event is Event.END_KNOWN

    def delay(self, now_ms: int, delay_ms: int, reason: str) -> None:
        """Make the transition of a delay, which ends by itself."""
        self._move(Event.DELAYED_BY, now_ms, reason)
        self.delayed_until_ms = now_ms + delay_ms
        self.was_delayed = True

    def _move(self, event: Event, now_ms: int, reason: str) -> None:
        after = TRANSITIONS.get((self.state, event))
        assert after is not None, f"{self.topic_partition}: {event.name} while it {self.state.value}"
        if after is not self.state:
            self.state_since_ms = now_ms
        self.state = after
        self.reason = reason

    def fetch_from(self, offset: Offset, last_epoch: LeaderEpoch) -> None:
        """Fetch from a log's LEO on, behind a record of that epoch."""
        assert self.state is State.FETCHING, f"{self.topic_partition} {self.state.value}"
        self.fetch_offset = offset
        self.last_fetched_epoch = last_epoch

    def refused_again(self, first_ms: int, most_ms: int) -> int:
        """Called when a broker refuses it that is not its leader yet; returns for how long it is to wait."""
        self.refused_delay_ms = min(most_ms, max(first_ms, 2 * self.refused_delay_ms))
        return self.refused_delay_ms

    def note_appended(self, size_bytes: int, high_watermark: Offset, now_ms: int) -> bool:
        """X2: count bytes, and update the lag from the leader's HW; returns whether a delay has ended."""
        self.fetched_bytes += size_bytes
        self.lag = max(0, high_watermark - self.fetch_offset)
        if not self.lag:
            self.behind_since_ms = None
        elif self.behind_since_ms is None:
            self.behind_since_ms = now_ms
        ends_delay, self.was_delayed = self.was_delayed, False
        return ends_delay
