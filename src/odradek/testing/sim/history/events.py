"""What happens in a simulated cluster, in Kafka's words: one value per event.

    Requested(12_340, 7, sender=2, receiver=1, message=Message("Fetch", "orders-0 at offset 41", ...))
    ReplicaChanged(12_340, 8, broker=2, topic_partition=orders-0, before=..., after=...)

An event has a time (virtual, in ms) and a number; numbers rise by one. Events hold no reference to the world:
a history can be told after its world is gone. `apply` makes the state after an event from that before it.
"""

from dataclasses import replace
from enum import Enum
from typing import Final, TypeAlias

from odradek.base.ids import NO_EPOCH, BrokerId, TopicPartition
from odradek.base.values import value
from odradek.testing.sim.history.cluster_state import (
    BrokerState,
    ClusterState,
    Phase,
    ReplicaState,
    Role,
    StoredState,
)
from odradek.testing.sim.observer import Fault, FaultKind
from odradek.testing.sim.streams import Place

NO_EVENT: Final = -1
"""The number of no event."""


@value
class Message:
    """A request or an answer, as far as a person wants to know it."""

    api: str
    """Kafka's name of the API: "Fetch"."""
    words: str
    """What it says, in one line; "" where its name says everything."""
    heads: tuple[str, ...] = ()
    """What it says besides: "acks=all"."""
    parts: tuple[tuple[TopicPartition, str], ...] = ()
    """The partitions that it names, at most as many as are shown, and what it says about each."""
    unnamed: int = 0
    """How many more partitions it names."""
    is_quiet: bool = False
    """Whether it says nothing new, as a fetch that waits for records."""
    is_answered: bool = True
    """Of a request: whether brokers answer it."""


@value
class Requested:
    """A request has arrived at a broker."""

    at_ms: int
    number: int
    sender: Place
    client_id: str
    receiver: BrokerId
    message: Message


@value
class Answered:
    """An answer has arrived at the sender of the request."""

    at_ms: int
    number: int
    sender: BrokerId
    receiver: Place
    client_id: str
    message: Message
    request: int
    """The number of the event `Requested`."""


@value
class Unanswered:
    """A connection has ended, and a request on it has no answer: whether it was executed is unknown."""

    at_ms: int
    number: int
    sender: Place
    client_id: str
    receiver: BrokerId
    message: Message
    """The request."""
    request: int
    """The number of the event `Requested`."""
    reason: str


@value
class Faulted:
    """A fault happens, or faults end."""

    at_ms: int
    number: int
    fault: Fault


@value
class BrokerChanged:
    """A broker starts, serves, stops or is over, or begins or ends to act as the controller."""

    at_ms: int
    number: int
    broker: BrokerId
    before: BrokerState
    after: BrokerState
    reason: str = ""
    """Why it did not start; otherwise ""."""


@value
class ControllerElected:
    """The metadata store names another controller, or none (-1)."""

    at_ms: int
    number: int
    broker: BrokerId
    epoch: int


@value
class Registered:
    """A broker is registered in the metadata store under a new epoch, or (-1) no longer."""

    at_ms: int
    number: int
    broker: BrokerId
    epoch: int


@value
class StateStored:
    """A partition's leader or ISR was written to the metadata store, or its state was deleted."""

    at_ms: int
    number: int
    topic_partition: TopicPartition
    before: StoredState | None
    """None if it is new."""
    after: StoredState | None
    """None if it was deleted."""

    @property
    def is_election(self) -> bool:
        """Whether the leader or its epoch is another one."""
        before, after = self.before, self.after
        return after is not None and (
            before is None or (before.leader, before.epoch) != (after.leader, after.epoch)
        )


class Change(Enum):
    """What a step changed in a replica; the most important one comes first."""

    GONE = "gone"
    OPENED = "opened"
    BECAME_LEADER = "became leader"
    BECAME_FOLLOWER = "became follower"
    TRUNCATED = "truncated"
    ISR = "ISR"
    APPENDED = "appended"
    HIGH_WATERMARK = "HW"
    LOG_START = "log start"
    FETCHER = "fetcher"
    WAITING = "requests waiting"


@value
class ReplicaChanged:
    """A replica's role, log or waiting requests have changed in one step."""

    at_ms: int
    number: int
    broker: BrokerId
    topic_partition: TopicPartition
    before: ReplicaState | None
    """None if it is new; in the first event of a life, as it was in the life before."""
    after: ReplicaState | None
    """None if it is gone."""
    changes: tuple[Change, ...]
    waits_for: str = ""
    """What the requests that began to wait wait for."""
    preceded_by: int = NO_EVENT
    """The number of the last message before it that reached this broker and names the partition."""
    reason: str = ""
    """Of a truncation: what the leader answered about epochs."""


Event: TypeAlias = (
    Requested
    | Answered
    | Unanswered
    | Faulted
    | BrokerChanged
    | ControllerElected
    | Registered
    | StateStored
    | ReplicaChanged
)


def changes_between(
    before: ReplicaState | None,
    after: ReplicaState | None,
    *,
    is_new_life: bool = False,
    is_truncated: bool = False,
) -> tuple[Change, ...]:
    """Returns what changed; empty if nothing did.

    In another life of the broker the log is opened, whatever it held before. A log that `is_truncated`
    although its LEO has risen was dropped and starts anew; one whose LEO is the same has lost no record.
    """
    if after is None:
        return () if before is None else (Change.GONE,)
    if before is None or is_new_life:
        found = [Change.OPENED]
        if after.role is not Role.NONE:
            found.append(_role_change(after))
        return tuple(found)
    found = []
    if (before.role, before.epoch) != (after.role, after.epoch) and after.role is not Role.NONE:
        found.append(_role_change(after))
    starts_anew = is_truncated and after.log_start == after.end > before.end
    if starts_anew or after.end < before.end:
        found.append(Change.TRUNCATED)
    if after.isr != before.isr and before.isr and after.isr:
        found.append(Change.ISR)
    if after.end > before.end and not starts_anew:
        found.append(Change.APPENDED)
    if after.high_watermark != before.high_watermark:
        found.append(Change.HIGH_WATERMARK)
    if after.log_start != before.log_start:
        found.append(Change.LOG_START)
    if after.fetcher != before.fetcher:
        found.append(Change.FETCHER)
    if (after.produces, after.fetches) != (before.produces, before.fetches):
        found.append(Change.WAITING)
    return tuple(found)


def _role_change(after: ReplicaState) -> Change:
    return Change.BECAME_LEADER if after.role is Role.LEADER else Change.BECAME_FOLLOWER


def apply(event: Event, state: ClusterState) -> None:
    """Let `state`, which is that before the event, be that after it."""
    match event:
        case Faulted(fault=fault):
            _apply_fault(fault, state)
        case BrokerChanged(broker=broker, after=after):
            state.brokers[broker] = after
        case ControllerElected(broker=broker, epoch=epoch):
            state.controller, state.controller_epoch = broker, epoch
        case Registered(broker=broker, epoch=epoch):
            if epoch == NO_EPOCH:
                state.registered.pop(broker, None)
            else:
                state.registered[broker] = epoch
        case StateStored(topic_partition=topic_partition, after=stored):
            if stored is None:
                state.stored.pop(topic_partition, None)
            else:
                state.stored[topic_partition] = stored
        case ReplicaChanged(broker=broker, topic_partition=topic_partition, after=replica):
            if replica is None:
                state.replicas.pop((broker, topic_partition), None)
            else:
                state.replicas[broker, topic_partition] = replica
        case Requested() | Answered() | Unanswered():
            pass


def _apply_fault(fault: Fault, state: ClusterState) -> None:
    place, other = fault.place, fault.other
    match fault.kind:
        case FaultKind.KILLED | FaultKind.POWER_LOST:
            assert isinstance(place, BrokerId)
            state.brokers[place] = BrokerState(Phase.DOWN)
        case FaultKind.PAUSED:
            assert isinstance(place, BrokerId)
            state.brokers[place] = replace(state.brokers[place], phase=Phase.PAUSED)
        case FaultKind.CUT | FaultKind.CUT_ONE_WAY:
            assert place is not None
            assert other is not None
            state.cuts[place, other] = None
            if fault.kind is FaultKind.CUT:
                state.cuts[other, place] = None
        case FaultKind.ISOLATED:
            assert place is not None
            state.isolated[place] = None
        case FaultKind.STORE_CUT:
            assert isinstance(place, BrokerId)
            state.cut_from_store[place] = None
        case FaultKind.STORE_MENDED:
            assert isinstance(place, BrokerId)
            state.cut_from_store.pop(place, None)
        case FaultKind.MENDED:
            assert place is not None
            assert other is not None
            state.cuts.pop((place, other), None)
            state.cuts.pop((other, place), None)
        case FaultKind.REJOINED:
            assert place is not None
            state.isolated.pop(place, None)
        case FaultKind.HEALED:
            state.cuts.clear()
            state.isolated.clear()
        case _:
            pass


def is_lossy(event: ReplicaChanged) -> bool:
    """Whether a truncation removed records below HW, which consumers could have read."""
    before, after = event.before, event.after
    if before is None or after is None or Change.TRUNCATED not in event.changes:
        return False
    return after.end < before.high_watermark
