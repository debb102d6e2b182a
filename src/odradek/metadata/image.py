"""The cluster as one broker knows it: brokers, topics, partitions, settings, the controller.

It holds facts and answers lookups; it decides nothing and depends on no store and no wire format. Facts are
frozen; only `apply(change)` changes the image, at a cost that depends on the change, not on the cluster.
A caller that needs the earlier state reads it before `apply`.

    image.apply(TopicCreated("flights", topic_id, {0: partition}))
    image.apply(PartitionChanged("flights", 0, partition_with_another_leader))
    image.partition(TopicPartition("flights", 0)).leader
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from odradek.base.ids import (
    NO_BROKER,
    NO_BROKER_EPOCH,
    NO_EPOCH,
    BrokerId,
    LeaderEpoch,
    TopicId,
    TopicPartition,
)
from odradek.base.topic_names import folded_name
from odradek.base.values import value

NO_CONTROLLER_EPOCH = 0
INITIAL_LEADER_EPOCH: LeaderEpoch = 0


class Endpoint(NamedTuple):
    """One address of a broker: the listener's name, its security protocol, host and port."""

    listener: str
    security_protocol: str
    host: str
    port: int


@value
class BrokerImage:
    """A live broker, as it registered."""

    broker_id: BrokerId
    # In the order of advertised.listeners; never empty.
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    # Grows with every registration in the store, so it distinguishes two registrations of one broker.
    epoch: int = -1
    # The ids of its log directories (R15).
    log_dir_ids: tuple[UUID, ...] = ()
    # Whether its previous stop was clean (R15).
    clean_stop: bool = True
    # The id of its machine's current boot (R15); empty if that says nothing about its logs.
    boot_id: str = ""
    # Log directories that it had before and now misses, as long as it misses logs, too.
    missing_dir_ids: tuple[UUID, ...] = ()

    def endpoint(self, listener: str) -> Endpoint | None:
        """The address under that listener's name, or None."""
        for known in self.endpoints:
            if known.listener == listener:
                return known
        return None


@value
class PartitionImage:
    """One partition: its replicas, its leader, its ISR."""

    # The assigned brokers, the preferred leader first; never empty.
    replicas: tuple[BrokerId, ...]
    # The in-sync replicas; a subset of `replicas`. Empty when each of its last members has come back and may
    # have lost records (R15).
    isr: tuple[BrokerId, ...]
    # The leader, or NO_BROKER while there is none.
    leader: BrokerId
    # Raised by every election; -1 is never used here.
    leader_epoch: LeaderEpoch = INITIAL_LEADER_EPOCH
    # The version of the partition's state node: what the next conditional write must expect.
    state_version: int = 0
    # The epoch of the controller that wrote the state last.
    controller_epoch: int = NO_CONTROLLER_EPOCH
    # During a reassignment: the replicas on their way in and out; else empty.
    adding_replicas: tuple[BrokerId, ...] = ()
    removing_replicas: tuple[BrokerId, ...] = ()
    # The eligible leader replicas (R15e): outside the ISR, with all records below HW. Empty at min ISR.
    elr: tuple[BrokerId, ...] = ()
    # The replica whose loss of records emptied ISR and ELR: without them it alone leads again, unless an
    # unclean election is allowed. NO_BROKER while there is an ISR or an ELR.
    last_known_leader: BrokerId = NO_BROKER
    # The leader epoch of the last election of a leader that may lack acknowledged records; NO_EPOCH if there
    # was none. A replica whose last records are of an earlier epoch loses those that this leader lacks.
    unclean_epoch: LeaderEpoch = NO_EPOCH

    @property
    def preferred_leader(self) -> BrokerId:
        """The first assigned replica, which leads whenever it can."""
        return self.replicas[0]

    def does_without(self, broker_id: BrokerId) -> bool:
        """R15, R15e: whether another replica leads, and this one, which may lack records, may not."""
        return self.leader >= 0 and broker_id not in (self.leader, *self.isr, *self.elr)


@dataclass(slots=True)
class TopicImage:
    """One topic. Owned by the image; others read it."""

    name: str
    topic_id: TopicId
    # By partition number, dense from 0 once the topic is whole.
    partitions: dict[int, PartitionImage]


# --- changes


@value
class ClusterNamed:
    """The cluster's id became known; it never changes afterwards."""

    cluster_id: str


@value
class ControllerChanged:
    """Another controller, or none (NO_BROKER); the epoch never falls."""

    controller_id: BrokerId
    controller_epoch: int


@value
class BrokerRegistered:
    """A broker registered, registered again with a new epoch, or changed its endpoints."""

    broker: BrokerImage


@value
class BrokerGone:
    """A broker's registration ended."""

    broker_id: BrokerId


@value
class BrokerStopping:
    """A live broker asked to stop; it is that until its registration ends or another one begins."""

    broker_id: BrokerId


@value
class TopicCreated:
    """A topic with all its partitions; replaces a topic of that name that had another id."""

    name: str
    topic_id: TopicId
    partitions: Mapping[int, PartitionImage]


@value
class PartitionChanged:
    """A partition is new in its topic, or changed in any field."""

    topic: str
    partition: int
    state: PartitionImage


@value
class TopicDeletionBegan:
    """A topic's deletion has begun: brokers no longer see it, but its name is not free yet."""

    name: str


@value
class TopicDeleted:
    """A topic and its settings are deleted."""

    name: str


@value
class TopicConfigChanged:
    """The complete overrides of one topic."""

    topic: str
    overrides: Mapping[str, str]


@value
class BrokerConfigChanged:
    """The complete overrides of one broker, or of all of them (None)."""

    broker_id: BrokerId | None
    overrides: Mapping[str, str]


@value
class GroupConfigChanged:
    """The complete overrides of one consumer group."""

    group_id: str
    overrides: Mapping[str, str]


Change: TypeAlias = (
    ClusterNamed
    | ControllerChanged
    | BrokerRegistered
    | BrokerGone
    | BrokerStopping
    | TopicCreated
    | PartitionChanged
    | TopicDeletionBegan
    | TopicDeleted
    | TopicConfigChanged
    | BrokerConfigChanged
    | GroupConfigChanged
)

_NO_OVERRIDES: Mapping[str, str] = {}


@dataclass(slots=True)
class ClusterImage:
    """The state of the cluster. Read its fields freely; write only through `apply`."""

    # The id that clients see; empty until it is known.
    cluster_id: str = ""
    # The broker that holds /controller, or NO_BROKER.
    controller_id: BrokerId = NO_BROKER
    # How many controllers there have been; never falls.
    controller_epoch: int = NO_CONTROLLER_EPOCH
    # The live brokers.
    brokers: dict[BrokerId, BrokerImage] = field(default_factory=dict)
    # Live brokers that asked to stop (the values mean nothing): they get no leadership, and join no ISR. A
    # subset of `brokers`; only a controller's image has any.
    stopping: dict[BrokerId, None] = field(default_factory=dict)
    # The topics by name, those being deleted included.
    topics: dict[str, TopicImage] = field(default_factory=dict)
    # The names behind the ids of `topics`; the two always agree.
    topic_names: dict[TopicId, str] = field(default_factory=dict)
    # Topics whose deletion has begun, in that order (the values mean nothing); a subset of `topics`.
    deleting: dict[str, None] = field(default_factory=dict)
    # Overrides by topic name; topics without any are absent.
    topic_configs: dict[str, Mapping[str, str]] = field(default_factory=dict)
    # Overrides by broker, live or not; brokers without any are absent.
    broker_configs: dict[BrokerId, Mapping[str, str]] = field(default_factory=dict)
    # Overrides for all brokers.
    default_broker_config: Mapping[str, str] = field(default_factory=dict)
    # Overrides by group, whether there is such a group or not; groups without any are absent.
    group_configs: dict[str, Mapping[str, str]] = field(default_factory=dict)
    # Topic names by their form with '.' folded to '_', to find collisions; agrees with `topics`.
    _folded_names: dict[str, str] = field(default_factory=dict, repr=False)

    # --- lookups, O(1) unless they say otherwise

    def topic(self, name: str) -> TopicImage | None:
        """The topic of that name, unless there is none or it is being deleted."""
        return None if name in self.deleting else self.topics.get(name)

    def topic_by_id(self, topic_id: TopicId) -> TopicImage | None:
        """The topic with that id, unless there is none or it is being deleted."""
        name = self.topic_names.get(topic_id)
        return None if name is None else self.topic(name)

    def live_topics(self) -> Iterator[TopicImage]:
        """All topics that are not being deleted; O(topics)."""
        return (topic for name, topic in self.topics.items() if name not in self.deleting)

    def live_names(self) -> list[str]:
        """The names of all topics that are not being deleted; O(topics), of tens of nanoseconds each."""
        deleting = self.deleting
        return [name for name in self.topics if name not in deleting] if deleting else list(self.topics)

    def partition(self, topic_partition: TopicPartition) -> PartitionImage | None:
        """One partition, unless it or its topic is unknown or being deleted."""
        topic = self.topic(topic_partition.topic)
        return None if topic is None else topic.partitions.get(topic_partition.partition)

    def is_live(self, broker_id: BrokerId) -> bool:
        """Whether that broker is registered now."""
        return broker_id in self.brokers

    def broker_epoch(self, broker_id: BrokerId) -> int:
        """The epoch of a broker's registration; -1 while it is not registered."""
        broker = self.brokers.get(broker_id)
        return NO_BROKER_EPOCH if broker is None else broker.epoch

    def rack_on(self, broker_id: BrokerId, listener: str) -> str | None:
        """The rack of a live broker that has this listener; None for any other, or one without a rack."""
        broker = self.brokers.get(broker_id)
        return None if broker is None or broker.endpoint(listener) is None else broker.rack

    def offline_replicas(self, partition: PartitionImage) -> list[BrokerId]:
        """The replicas of a partition whose brokers are not live, in the order of assignment."""
        return [replica for replica in partition.replicas if replica not in self.brokers]

    def topic_config(self, name: str) -> Mapping[str, str]:
        """The overrides of a topic; empty when it has none."""
        return self.topic_configs.get(name, _NO_OVERRIDES)

    def broker_config(self, broker_id: BrokerId) -> Mapping[str, str]:
        """The overrides of one broker alone; empty when it has none."""
        return self.broker_configs.get(broker_id, _NO_OVERRIDES)

    def group_config(self, group_id: str) -> Mapping[str, str]:
        """The overrides of a consumer group; empty when it has none."""
        return self.group_configs.get(group_id, _NO_OVERRIDES)

    def name_colliding_with(self, name: str) -> str | None:
        """A topic, being deleted or not, that differs from `name` only in '.' against '_', or None."""
        other = self._folded_names.get(folded_name(name))
        return other if other is not None and other != name else None

    # --- changes

    def apply(self, change: Change) -> None:
        """Take one change; O(what it names)."""
        match change:
            case PartitionChanged(topic, partition, state):
                self.topics[topic].partitions[partition] = state
            case TopicCreated():
                self._add_topic(change)
            case TopicDeletionBegan(name):
                assert name in self.topics, f"{name} is not known and cannot be deleted"
                self.deleting[name] = None
            case TopicDeleted(name):
                self._remove_topic(name)
            case TopicConfigChanged(topic, overrides):
                _set_or_drop(self.topic_configs, topic, overrides)
            case BrokerRegistered(broker):
                self.brokers[broker.broker_id] = broker
                self.stopping.pop(broker.broker_id, None)
            case BrokerGone(broker_id):
                self.brokers.pop(broker_id, None)
                self.stopping.pop(broker_id, None)
            case BrokerStopping(broker_id):
                assert broker_id in self.brokers, f"broker {broker_id} is not registered"
                self.stopping[broker_id] = None
            case BrokerConfigChanged(None, overrides):
                self.default_broker_config = overrides
            case BrokerConfigChanged(int() as broker_id, overrides):
                _set_or_drop(self.broker_configs, broker_id, overrides)
            case GroupConfigChanged(group_id, overrides):
                _set_or_drop(self.group_configs, group_id, overrides)
            case ControllerChanged(controller_id, controller_epoch):
                assert controller_epoch >= self.controller_epoch, "the controller epoch never falls"
                self.controller_id = controller_id
                self.controller_epoch = controller_epoch
            case ClusterNamed(cluster_id):
                assert self.cluster_id in ("", cluster_id), "a cluster keeps its id"
                self.cluster_id = cluster_id

    def apply_all(self, changes: Iterable[Change]) -> None:
        """Take several changes in order."""
        for change in changes:
            self.apply(change)

    def _add_topic(self, created: TopicCreated) -> None:
        before = self.topics.get(created.name)
        if before is not None:
            del self.topic_names[before.topic_id]
        self.deleting.pop(created.name, None)
        self.topics[created.name] = TopicImage(created.name, created.topic_id, dict(created.partitions))
        self.topic_names[created.topic_id] = created.name
        self._folded_names[folded_name(created.name)] = created.name

    def _remove_topic(self, name: str) -> None:
        removed = self.topics.pop(name, None)
        self.topic_configs.pop(name, None)
        if removed is None:
            return
        self.deleting.pop(name, None)
        del self.topic_names[removed.topic_id]
        folded = folded_name(name)
        if self._folded_names.get(folded) == name:
            del self._folded_names[folded]


_Key = TypeVar("_Key")


def _set_or_drop(table: dict[_Key, Mapping[str, str]], key: _Key, overrides: Mapping[str, str]) -> None:
    if overrides:
        table[key] = overrides
    else:
        table.pop(key, None)
