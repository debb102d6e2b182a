"""All fetchers of one broker, and which partition belongs to which (X1).

A hash of the partition's name selects one of its leader's fetchers. So a partition keeps its fetcher while
its leader stays, in whatever order partitions are added:

    num.replica.fetchers=2     orders-0 → n, orders-1 → 1 - n, orders-2 → n, ...

A fetcher is created with its first partition and removed with its last.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from crc32c import crc32c

from odradek.base.clock import Clock
from odradek.base.execution import ITEMS_PER_STEP, Steps
from odradek.base.ids import NO_BROKER, BrokerId, LeaderEpoch, TopicId, TopicPartition
from odradek.replication.fetcher.fetcher import Fetcher
from odradek.replication.fetcher.fetcher_description import describe_fetchers
from odradek.replication.fetcher.fetcher_ports import FollowerLogs, Notes
from odradek.replication.fetcher.followed_partition import FollowedPartition, State
from odradek.replication.replication_ports import ReplicationQuota


def fetcher_number(topic_partition: TopicPartition, fetchers: int) -> int:
    """Returns the number of a partition's fetcher; adjacent partitions of a topic get different fetchers."""
    topic, partition = topic_partition
    return (crc32c(topic.encode()) + partition) % fetchers


class FetcherManager:
    """The fetchers by source broker and number."""

    def __init__(
        self,
        logs: FollowerLogs,
        clock: Clock,
        per_source: Callable[[], int],
        backoff_ms: Callable[[], int],
        notes: Notes,
        quota: ReplicationQuota | None = None,
    ) -> None:
        """`per_source` returns `num.replica.fetchers`, and `backoff_ms` `replica.fetch.backoff.ms`."""
        self._logs = logs
        self._clock = clock
        self._wanted_per_source = per_source
        self._backoff_ms = backoff_ms
        self._notes = notes
        self._quota = quota
        self._fetchers: dict[tuple[BrokerId, int], Fetcher] = {}
        """Each of them has at least one partition."""
        self._fetcher_of: dict[TopicPartition, Fetcher] = {}
        """The fetcher of each partition that has a leader."""
        self._leaderless: dict[TopicPartition, int] = {}
        """Partitions that have no leader to follow, and since when."""
        self._per_source = per_source()
        """The number of fetchers per source broker that the partitions are spread over; see `spread`."""
        self._bytes_of_gone = 0
        """Bytes that removed fetchers had appended."""

    def __len__(self) -> int:
        """How many partitions are followed, including those without a leader."""
        return len(self._fetcher_of) + len(self._leaderless)

    def fetchers(self) -> Iterable[Fetcher]:
        """All fetchers, in the order of their creation."""
        return self._fetchers.values()

    def names(self) -> list[TopicPartition]:
        """All followed partitions, including those without a leader."""
        return [*self._fetcher_of, *self._leaderless]

    def is_current(self, fetcher: Fetcher) -> bool:
        """Whether the fetcher still has partitions; one without partitions sends no more requests."""
        return self._fetchers.get((fetcher.source, fetcher.number)) is fetcher

    def fetcher(self, topic_partition: TopicPartition) -> Fetcher | None:
        """The partition's fetcher; None if it has no leader or is not followed."""
        return self._fetcher_of.get(topic_partition)

    def leaderless_since_ms(self, topic_partition: TopicPartition) -> int | None:
        """Since when a followed partition has no leader; None if it has one or is not followed."""
        return self._leaderless.get(topic_partition)

    def partition(self, topic_partition: TopicPartition) -> FollowedPartition | None:
        """The partition's state in its fetcher; None if it has no leader or is not followed."""
        fetcher = self._fetcher_of.get(topic_partition)
        return None if fetcher is None else fetcher.partitions.get(topic_partition)

    # --- roles

    def follow(
        self,
        topic_partition: TopicPartition,
        topic_id: TopicId,
        leader_id: BrokerId,
        leader_epoch: LeaderEpoch,
    ) -> Fetcher | None:
        """R5c: follow this leader; returns the fetcher that may now have a request to send."""
        before = self.partition(topic_partition)
        key = (leader_id, fetcher_number(topic_partition, self._wanted_per_source()))
        fetcher = self._fetchers.get(key)
        if fetcher is None or self._fetcher_of.get(topic_partition) is not fetcher:
            self.unfollow(topic_partition)
        if leader_id == NO_BROKER:
            self._leaderless[topic_partition] = self._clock.monotonic_ms()
            return None
        if fetcher is None:
            fetcher = self._fetchers[key] = Fetcher(
                *key, self._logs, self._clock, self._backoff_ms, self._notes, self._quota
            )
        was_delayed = before is not None and before.was_delayed
        fetcher.follow(topic_partition, topic_id, leader_epoch, was_delayed=was_delayed)
        self._fetcher_of[topic_partition] = fetcher
        return fetcher

    def unfollow(self, topic_partition: TopicPartition) -> None:
        """R5b, R5d: stop following; does nothing for a partition that is not followed."""
        self._leaderless.pop(topic_partition, None)
        fetcher = self._fetcher_of.pop(topic_partition, None)
        if fetcher is None:
            return
        fetcher.unfollow(topic_partition)
        if not len(fetcher.partitions):
            self._bytes_of_gone += fetcher.fetched_bytes
            del self._fetchers[fetcher.source, fetcher.number]

    def on_settled(self, topic_partition: TopicPartition) -> Fetcher | None:
        """X6: called when a truncation is on disk; returns the fetcher that may now have a request."""
        fetcher = self._fetcher_of.get(topic_partition)
        if fetcher is not None:
            fetcher.on_settled(topic_partition)
        return fetcher

    @property
    def is_to_be_spread(self) -> bool:
        """Whether `num.replica.fetchers` has changed since the partitions were spread."""
        return self._per_source != self._wanted_per_source()

    def spread(self) -> Steps[list[Fetcher]]:
        """Spread all partitions over the configured number of fetchers; returns the fetchers that got some.

        A partition that moves to another fetcher starts there in TRUNCATING: its epochs are compared again.
        """
        self._per_source = wanted = self._wanted_per_source()
        changed: dict[Fetcher, None] = {}
        for number, (key, fetcher) in enumerate(list(self._fetcher_of.items()), 1):
            followed = fetcher.partitions.get(key)
            if (
                followed is not None
                and self._fetcher_of.get(key) is fetcher
                and fetcher_number(key, wanted) != fetcher.number
            ):
                moved = self.follow(key, followed.topic_id, fetcher.source, followed.leader_epoch)
                if moved is not None:
                    changed[moved] = None
            if number % ITEMS_PER_STEP == 0:
                yield
        return list(changed)

    # --- for people and metrics

    def count(self, state: State) -> int:
        """How many partitions are in a state."""
        return sum(fetcher.partitions.count(state) for fetcher in self._fetchers.values())

    @property
    def leaderless_count(self) -> int:
        """How many partitions have no leader to follow."""
        return len(self._leaderless)

    @property
    def fetched_bytes(self) -> int:
        """Bytes of records appended since the broker started; only rises."""
        return self._bytes_of_gone + sum(fetcher.fetched_bytes for fetcher in self._fetchers.values())

    def lags(self) -> Iterable[tuple[TopicPartition, int]]:
        """X2: the partitions whose lag is known, each with its lag."""
        for key, fetcher in self._fetcher_of.items():
            followed = fetcher.partitions.get(key)
            if followed is not None and followed.lag is not None:
                yield key, followed.lag

    def describe(self) -> Mapping[str, Any]:
        """Returns the fetchers and who is behind, for a person."""
        return describe_fetchers(self._fetchers.values(), self._leaderless, self._clock.monotonic_ms())
