"""The leader's state of one follower, updated only by its fetches (R5b, R10).

Invariant: only its methods change it. `isr` decides whether a replica is in sync.

A follower is *caught up* at the time of a fetch that reaches the leader's end. Under a steady stream no fetch
reaches it: when the follower fetches from 100, the leader is at 110 already. Therefore, a fetch that reaches
the leader's end at the time of the *previous* fetch makes the follower caught up at the time of that fetch:

    time  fetch offset  leader's end   caught up at
    10    100           100            10            reached the end
    20    100           110            10
    30    110           125            20            110 was the end at 20
    40    110           130            20            stuck: from here on its lag grows

A follower that stands at the leaders' ends fetches without naming a partition, and such a fetch costs nothing
for each (F10): all these partitions share the session's `FetchStamp`, which says when it fetched last. A
partition leaves the stamp at its next event, before the next fetch moves the stamp:

    time  event                 p1                        p2                        stamp
    10    a fetch of both       stands by the stamp       stands by the stamp       10
    20    a fetch               caught up at 20           caught up at 20           20
    25    an append to p1       left; caught up at 20     stands by the stamp       20
    30    a fetch, p1 is read   noted: 20, see above      caught up at 30           30
"""

from dataclasses import dataclass

from odradek.base.ids import NO_OFFSET, BrokerId, Offset
from odradek.storage.positions import UNKNOWN_POSITION, LogPosition

NEVER_MS = -(1 << 62)
"""A time before all others: a replica not caught up since this leader began."""


@dataclass(slots=True, eq=False)
class FetchStamp:
    """When a follower's session fetched last, for all partitions at whose ends it stands."""

    fetched_ms: int = NEVER_MS


@dataclass(slots=True)
class RemoteReplica:
    """One follower as its leader sees it. Times are on the monotonic clock."""

    broker_id: BrokerId
    log_end: LogPosition = UNKNOWN_POSITION
    """Its LEO, which is its last fetch offset; unknown until it fetches in this epoch."""
    log_start_offset: Offset = NO_OFFSET
    """Its log start as sent with its last fetch; -1 before that."""
    noted_caught_up_ms: int = NEVER_MS
    """`last_caught_up_ms` without the stamp."""
    noted_fetch_ms: int = NEVER_MS
    """`last_fetch_ms` without the stamp."""
    leader_end_at_last_fetch: Offset = NO_OFFSET
    """The leader's LEO at that time."""
    high_watermark_sent: Offset = 0
    """The HW in the last answer to it (F6, case H); 0 before the first."""
    stamp: FetchStamp | None = None
    """The stamp of the session whose fetches count for this replica, while it stands at the leader's end."""

    @property
    def has_fetched(self) -> bool:
        """Whether it has fetched in this epoch, so that its LEO is known."""
        return self.log_end.offset != NO_OFFSET

    @property
    def last_caught_up_ms(self) -> int:
        """The latest time at which it is known to have had all that the leader had."""
        stamp = self.stamp
        return self.noted_caught_up_ms if stamp is None else max(self.noted_caught_up_ms, stamp.fetched_ms)

    @property
    def last_fetch_ms(self) -> int:
        """When it last fetched without error; never in the future."""
        stamp = self.stamp
        return self.noted_fetch_ms if stamp is None else max(self.noted_fetch_ms, stamp.fetched_ms)

    def stand_by(self, stamp: FetchStamp) -> None:
        """Called when the session has nothing to read: the leader's end is its LEO until `leave`."""
        self.stamp = stamp

    def leave(self, stamp: FetchStamp) -> None:
        """Called on an event: keep the times that the stamp had, if it is the one to stand by."""
        if self.stamp is stamp:
            self._note_stamp()

    def _note_stamp(self) -> None:
        self.noted_caught_up_ms, self.noted_fetch_ms = self.last_caught_up_ms, self.last_fetch_ms
        self.stamp = None

    def start_epoch(self, now_ms: int, *, in_sync: bool) -> None:
        """R5b: reset its state; a member of the ISR has the full `replica.lag.time.max.ms` to fetch."""
        self.log_end = UNKNOWN_POSITION
        self.log_start_offset = NO_OFFSET
        self.noted_caught_up_ms = now_ms if in_sync else NEVER_MS
        self.noted_fetch_ms = NEVER_MS
        self.leader_end_at_last_fetch = NO_OFFSET
        self.high_watermark_sent = 0
        self.stamp = None

    def note_fetch(
        self, fetched: LogPosition, log_start_offset: Offset, leader_end: Offset, now_ms: int
    ) -> None:
        """R10: called on a fetch from `fetched` without error, while the leader's LEO was `leader_end`."""
        if self.stamp is not None:  # of another session of this follower
            self._note_stamp()
        if fetched.offset >= leader_end:
            self.noted_caught_up_ms = now_ms
        elif self.noted_fetch_ms != NEVER_MS and fetched.offset >= self.leader_end_at_last_fetch:
            self.noted_caught_up_ms = max(self.noted_caught_up_ms, self.noted_fetch_ms)
        self.log_end = fetched
        self.log_start_offset = log_start_offset
        self.noted_fetch_ms = now_ms
        self.leader_end_at_last_fetch = leader_end

    def note_answer(self, high_watermark: Offset) -> None:
        """F6, case H: called when a fetch without error is answered with this HW."""
        self.high_watermark_sent = high_watermark
