"""The controller: pure decisions over the cluster image, and the core that takes one event after another.

- `core`: `Controller`, events in, effects out: the order of events, elections won and lost.
- `active`, `answering`, `deletions`: how the elected controller handles events, as processes.
- `carrying_out`: decisions become writes, changes and orders.
- `controlled_cluster`: what these share: the image, how partitions change in it, the orders to brokers.
- `fenced_writes`: how they write: all or nothing, while no other controller was elected.
- `settings_of_topics`: the settings that they decide by.
- `replica_reports`: what live brokers have said of their replicas.
- `events`, `event_queue`: the events and effects themselves, and the events that wait.
- `decision`: the answer for one subject of a request, and what must happen before it is sent.
- `unknown_outcomes`: whether a write without an answer was executed.
- `notices`: the nodes by which brokers tell the controller of changes.
- `requests`: its requests and answers.
- `topic_creation`, `partition_creation`, `topic_deletion`, `config_changes`, `producer_ids`: one kind of
  request each: (image, request) -> a `Decision` per subject.
- `leader_moves`: requests that move leaderships: ElectLeaders, ControlledShutdown, RebalanceLeaders.
- `reassignment`, `replica_moves`: moving the replicas of a partition to other brokers.
- `assignment`: which brokers hold a new partition.
- `membership`: joining the cluster and competing for the controllership.
- `election`: the leader and ISR of a partition, given the live brokers.
- `replica_states`: where a replica is that is being deleted, as a table.
- `pending_orders`: collects the changes for each broker into few orders.
- `cluster_counts`: how many topics and partitions there are, and how many are not as wanted.
"""

from odradek.metadata.controller.answering import ControllerSettings
from odradek.metadata.controller.core import Controller
from odradek.metadata.controller.events import (
    BrokerAnswered,
    ControllerEvent,
    Effect,
    Elected,
    ElectedUncleanly,
    ElectionDue,
    ElectionFailed,
    EventFailed,
    ImageChanged,
    RequestArrived,
    Resigned,
    Respond,
    SendToBroker,
    Started,
    StoreCall,
    TurnCame,
    TurnWanted,
)

__all__ = [
    "BrokerAnswered",
    "Controller",
    "ControllerEvent",
    "ControllerSettings",
    "Effect",
    "Elected",
    "ElectedUncleanly",
    "ElectionDue",
    "ElectionFailed",
    "EventFailed",
    "ImageChanged",
    "RequestArrived",
    "Resigned",
    "Respond",
    "SendToBroker",
    "Started",
    "StoreCall",
    "TurnCame",
    "TurnWanted",
]
