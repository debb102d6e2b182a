"""Reports the replicas of a broker to a person: role, epochs, ISR, and who is behind (`/describe/replicas`).

The replicas in the worst standing come first, then those whose names come first. A broker may have ten
thousand replicas, so the report is made in steps, and has a bounded number of rows:

    sort    some partitions in each step: their standing and name, as one sorted run
    merge   the first rows of all runs
    tell    a few rows in each step

Invariant: nothing here changes state. A row shows the state at its own step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from heapq import merge
from itertools import islice
from typing import Any, Final, NamedTuple

from odradek.base.clock import Clock
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.base.values import value
from odradek.replication.fetcher import FetcherManager, State
from odradek.replication.fetcher.fetcher_description import describe_followed
from odradek.replication.partition import Partition
from odradek.replication.partition_description import describe_follower
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.replica_words import followers_behind, following
from odradek.replication.replication_ports import ClusterView, ReplicationQuota

ROWS_MAX: Final = 1_000
"""The largest number of rows; of the others only the number is reported."""
SORTED_PER_STEP: Final = 128
"""Of four microseconds each."""


class Standing(Enum):
    """How a replica stands, the worst first; the values are shown to people."""

    OFFLINE = "offline"
    """Its log directory has failed or is missing."""
    NO_LEADER = "no leader"
    NOT_FETCHED = "not fetched"
    """A followed partition that failed: only a person or the next LeaderAndIsr can help."""
    UNDER_MIN_ISR = "under min ISR"
    """Led here, and acks=all is refused."""
    STALLED = "stalled"
    """A followed partition whose leader does not answer, or that waits after an error."""
    OUT_OF_SYNC = "out of sync"
    """This replica is not in the ISR."""
    UNDER_REPLICATED = "under-replicated"
    """Another replica is not in the ISR."""
    BEING_MOVED = "being moved"
    """Only replicas that a reassignment brings are not in the ISR yet."""
    IN_SYNC = "in sync"


_RANKS: Final = {standing: rank for rank, standing in enumerate(Standing)}


@value
class WantedReplicas:
    """The replicas that a report is to have."""

    topic: str = "*"
    """A shell pattern for the names of topics."""
    in_trouble_only: bool = False
    """Whether those in sync are left out."""
    rows_max: int = ROWS_MAX


@dataclass(slots=True)
class ReplicaRows:
    """The rows of a report."""

    rows: Sequence[Mapping[str, Any]]
    left_out: int
    """How many wanted replicas have no row."""


class _Place(NamedTuple):
    """Where a replica stands in the order of a report."""

    rank: int
    topic: str
    partition: int


def _by_isr(partition: Partition, isr: Sequence[BrokerId]) -> Standing:
    """How a replica stands that is in sync itself."""
    if partition.misses_replicas(isr):
        return Standing.UNDER_REPLICATED
    return Standing.BEING_MOVED if len(isr) < len(partition.replicas) else Standing.IN_SYNC


class ReplicaReport:
    """Makes reports about the replicas of one broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        fetchers: FetcherManager,
        cluster: ClusterView,
        quota: ReplicationQuota,
        clock: Clock,
        offline: Callable[[], Mapping[TopicPartition, str]],
    ) -> None:
        """`offline` returns the replicas in failed or missing log directories, with the reasons.

        `quota` is the leader's.
        """
        self._replicas = replicas
        self._fetchers = fetchers
        self._cluster = cluster
        self._quota = quota
        self._clock = clock
        self._offline = offline

    def make(self, wanted: WantedReplicas) -> Steps[ReplicaRows]:
        """Returns the rows of the wanted replicas, in order."""
        offline = self._offline()
        names = [partition.topic_partition for partition in self._replicas.partitions()]
        names += [named for named in offline if self._replicas.partition(named) is None]
        yield
        runs = []
        for begin in range(0, len(names), SORTED_PER_STEP):
            runs.append(sorted(self._places(names[begin : begin + SORTED_PER_STEP], offline, wanted)))
            yield
        rows = yield from stepwise(
            islice(merge(*runs), wanted.rows_max), lambda place: self._row(place, offline)
        )
        shown = [row for row in rows if row is not None]
        return ReplicaRows(shown, max(0, sum(map(len, runs)) - wanted.rows_max))

    def _places(
        self, names: Sequence[TopicPartition], offline: Mapping[TopicPartition, str], wanted: WantedReplicas
    ) -> list[_Place]:
        found = []
        for named in names:
            if not fnmatchcase(named.topic, wanted.topic):
                continue
            standing = self._standing(named, offline)
            if standing is not None and not (wanted.in_trouble_only and standing is Standing.IN_SYNC):
                found.append(_Place(_RANKS[standing], *named))
        return found

    def _standing(self, named: TopicPartition, offline: Mapping[TopicPartition, str]) -> Standing | None:
        """Returns how a replica stands now; None if it is no longer here."""
        partition = self._replicas.partition(named)
        if partition is None:
            return Standing.OFFLINE if named in offline else None
        if partition.leadership is not None:
            if partition.is_under_min_isr:
                return Standing.UNDER_MIN_ISR
            return _by_isr(partition, partition.leadership.isr)
        if partition.leader_id == NO_BROKER:
            return Standing.NO_LEADER
        fetcher = self._fetchers.fetcher(named)
        followed = None if fetcher is None else fetcher.partitions.get(named)
        if fetcher is None or followed is None or followed.state is State.FAILED:
            return Standing.NOT_FETCHED
        if fetcher.unreachable_because or followed.state is State.DELAYED:
            return Standing.STALLED
        isr = self._isr(partition)
        if partition.broker_id not in isr:
            return Standing.OUT_OF_SYNC
        return _by_isr(partition, isr)

    def _isr(self, partition: Partition) -> tuple[BrokerId, ...]:
        """Returns the ISR: its leader's, or where another broker leads, the one that this broker was told."""
        if partition.leadership is not None:
            return partition.leadership.isr
        state = self._cluster.partition(partition.topic_partition)
        return () if state is None else state.isr

    def _elr(self, partition: Partition) -> tuple[BrokerId, ...]:
        """Returns the eligible leader replicas, known as the ISR is."""
        if partition.leadership is not None:
            return partition.leadership.elr
        state = self._cluster.partition(partition.topic_partition)
        return () if state is None else state.elr

    def _row(self, place: _Place, offline: Mapping[TopicPartition, str]) -> Mapping[str, Any] | None:
        named = TopicPartition(place.topic, place.partition)
        standing = self._standing(named, offline)
        if standing is None:
            return None
        row: dict[str, Any] = {"topic": named.topic, "partition": named.partition, "state": standing.value}
        partition = self._replicas.partition(named)
        if partition is None:
            row["behind"] = [f"log directory offline: {offline[named]}"]
            return row
        row |= self._of_hosted(partition)
        return row

    def _of_hosted(self, partition: Partition) -> Mapping[str, Any]:
        now_ms = self._clock.monotonic_ms()
        log, leadership, named = partition.log, partition.leadership, partition.topic_partition
        row: dict[str, Any] = {
            "role": "follower" if leadership is None else "leader",
            "leader_id": None if partition.leader_id == NO_BROKER else partition.leader_id,
            "leader_epoch": partition.leader_epoch,
            "replicas": list(partition.replicas),
            "isr": list(self._isr(partition)),
            "elr": list(self._elr(partition)),
            "min_isr": partition.min_isr,
            "high_watermark": log.high_watermark.offset,
            "log_end_offset": log.end_offset,
        }
        if leadership is not None:
            row["epoch_start_offset"] = leadership.epoch_start_offset
            row["isr_write_in_flight"] = leadership.pending is not None
            row["behind"] = followers_behind(partition, self._cluster, self._quota, now_ms)
            row["followers"] = [
                {
                    **describe_follower(remote, log.end_offset, now_ms),
                    "in_isr": remote.broker_id in leadership.isr,
                    "is_live": self._cluster.is_live(remote.broker_id),
                }
                for remote in leadership.remotes.values()
            ]
            return row
        row["behind"] = following(partition, self._fetchers, now_ms)
        fetcher = self._fetchers.fetcher(named)
        followed = None if fetcher is None else fetcher.partitions.get(named)
        if fetcher is not None and followed is not None:
            row["fetch"] = describe_followed(fetcher.source, followed, now_ms)
        return row
