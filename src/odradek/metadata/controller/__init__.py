"""The controller: pure decisions over the cluster image, and the core that takes one event after another.

- `core`: `Controller`, events in, effects out: the order of things, elections won and lost.
- `active`, `answering`, `deletions`: what the elected controller does with an event, as processes.
- `carrying_out`: decisions become writes, changes and messages.
- `work`: the generators that all of these are; how they pause.
- `controlled_cluster`: what these share: the image, the fenced writes, what brokers must hear.
- `events`: the events and effects themselves.
- `requests`: what may be asked of it and what it answers.
- `topic_creation`, `partition_creation`, `topic_deletion`, `config_changes`, `producer_ids`: one kind of
  request each: (image, request) -> a `Decision` per subject.
- `assignment`: which brokers hold a new partition.
- `membership`: joining the cluster and competing for the controllership.
- `election`: who leads, given who is alive and in sync.
- `partition_states`, `replica_states`: Kafka's two state machines as tables.
- `broker_messages`: who is to be told what, gathered into few messages of a kind per broker.
"""

from odradek.metadata.controller.answering import ControllerSettings
from odradek.metadata.controller.core import Controller
from odradek.metadata.controller.events import (
    BrokerAnswered,
    ControllerEvent,
    Effect,
    Elected,
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
