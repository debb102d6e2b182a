"""What an admin client sees of a cluster: its brokers, its partitions, and which of them are in trouble.

Without I/O: `core/admin/cluster_states` asks the brokers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, Self

from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.base.values import value


class Trouble(Enum):
    """What may be wrong with a partition; the values are shown to people, the worst comes first."""

    OFFLINE = "offline"
    """It has no leader."""
    UNDER_MIN_ISR = "under min ISR"
    """Records with acks=all are refused."""
    AT_MIN_ISR = "at min ISR"
    """A replica is missing from the ISR, and without one more, records with acks=all would be refused."""
    UNDER_REPLICATED = "under-replicated"
    """A replica is missing from the ISR."""
    NOT_PREFERRED = "preferred leader not leading"
    """The first of its replicas could lead it: `cluster elect` moves the leadership there."""


RANKS: Final = {trouble: rank for rank, trouble in enumerate(Trouble)}


@value
class ClusterBroker:
    """A broker that is registered in the cluster."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        """host:port for clients of the listener that was asked."""
        return f"{self.host}:{self.port}"


@value
class ClusterPartition:
    """A partition as the broker that was asked knows it."""

    topic_partition: TopicPartition
    leader: BrokerId
    """-1 without a leader, or if its leader has no address for this listener."""
    leader_epoch: int
    replicas: Sequence[BrokerId]
    """In the order of the assignment: the first is the preferred leader."""
    isr: Sequence[BrokerId]
    offline: Sequence[BrokerId]
    """The replicas whose broker or log directory is not there."""
    elr: Sequence[BrokerId]
    """The replicas that may lead it without a loss although they are not in the ISR (KIP-966)."""
    last_known_leader: BrokerId
    """Who led it last, where nobody is left in the ISR and the ELR; else -1."""
    min_isr: int | None
    """`min.insync.replicas` of its topic; None if the broker does not tell."""
    adding: Sequence[BrokerId] = ()
    """The replicas that a move under way adds, where that is known: see `ClusterState.with_adding`."""

    @property
    def missing(self) -> list[BrokerId]:
        """The replicas that are not in the ISR, apart from those that a move adds."""
        return [one for one in self.replicas if one not in self.isr and one not in self.adding]

    @property
    def effective_min_isr(self) -> int | None:
        """How many in-sync replicas acks=all needs: not more than the partition has replicas."""
        return None if self.min_isr is None else min(self.min_isr, len(self.replicas))

    @property
    def troubles(self) -> list[Trouble]:
        """What is wrong with it, the worst first; empty if nothing is.

        As Kafka's tools count, with two differences. A partition at its minimum is listed only if it has
        lost a replica: one with a single replica is always there. And one whose preferred leader is not in
        the ISR is not listed for it, because an election would change nothing.
        """
        found = []
        if self.leader == NO_BROKER:
            found.append(Trouble.OFFLINE)
        least, has_missing = self.effective_min_isr, bool(self.missing)
        if least is not None and len(self.isr) < least:
            found.append(Trouble.UNDER_MIN_ISR)
        elif least is not None and has_missing and len(self.isr) == least:
            found.append(Trouble.AT_MIN_ISR)
        if has_missing:
            found.append(Trouble.UNDER_REPLICATED)
        preferred = self.replicas[0] if self.replicas else NO_BROKER
        is_able = preferred in self.isr and preferred not in self.offline
        if self.leader not in (NO_BROKER, preferred) and is_able:
            found.append(Trouble.NOT_PREFERRED)
        return found


@value
class ClusterState:
    """A cluster at about one moment: partitions are read in pages."""

    cluster_id: str
    controller_id: BrokerId
    """-1 if the broker that was asked knows none."""
    brokers: Sequence[ClusterBroker]
    partitions: Sequence[ClusterPartition]
    """Of all topics, by name, also those of the cluster's own."""
    topics: int

    def with_adding(self, adding: Mapping[TopicPartition, Sequence[BrokerId]]) -> Self:
        """The same, where moves under way add these replicas: that they are not in sync yet is no trouble."""
        if not adding:
            return self
        partitions = [replace(one, adding=adding.get(one.topic_partition, ())) for one in self.partitions]
        return replace(self, partitions=partitions)

    @property
    def troubled(self) -> list[ClusterPartition]:
        """The partitions in trouble, the worst first, then by name."""
        found = [one for one in self.partitions if one.troubles]
        return sorted(found, key=lambda one: (RANKS[one.troubles[0]], one.topic_partition))

    @property
    def counts(self) -> Mapping[Trouble, int]:
        """How many partitions have each trouble; a partition may have several."""
        troubles = [trouble for one in self.partitions for trouble in one.troubles]
        return {trouble: troubles.count(trouble) for trouble in Trouble}
