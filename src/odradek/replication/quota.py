"""A broker's quotas for replication: one as the leader, one as the follower (F8, KIP-73).

They slow down replicas that have much to catch up on (new ones, mostly), so that clients and the other
replicas keep the network and the disk. A replica is slowed down while all of this holds:

    the rate of the throttled replicas' bytes is above {leader,follower}.replication.throttled.rate
    the topic's {leader,follower}.replication.throttled.replicas lists the replica on this broker
    the follower is not in sync: for the leader, it is out of the ISR; for itself, its lag is not 0

Lists name replicas as partition:broker. The leader's list names the replica that leads, not the follower that
it serves, as in Kafka: `0:1` throttles what broker 1 sends of partition 0.

    leader.replication.throttled.replicas = 0:1, 1:2     broker 1, leader of 0, throttles partition 0
    follower.replication.throttled.replicas = 0:3, 1:3   broker 3 throttles what it fetches of both
    *                                                    all replicas of the topic

The rate counts all bytes of the listed replicas, also of those that are in sync and are not slowed down.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.base.clock import Clock
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.base.settings.definition import LONG_MAX
from odradek.replication.byte_rate import ByteRate

LISTS_KEPT_MAX: Final = 1_000
"""How many topics' lists are kept parsed."""
ALL_REPLICAS: Final = "*"


class Quota:
    """One side's quota, shared by all partitions of a broker."""

    def __init__(
        self,
        broker_id: BrokerId,
        clock: Clock,
        rate: ByteRate,
        limit: Callable[[], int],
        listed: Callable[[TopicConfig], tuple[str, ...]],
    ) -> None:
        """`limit` returns the setting in bytes per second, `listed` the topic's setting."""
        self._broker_id = broker_id
        self._clock = clock
        self._rate = rate
        self._limit = limit
        self._listed = listed
        self._parsed: dict[str, tuple[tuple[str, ...], frozenset[int] | None]] = {}
        """By topic: its list, and the partitions that it throttles here; None: all of them."""
        self.throttled_bytes = 0
        """Bytes of listed replicas since the start."""

    @property
    def is_limited(self) -> bool:
        """Whether a limit is set."""
        return self._limit() != LONG_MAX

    def throttles(self, topic_partition: TopicPartition, config: TopicConfig) -> bool:
        """Whether the topic's list names the replica on this broker."""
        listed = self._listed(config)
        if not listed:
            return False
        topic = topic_partition.topic
        known = self._parsed.get(topic)
        if known is None or known[0] is not listed:
            known = listed, _partitions_on(self._broker_id, listed)
            if len(self._parsed) >= LISTS_KEPT_MAX:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[topic] = known
        partitions = known[1]
        return partitions is None or topic_partition.partition in partitions

    def record(self, topic_partition: TopicPartition, config: TopicConfig, size_bytes: int) -> None:
        """Count bytes that were sent or fetched, if the replica is listed."""
        if size_bytes > 0 and self.throttles(topic_partition, config):
            self.throttled_bytes += size_bytes
            self._rate.record(size_bytes, self._clock.monotonic_ms())

    def is_exceeded(self) -> bool:
        """Whether the rate is above the limit now."""
        return self.is_limited and self._rate.exceeds(self._limit(), self._clock.monotonic_ms())

    def frees_at_ms(self) -> int:
        """When the rate may have fallen to the limit, if nothing more is counted; now if it is not above."""
        return self._rate.falls_at_ms(self._limit(), self._clock.monotonic_ms())


def _partitions_on(broker_id: BrokerId, listed: tuple[str, ...]) -> frozenset[int] | None:
    if ALL_REPLICAS in listed:
        return None
    pairs = (replica.split(":") for replica in listed)
    return frozenset(int(partition) for partition, broker in pairs if int(broker) == broker_id)


@dataclass(frozen=True, slots=True)
class ReplicationQuotas:
    """Both quotas of a broker."""

    leader: Quota
    """For what this broker sends to followers out of sync."""
    follower: Quota
    """For what this broker fetches where it is behind."""

    def for_fetch(self) -> Quota | None:
        """The quota that applies to a follower's fetch; None while there is no limit."""
        return self.leader if self.leader.is_limited else None


def replication_quotas(
    broker_id: BrokerId, clock: Clock, settings: Callable[[], BrokerSettings]
) -> ReplicationQuotas:
    """Returns the quotas of a broker; `settings` returns those in force."""

    def new_rate() -> ByteRate:
        fixed = settings()
        return ByteRate(
            fixed.replication_quota_window_num, fixed.replication_quota_window_size_seconds * 1_000
        )

    leader = Quota(
        broker_id,
        clock,
        new_rate(),
        lambda: settings().leader_replication_throttled_rate,
        lambda config: config.leader_replication_throttled_replicas,
    )
    follower = Quota(
        broker_id,
        clock,
        new_rate(),
        lambda: settings().follower_replication_throttled_rate,
        lambda config: config.follower_replication_throttled_replicas,
    )
    return ReplicationQuotas(leader, follower)
