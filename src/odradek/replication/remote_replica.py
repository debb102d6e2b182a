"""The leader's state of one follower, updated only by its fetches (R5b, R10).

Invariant: only `start_epoch` and `note_fetch` change it. `isr` decides whether a replica is in sync.

A follower is *caught up* at the time of a fetch that reaches the leader's end. Under a steady stream no fetch
reaches it: when the follower fetches from 100, the leader is at 110 already. Therefore, a fetch that reaches
the leader's end at the time of the *previous* fetch makes the follower caught up at the time of that fetch:

    time  fetch offset  leader's end   caught up at
    10    100           100            10            reached the end
    20    100           110            10
    30    110           125            20            110 was the end at 20
    40    110           130            20            stuck: from here on its lag grows
"""

from dataclasses import dataclass

from odradek.base.ids import NO_OFFSET, BrokerId, Offset
from odradek.storage.positions import UNKNOWN_POSITION, LogPosition

NEVER_MS = -(1 << 62)
"""A time before all others: a replica not caught up since this leader began."""


@dataclass(slots=True)
class RemoteReplica:
    """One follower as its leader sees it. Times are on the monotonic clock."""

    broker_id: BrokerId
    log_end: LogPosition = UNKNOWN_POSITION
    """Its LEO, which is its last fetch offset; unknown until it fetches in this epoch."""
    log_start_offset: Offset = NO_OFFSET
    """Its log start as sent with its last fetch; -1 before that."""
    last_caught_up_ms: int = NEVER_MS
    """The latest time at which it is known to have had all that the leader had."""
    last_fetch_ms: int = NEVER_MS
    """When it last fetched without error; never in the future."""
    leader_end_at_last_fetch: Offset = NO_OFFSET
    """The leader's LEO at that time."""
    high_watermark_sent: Offset = 0
    """The HW in the last answer to it (F6, case H); 0 before the first."""

    def start_epoch(self, now_ms: int, *, in_sync: bool) -> None:
        """R5b: reset its state; a member of the ISR has the full `replica.lag.time.max.ms` to fetch."""
        self.log_end = UNKNOWN_POSITION
        self.log_start_offset = NO_OFFSET
        self.last_caught_up_ms = now_ms if in_sync else NEVER_MS
        self.last_fetch_ms = NEVER_MS
        self.leader_end_at_last_fetch = NO_OFFSET
        self.high_watermark_sent = 0

    def note_fetch(
        self, fetched: LogPosition, log_start_offset: Offset, leader_end: Offset, now_ms: int
    ) -> None:
        """R10: called on a fetch from `fetched` without error, while the leader's LEO was `leader_end`."""
        if fetched.offset >= leader_end:
            self.last_caught_up_ms = now_ms
        elif self.last_fetch_ms != NEVER_MS and fetched.offset >= self.leader_end_at_last_fetch:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end = fetched
        self.log_start_offset = log_start_offset
        self.last_fetch_ms = now_ms
        self.leader_end_at_last_fetch = leader_end
