"""The state of a simulated cluster at one moment, as values: what a lane of the page shows.

A history is a `ClusterState` and the events that change it: `events.apply` turns the state before an event
into the state after it.
"""

from dataclasses import dataclass, field
from enum import Enum

from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.values import value
from odradek.testing.sim.streams import Place


class Phase(Enum):
    """What a broker's process does; the values are shown to people."""

    DOWN = "down"
    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    PAUSED = "paused"
    """Its process stands still: it takes no step, and nothing reaches it."""


class Role(Enum):
    """What a broker is for a partition; the values are shown to people."""

    LEADER = "leader"
    FOLLOWER = "follower"
    NONE = "no role yet"
    """It has the log, and no LeaderAndIsr has named the partition in this life."""


@value
class BrokerState:
    """One broker's process."""

    phase: Phase = Phase.DOWN
    is_controller: bool = False
    """Whether it acts as the controller; another one may have been elected already."""


@value
class ReplicaState:
    """One replica of a partition."""

    role: Role
    leader: BrokerId
    """The leader that this broker knows; -1: none."""
    epoch: LeaderEpoch
    """The leader epoch that this broker knows."""
    isr: tuple[BrokerId, ...]
    """The ISR as the leader knows it; empty on a follower."""
    fetcher: str
    """What a follower's fetcher does, in the words of `followed_partition.State`; "" on a leader."""
    log_start: Offset
    high_watermark: Offset
    end: Offset
    """LEO."""
    epochs: tuple[tuple[LeaderEpoch, Offset], ...]
    """The leader epochs of the records, each with its first offset."""
    produces: int = 0
    """Produce requests that wait for replicas."""
    fetches: int = 0
    """Fetch requests that wait for records."""


@value
class StoredState:
    """A partition's state in the metadata store."""

    leader: BrokerId
    epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: int


@dataclass(slots=True)
class ClusterState:
    """Everything that a history shows at one moment."""

    brokers: dict[BrokerId, BrokerState] = field(default_factory=dict)
    replicas: dict[tuple[BrokerId, TopicPartition], ReplicaState] = field(default_factory=dict)
    """The replicas that exist; of a broker that is down, as they were last."""
    stored: dict[TopicPartition, StoredState] = field(default_factory=dict)
    """The partitions in the metadata store."""
    controller: BrokerId = NO_BROKER
    """The controller according to the metadata store; -1 while there is none."""
    controller_epoch: int = NO_EPOCH
    registered: dict[BrokerId, int] = field(default_factory=dict)
    """The brokers that are registered in the metadata store, with their epochs."""
    cuts: dict[tuple[Place, Place], None] = field(default_factory=dict)
    """(from, to): nothing passes (the values mean nothing)."""
    isolated: dict[Place, None] = field(default_factory=dict)
    """To and from these nothing passes (the values mean nothing)."""
    cut_from_store: dict[BrokerId, None] = field(default_factory=dict)
    """Brokers that do not reach the metadata store (the values mean nothing)."""
