"""Leaves throttled partitions out of a fetcher's requests while the follower's quota is exceeded (F8).

    note_fetched(p, 1 MB)   the quota counts it; p is throttled and its lag is not 0
    apply()                 the rate is above the limit: p is THROTTLED, and the session drops it
    looks_at_ms()           when the rate may have fallen; other partitions are fetched meanwhile
    apply()                 it has: p is FETCHING again, from the same offset

The cost of a request depends on the throttled partitions that are behind, not on all. A partition whose lag
is 0 is never held back: every member of the ISR is among these, as HW is not above its LEO. Nor is one whose
lag is not known yet, under a new leader: it may be in the ISR, which it would leave while the quota is
exceeded. So each of them may be in one answer above the limit. (Kafka holds them back.)
"""

from itertools import islice
from typing import Final

from odradek.base.ids import TopicPartition
from odradek.replication.fetcher.fetcher_ports import FollowedLog, FollowerLogs
from odradek.replication.fetcher.followed_partition import NO_LOG, Event, FollowedPartition, State
from odradek.replication.fetcher.partition_queues import PartitionQueues
from odradek.replication.replication_ports import ReplicationQuota

MOVED_MAX: Final = 256
"""How many partitions are held back, and how many are looked at to be released, in one call."""
LISTS_READ_MS: Final = 1_000
"""In this time all partitions that are held back are looked at once: their topics may list them no more."""


class Throttle:
    """The throttled partitions of one fetcher."""

    __slots__ = ("_behind", "_lists_read_at_ms", "_logs", "_partitions", "_quota")

    def __init__(
        self, quota: ReplicationQuota | None, partitions: PartitionQueues, logs: FollowerLogs
    ) -> None:
        """Without a quota nothing is counted or held back."""
        self._quota = quota
        self._partitions = partitions
        self._logs = logs
        self._behind: dict[TopicPartition, FollowedPartition] = {}
        """Throttled partitions that were behind when they were fetched last; they may be held back."""
        self._lists_read_at_ms = 0
        """When the topics' lists are read again, for the partitions that have been held back longest."""

    def note_fetched(self, followed: FollowedPartition, log: FollowedLog, size_bytes: int = 0) -> None:
        """Called when an answer was applied, and when a partition begins to be fetched."""
        quota, key = self._quota, followed.topic_partition
        if quota is None:
            return
        quota.record(key, log.config, size_bytes)
        if followed.lag and quota.throttles(key, log.config):
            self._behind[key] = followed
        else:
            self._behind.pop(key, None)

    def forget(self, key: TopicPartition) -> None:
        """Called when a partition is followed no more."""
        self._behind.pop(key, None)

    def apply(self, now_ms: int) -> None:
        """Called before a request is made: hold back, or release."""
        quota = self._quota
        if quota is None or not (self._behind or self._partitions.count(State.THROTTLED)):
            return
        is_exceeded = quota.is_exceeded()
        if is_exceeded:
            self._hold_back(now_ms)
        if not is_exceeded or now_ms >= self._lists_read_at_ms:
            rounds = -(-self._partitions.count(State.THROTTLED) // MOVED_MAX)
            self._lists_read_at_ms = now_ms + LISTS_READ_MS // max(rounds, 1)
            for followed in self._partitions.first_in(State.THROTTLED, MOVED_MAX):
                self._release(followed, quota, is_exceeded, now_ms)

    def looks_at_ms(self) -> int | None:
        """When `apply` may release a partition; None while none is held back."""
        if self._quota is None or not self._partitions.count(State.THROTTLED):
            return None
        return min(self._quota.frees_at_ms(), self._lists_read_at_ms)

    def _hold_back(self, now_ms: int) -> None:
        for key in list(islice(self._behind, MOVED_MAX)):
            followed = self._behind.pop(key)
            if followed.state is State.FETCHING and self._partitions.get(key) is followed:
                self._partitions.move(followed, Event.HELD_BACK, now_ms)

    def _release(
        self, followed: FollowedPartition, quota: ReplicationQuota, is_exceeded: bool, now_ms: int
    ) -> None:
        log = self._logs.log(followed.topic_partition)
        if log is not None and is_exceeded and quota.throttles(followed.topic_partition, log.config):
            self._partitions.move(followed, Event.HELD_BACK, now_ms)  # behind those not looked at yet
            return
        if log is None:  # its directory has failed, and it is about to be followed no more
            self._partitions.delay(followed, now_ms, LISTS_READ_MS, NO_LOG)
            return
        self._partitions.move(followed, Event.RELEASED, now_ms)
        self._partitions.want(followed, log)
        self.note_fetched(followed, log)
