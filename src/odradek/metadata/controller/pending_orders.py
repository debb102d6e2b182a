"""Collects the changes that brokers must receive, and makes few orders of them.

While a decision is carried out, every change that brokers must receive is noted here; `take` then makes,
per broker, LeaderAndIsr, UpdateMetadata and StopReplica, in that order, from what the image says at that
moment: one of a kind, or several where more than PARTITIONS_PER_ORDER partitions are named. Changed
settings come before all of these, in an UpdateMetadata of their own: they are in force for the first record
of a new topic (R18).

A broker that joins gets every UpdateMetadata before the first LeaderAndIsr, with all settings, and in the
first that names topics the names of all topics and of all resources with overrides: it must know who lives,
and which topics there are, before it leads. A broker that is not live gets none: it gets the whole state when
it registers.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Final, TypeVar

from odradek.base.ids import NO_EPOCH, BrokerId, TopicPartition
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.image import BrokerImage, ClusterImage, PartitionImage
from odradek.metadata.orders import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    LiveLeader,
    Order,
    StopReplica,
    StopReplicaPartition,
    TopicStates,
    UpdateMetadata,
)
from odradek.metadata.resources import Resource, overrides_of, resources_with_overrides

PARTITIONS_PER_ORDER: Final = 200
RESOURCES_PER_ORDER: Final = 200
CHARACTERS_PER_ORDER: Final = 1 << 20
"""Once the overrides of an order have so many characters, the next resource goes into another order."""


class PendingOrders:
    """What has been noted since the last `take`. Orders are those of noting, so runs repeat exactly."""

    __slots__ = (
        "_gone_topics",
        "_joining",
        "_leader_and_isr",
        "_settings",
        "_stops",
        "_updates",
        "_updates_everyone",
    )

    def __init__(self) -> None:
        # By broker, the partitions to lead or follow, and whether each is new.
        self._leader_and_isr: dict[BrokerId, dict[TopicPartition, bool]] = {}
        # By broker, the partitions whose facts it must learn (the values mean nothing).
        self._updates: dict[BrokerId, dict[TopicPartition, None]] = {}
        # Brokers that get the whole state: facts before roles (the values mean nothing).
        self._joining: dict[BrokerId, None] = {}
        # Whether every live broker gets the list of live brokers, even without partitions.
        self._updates_everyone = False
        # Topics that every broker is to remove.
        self._gone_topics: dict[str, None] = {}
        # Resources whose overrides every broker must learn (the values mean nothing).
        self._settings: dict[Resource, None] = {}
        # By broker, the replicas to stop, and whether to delete each.
        self._stops: dict[BrokerId, dict[TopicPartition, StopReplicaPartition]] = {}

    def partition_changed(
        self,
        image: ClusterImage,
        topic_partition: TopicPartition,
        *,
        is_new: bool = False,
        added: Container[BrokerId] = (),
    ) -> None:
        """Note LeaderAndIsr for the replicas, as new ones for those `added`, and UpdateMetadata for all."""
        partition = image.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not known"
        for replica in partition.replicas:
            roles = self._leader_and_isr.setdefault(replica, {})
            roles[topic_partition] = is_new or replica in added or roles.get(topic_partition, False)
            if replica in added:
                self._stops.get(replica, {}).pop(topic_partition, None)
        for broker_id in image.brokers:
            self._updates.setdefault(broker_id, {})[topic_partition] = None

    def isr_known(self, image: ClusterImage, topic_partition: TopicPartition) -> None:
        """Note UpdateMetadata for every broker, of a partition whose leader already knows its state."""
        for broker_id in image.brokers:
            self._updates.setdefault(broker_id, {})[topic_partition] = None

    def broker_joins(self, broker_id: BrokerId) -> None:
        """Note that a broker gets the whole state; the caller then notes its partitions, one by one."""
        self._joining[broker_id] = None

    def broker_came(self, image: ClusterImage, broker_id: BrokerId, topic_partition: TopicPartition) -> None:
        """Note one partition for a new broker, which must get all of them."""
        partition = image.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not known"
        self._updates.setdefault(broker_id, {})[topic_partition] = None
        if broker_id in partition.replicas:
            self._leader_and_isr.setdefault(broker_id, {}).setdefault(topic_partition, False)

    def role_again(self, broker_id: BrokerId, topic_partition: TopicPartition) -> None:
        """Note LeaderAndIsr for one replica, of a state that has not changed."""
        self._leader_and_isr.setdefault(broker_id, {}).setdefault(topic_partition, False)

    def brokers_changed(self) -> None:
        """Note the list of live brokers for every broker."""
        self._updates_everyone = True

    def topic_gone(self, name: str) -> None:
        """Note for every broker that a topic is gone."""
        self._updates_everyone = True
        self._gone_topics[name] = None

    def settings_changed(self, resource: Resource) -> None:
        """Note for every broker that the overrides of a resource changed (R18)."""
        self._settings[resource] = None

    def stop(self, replica: Replica, partition: PartitionImage | None, *, delete: bool) -> None:
        """Note StopReplica for a broker, and no role."""
        self._leader_and_isr.get(replica.broker_id, {}).pop(replica.topic_partition, None)
        epoch = NO_EPOCH if partition is None else partition.leader_epoch
        stops = self._stops.setdefault(replica.broker_id, {})
        stops[replica.topic_partition] = StopReplicaPartition(replica.topic_partition, epoch, delete)

    def take(self, image: ClusterImage) -> Iterator[tuple[BrokerId, Order]]:
        """Everything noted, as orders to live brokers; afterwards nothing is noted.

        Nothing may be noted, nor the image changed, until the last order is taken.
        """
        for settings in _settings_in_parts(image, self._settings):
            for broker in image.brokers.values():
                if broker.broker_id not in self._joining:
                    yield broker.broker_id, replace(_update_metadata(image, broker), settings=settings)
        for broker in image.brokers.values():
            if broker.broker_id in self._joining:
                yield from self._updates_of(image, broker)
        for broker in image.brokers.values():
            for roles in _in_parts(self._leader_and_isr.pop(broker.broker_id, {})):
                yield broker.broker_id, _leader_and_isr(image, broker, roles)
        for broker in image.brokers.values():
            if broker.broker_id not in self._joining:
                yield from self._updates_of(image, broker)
        for broker in image.brokers.values():
            for part in _in_parts(self._stops.pop(broker.broker_id, {})):
                stops = tuple(stop for _, stop in part)
                stop = StopReplica(image.controller_id, image.controller_epoch, broker.epoch, stops)
                yield broker.broker_id, stop
        self._leader_and_isr.clear()
        self._updates.clear()
        self._joining.clear()
        self._updates_everyone = False
        self._gone_topics.clear()
        self._settings.clear()
        self._stops.clear()

    def _updates_of(
        self, image: ClusterImage, broker: BrokerImage
    ) -> Iterator[tuple[BrokerId, UpdateMetadata]]:
        told = self._updates.pop(broker.broker_id, {})
        if told or self._updates_everyone:
            for update in self._facts(image, broker, told):
                yield broker.broker_id, update

    def _facts(
        self, image: ClusterImage, broker: BrokerImage, told: dict[TopicPartition, None]
    ) -> Iterator[UpdateMetadata]:
        """What a broker must learn; what it learns of a topic comes in one order."""
        bare = _update_metadata(image, broker)
        gone = tuple(self._gone_topics)
        for begin in range(PARTITIONS_PER_ORDER, len(gone), PARTITIONS_PER_ORDER):
            yield replace(bare, gone_topics=gone[begin : begin + PARTITIONS_PER_ORDER])
        # The next order, without the states of topics.
        following = replace(bare, gone_topics=gone[:PARTITIONS_PER_ORDER])
        if broker.broker_id in self._joining:
            configured = tuple(resources_with_overrides(image))
            *earlier, settings = [*_settings_in_parts(image, configured)] or [{}]
            for part in earlier:
                yield replace(bare, settings=part)
            names = tuple(image.live_names())
            following = replace(following, all_topics=names, all_configured=configured, settings=settings)
        facts: dict[str, dict[int, PartitionImage]] = {}
        count = 0
        for name, partitions in _by_topic(image, told):
            if count and count + len(partitions) > PARTITIONS_PER_ORDER:
                yield replace(following, topics=_topic_states(image, facts))
                following, facts, count = bare, {}, 0
            facts.setdefault(name, {}).update(partitions)
            count += len(partitions)
        yield replace(following, topics=_topic_states(image, facts))


K = TypeVar("K")
V = TypeVar("V")


def _in_parts(noted: dict[K, V]) -> Iterator[tuple[tuple[K, V], ...]]:
    """What was noted, in order; each part is forgotten when it is passed on, not all of it at once."""
    remaining = list(noted.items())
    noted.clear()
    remaining.reverse()
    while remaining:
        part = remaining[: -PARTITIONS_PER_ORDER - 1 : -1]
        del remaining[-PARTITIONS_PER_ORDER:]
        yield tuple(part)


def _by_topic(
    image: ClusterImage, told: dict[TopicPartition, None]
) -> Iterator[tuple[str, dict[int, PartitionImage]]]:
    """The states of the partitions, those of a topic together when they were noted one behind the other."""
    noted = (named for part in _in_parts(told) for named, _ in part)
    for name, group in groupby(noted, key=lambda named: named.topic):
        topic = image.topic(name)
        if topic is not None:
            yield (
                name,
                {number: topic.partitions[number] for _, number in group if number in topic.partitions},
            )


def _leader_and_isr(
    image: ClusterImage, broker: BrokerImage, roles: Iterable[tuple[TopicPartition, bool]]
) -> LeaderAndIsr:
    partitions: list[LeaderAndIsrPartition] = []
    leaders: dict[BrokerId, LiveLeader] = {}
    for topic_partition, is_new in roles:
        topic = image.topic(topic_partition.topic)
        if topic is None:
            continue
        state = topic.partitions[topic_partition.partition]
        partitions.append(LeaderAndIsrPartition(topic_partition, topic.topic_id, state, is_new))
        if state.leader in image.brokers:
            endpoint = image.brokers[state.leader].endpoints[0]
            leaders[state.leader] = LiveLeader(state.leader, endpoint.host, endpoint.port)
    return LeaderAndIsr(
        image.controller_id, image.controller_epoch, broker.epoch, tuple(partitions), tuple(leaders.values())
    )


def _update_metadata(image: ClusterImage, broker: BrokerImage) -> UpdateMetadata:
    """The order that tells a broker which brokers are live, and nothing else."""
    live = tuple(image.brokers.values())
    return UpdateMetadata(image.controller_id, image.controller_epoch, broker.epoch, live, topics=())


def _topic_states(
    image: ClusterImage, facts: Mapping[str, Mapping[int, PartitionImage]]
) -> tuple[TopicStates, ...]:
    return tuple(
        TopicStates(name, image.topics[name].topic_id, partitions) for name, partitions in facts.items()
    )


def _settings_in_parts(
    image: ClusterImage, resources: Iterable[Resource]
) -> Iterator[dict[Resource, Mapping[str, str]]]:
    """The overrides of the resources, as many as an order may have at a time."""
    part: dict[Resource, Mapping[str, str]] = {}
    characters = 0
    for resource in resources:
        overrides = part[resource] = overrides_of(image, resource)
        characters += sum(len(name) + len(text) for name, text in overrides.items())
        if len(part) == RESOURCES_PER_ORDER or characters >= CHARACTERS_PER_ORDER:
            yield part
            part, characters = {}, 0
    if part:
        yield part
