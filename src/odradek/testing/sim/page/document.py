"""A history as a JSON document: the events, and what each of them changes in the state.

The state is a flat object, so that a script applies a change without knowing what it means:

    "broker/1": {"phase": "serving", "controller": true}
    "replica/1/0": {"role": "leader", "epoch": 4, "ISR": [1, 2], "HW": 41, "LEO": 44, ...}
    "stored/0": {"leader": 1, "epoch": 4, "ISR": [1, 2]}        partition 0 of `partitions`
    "controller": {...}   "registered": {...}   "network": {...}

A change of null removes the key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from odradek.base.ids import BrokerId, TopicPartition
from odradek.testing.sim.history.cluster_state import BrokerState, ClusterState, ReplicaState, StoredState
from odradek.testing.sim.history.events import (
    Answered,
    BrokerChanged,
    Change,
    ControllerElected,
    Event,
    Faulted,
    Registered,
    ReplicaChanged,
    Requested,
    StateStored,
    Unanswered,
    apply,
)
from odradek.testing.sim.history.history import History
from odradek.testing.sim.history.telling import Group, group_of, is_milestone, place_of, words_of
from odradek.testing.sim.streams import Place

Json = dict[str, Any]
CLIENTS: Final = "clients"
STORE: Final = "store"
NETWORK: Final = "network"
_GROUPS: Final = list(Group)


def document_of(history: History, *, title: str, outcome: str) -> Json:
    """The whole document. The history is left as it is."""
    numbers = {name: number for number, name in enumerate(_partitions(history))}
    state = ClusterState()
    _copy(history.base, state)
    base = {key: value for key, value in _flat(state, numbers).items() if value is not None}
    events = []
    for event in history.events:
        apply(event, state)
        events.append(_event(event, state, numbers, history.forgotten))
    return {
        "title": title,
        "outcome": outcome,
        "brokers": sorted(_brokers(history)),
        "partitions": [str(name) for name in numbers],
        "groups": [group.value for group in _GROUPS],
        "forgotten": history.forgotten,
        "base": base,
        "events": events,
    }


def _copy(source: ClusterState, target: ClusterState) -> None:
    for name in ClusterState.__dataclass_fields__:
        held = getattr(source, name)
        setattr(target, name, dict(held) if isinstance(held, dict) else held)


def _partitions(history: History) -> list[TopicPartition]:
    found: dict[TopicPartition, None] = dict.fromkeys(name for _, name in history.base.replicas)
    found.update(dict.fromkeys(history.base.stored))
    for event in history.events:
        if isinstance(event, StateStored | ReplicaChanged):
            found[event.topic_partition] = None
    return sorted(found)


def _brokers(history: History) -> Iterable[BrokerId]:
    return dict.fromkeys([*history.base.brokers, *history.now.brokers])


def _event(event: Event, state: ClusterState, numbers: Mapping[TopicPartition, int], forgotten: int) -> Json:
    """`state` is that after the event."""
    source, target = _ways(event)
    found: Json = {
        "t": event.at_ms,
        "g": _GROUPS.index(group_of(event)),
        "a": source,
        "place": place_of(event),
        "words": words_of(event),
    }
    if target is not None:
        found["b"] = target
    if is_milestone(event):
        found["m"] = 1
    details = _details(event)
    if details:
        found["details"] = details
    named = [numbers[name] for name in _names(event) if name in numbers]
    if named:
        found["p"] = named
    links = [[words, number - forgotten] for words, number in _links(event) if number >= forgotten]
    if links:
        found["links"] = links
    if isinstance(event, ReplicaChanged) and Change.TRUNCATED in event.changes:
        found["cut"] = 1
    if isinstance(event, Answered):
        found["answer"] = 1
    changes = _changes(event, state, numbers)
    if changes:
        found["x"] = changes
    return found


def _ways(event: Event) -> tuple[BrokerId | str, BrokerId | str | None]:
    """The lane of the event, and of a message or a cut the lane where it ends."""
    match event:
        case Requested() | Answered() | Unanswered():
            return _lane(event.sender), _lane(event.receiver)
        case Faulted(fault=fault):
            return (NETWORK if fault.place is None else _lane(fault.place)), (
                None if fault.other is None else _lane(fault.other)
            )
        case BrokerChanged() | ReplicaChanged():
            return event.broker, None
        case ControllerElected() | Registered() | StateStored():
            return STORE, None


def _lane(place: Place) -> BrokerId | str:
    return place if isinstance(place, BrokerId) else CLIENTS


def _details(event: Event) -> list[str]:
    match event:
        case Requested() | Answered() | Unanswered():
            message = event.message
            lines = [*message.heads, *(f"{name}: {words}" for name, words in message.parts)]
            if message.unnamed:
                lines.append(f"and {message.unnamed} more partitions")
            return lines
        case ReplicaChanged():
            waits = [f"waits for {event.waits_for}"] if event.waits_for else []
            return [*waits, *([event.reason] if event.reason else [])]
        case _:
            return []


def _names(event: Event) -> list[TopicPartition]:
    match event:
        case Requested() | Answered() | Unanswered():
            return [name for name, _ in event.message.parts]
        case StateStored() | ReplicaChanged():
            return [event.topic_partition]
        case _:
            return []


def _links(event: Event) -> list[tuple[str, int]]:
    match event:
        case Answered() | Unanswered():
            return [("the request", event.request)]
        case ReplicaChanged():
            return [("the last message before it about this partition", event.preceded_by)]
        case _:
            return []


# --- the state


def _changes(event: Event, state: ClusterState, numbers: Mapping[TopicPartition, int]) -> Json:
    match event:
        case Faulted(fault=fault):
            found: Json = {"network": _network(state)}
            if isinstance(fault.place, BrokerId) and fault.place in state.brokers:
                found[f"broker/{fault.place}"] = _broker(state.brokers[fault.place])
            return found
        case BrokerChanged(broker=broker):
            return {f"broker/{broker}": _broker(state.brokers[broker])}
        case ControllerElected():
            return {"controller": _controller(state)}
        case Registered():
            return {"registered": _registered(state)}
        case StateStored(topic_partition=name):
            return {f"stored/{numbers[name]}": _stored(state.stored.get(name))}
        case ReplicaChanged(broker=broker, topic_partition=name):
            return {f"replica/{broker}/{numbers[name]}": _replica(state.replicas.get((broker, name)))}
        case Requested() | Answered() | Unanswered():
            return {}


def _flat(state: ClusterState, numbers: Mapping[TopicPartition, int]) -> Json:
    found: Json = {
        "controller": _controller(state),
        "registered": _registered(state),
        "network": _network(state),
    }
    for broker_id, broker in state.brokers.items():
        found[f"broker/{broker_id}"] = _broker(broker)
    for (broker_id, name), replica in state.replicas.items():
        found[f"replica/{broker_id}/{numbers[name]}"] = _replica(replica)
    for name, stored in state.stored.items():
        found[f"stored/{numbers[name]}"] = _stored(stored)
    return found


def _broker(state: BrokerState) -> Json:
    return {"phase": state.phase.value, "controller": state.is_controller}


def _controller(state: ClusterState) -> Json:
    return {"broker": state.controller, "epoch": state.controller_epoch}


def _registered(state: ClusterState) -> Json:
    return {"brokers": sorted(state.registered)}


def _network(state: ClusterState) -> Json:
    return {
        "cuts": [[_lane(a), _lane(b)] for a, b in state.cuts],
        "isolated": [_lane(place) for place in state.isolated],
        "cut from the store": list(state.cut_from_store),
    }


def _stored(state: StoredState | None) -> Json | None:
    return None if state is None else {"leader": state.leader, "epoch": state.epoch, "ISR": state.isr}


def _replica(state: ReplicaState | None) -> Json | None:
    if state is None:
        return None
    return {
        "role": state.role.value,
        "leader": state.leader,
        "epoch": state.epoch,
        "ISR": state.isr,
        "fetcher": state.fetcher,
        "log start": state.log_start,
        "HW": state.high_watermark,
        "LEO": state.end,
        "epochs": state.epochs,
        "produces waiting": state.produces,
        "fetches waiting": state.fetches,
    }
