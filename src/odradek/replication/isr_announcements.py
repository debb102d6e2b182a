"""Collects ISR changes until they are announced to the controller (R4).

The caller writes the announcement. Changes come in bursts, so they are held until none has come for QUIET_MS,
but at most for ANNOUNCEMENT_INTERVAL_MAX_MS:

    changes at 0, 1, 2, 3 s, then quiet           announced at 10 s: the first round over 5 s after the last
    a change every second, last announced at 0    announced at 62.5 s: the first round over 60 s
"""

from typing import Final

from odradek.base.ids import TopicPartition
from odradek.replication.remote_replica import NEVER_MS

QUIET_MS: Final = 5_000
"""How long to wait after the last change."""
ANNOUNCEMENT_INTERVAL_MAX_MS: Final = 60_000
"""The longest time between two announcements while changes keep coming."""


class IsrAnnouncements:
    """The changes since the last announcement."""

    __slots__ = ("_changed", "_last_announced_ms", "_last_changed_ms")

    def __init__(self) -> None:
        self._changed: dict[TopicPartition, None] = {}
        """Partitions in the order of their first change; a dict for want of an ordered set."""
        self._last_changed_ms = NEVER_MS
        self._last_announced_ms = NEVER_MS

    def note(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Called when a partition's ISR was written."""
        self._changed[topic_partition] = None
        self._last_changed_ms = now_ms

    def take_due(self, now_ms: int) -> list[TopicPartition]:
        """Returns the partitions to announce now, and forgets them; usually none."""
        if not self._changed:
            return []
        is_quiet = now_ms - self._last_changed_ms > QUIET_MS
        if not is_quiet and now_ms - self._last_announced_ms <= ANNOUNCEMENT_INTERVAL_MAX_MS:
            return []
        due = list(self._changed)
        self._changed.clear()
        self._last_announced_ms = now_ms
        return due
