"""Events as lines of text, in Kafka's words.

    1,000 ms  client test → broker 1  Produce: acks=all; orders-0: 3 records
    1,000 ms  broker 1                orders-0: appends 0-2, LEO 3; 1 produce waits
    1,000 ms  broker 2 → broker 1     Fetch: orders-0 at offset 3, last epoch 0
    2,000 ms  broker 1                killed
    2,000 ms  metadata store          orders-0: elected leader 2 (was 1), epoch 1, ISR 2,3

The page and the text show the same words: `place_of` and `words_of` give them, `group_of` and `is_milestone`
select.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, TopicPartition
from odradek.testing.sim.history.cluster_state import Phase, ReplicaState
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
    is_lossy,
)
from odradek.testing.sim.observer import Fault, FaultKind
from odradek.testing.sim.streams import Place

STORE: Final = "metadata store"
NETWORK: Final = "network"
ORDERS: Final = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")


class Group(Enum):
    """What an event is about; the values are shown to people."""

    FAULTS = "faults"
    BROKERS = "brokers and controller"
    LEADERS = "elections and ISR"
    LOGS = "logs"
    CLIENTS = "client requests"
    REPLICATION = "replication requests"
    ORDERS = "controller's orders"
    QUIET = "waiting"


_LEADERS: Final = {Change.GONE, Change.OPENED, Change.BECAME_LEADER, Change.BECAME_FOLLOWER, Change.ISR}
_QUIET: Final = {Change.WAITING, Change.FETCHER}


def group_of(event: Event) -> Group:
    """What an event is about."""
    match event:
        case Requested() | Answered() | Unanswered():
            if event.message.is_quiet:
                return Group.QUIET
            if event.message.api in ORDERS:
                return Group.ORDERS
            opener = event.receiver if isinstance(event, Answered) else event.sender
            return Group.REPLICATION if isinstance(opener, BrokerId) else Group.CLIENTS
        case Faulted():
            return Group.FAULTS
        case BrokerChanged() | ControllerElected() | Registered():
            return Group.BROKERS
        case StateStored():
            return Group.LEADERS
        case ReplicaChanged(changes=changes):
            if _LEADERS.intersection(changes):
                return Group.LEADERS
            return Group.QUIET if _QUIET.issuperset(changes) else Group.LOGS


def is_milestone(event: Event) -> bool:
    """Whether it belongs to the shortest history: a fault, a broker's life, an election, a truncation."""
    if isinstance(event, ReplicaChanged) and Change.TRUNCATED in event.changes:
        return True
    return group_of(event) in (Group.FAULTS, Group.BROKERS, Group.LEADERS)


def concerns(event: Event, topic_partition: TopicPartition) -> bool:
    """Whether it says something about the partition; events about no partition concern all."""
    match event:
        case Requested() | Answered() | Unanswered():
            named = event.message.parts
            return not named or any(name == topic_partition for name, _ in named)
        case StateStored() | ReplicaChanged():
            return event.topic_partition == topic_partition
        case _:
            return True


def tell(events: Iterable[Event]) -> Iterator[str]:
    """One line for each event, in columns."""
    found = [(f"{event.at_ms:,} ms", place_of(event), words_of(event)) for event in events]
    time_width = max((len(time) for time, _, _ in found), default=0)
    place_width = max((len(place) for _, place, _ in found), default=0)
    for time, place, words in found:
        yield f"{time:>{time_width}}  {place:<{place_width}}  {words}"


def place_of(event: Event) -> str:
    """Where it happens: "broker 2", or "broker 2 → broker 1"."""
    match event:
        case Requested() | Unanswered():
            return f"{_sender(event.sender, event.client_id)} → broker {event.receiver}"
        case Answered():
            return f"broker {event.sender} → {_sender(event.receiver, event.client_id)}"
        case Faulted(fault=fault):
            return NETWORK if fault.place is None or fault.other is not None else place_name(fault.place)
        case BrokerChanged() | ReplicaChanged():
            return f"broker {event.broker}"
        case ControllerElected() | Registered() | StateStored():
            return STORE


def place_name(place: Place) -> str:
    """A broker, or a host of clients."""
    return f"broker {place}" if isinstance(place, BrokerId) else f"host {place}"


def _sender(place: Place, client_id: str) -> str:
    return f"broker {place}" if isinstance(place, BrokerId) else f"client {client_id or place}"


def words_of(event: Event) -> str:
    """What happens."""
    match event:
        case Requested(message=message):
            return f"{message.api}: {message.words}" if message.words else message.api
        case Answered(message=message):
            return f"{message.api} answer: {message.words}" if message.words else f"{message.api} answer"
        case Unanswered(message=message, reason=reason):
            return f"{message.api}: no answer ({reason})"
        case Faulted(fault=fault):
            return _fault_words(fault)
        case BrokerChanged():
            return _broker_words(event)
        case ControllerElected(broker=broker, epoch=epoch):
            if broker == NO_BROKER:
                return "there is no controller"
            return f"broker {broker} is elected controller, epoch {epoch}"
        case Registered(broker=broker, epoch=epoch):
            if epoch == NO_EPOCH:
                return f"broker {broker} is no longer registered: its session has ended"
            return f"broker {broker} is registered, broker epoch {epoch}"
        case StateStored():
            return _stored_words(event)
        case ReplicaChanged():
            return _replica_words(event)


def _fault_words(fault: Fault) -> str:
    place = "" if fault.place is None else place_name(fault.place)
    other = "" if fault.other is None else place_name(fault.other)
    match fault.kind:
        case FaultKind.CUT:
            return f"cut: nothing passes between {place} and {other}"
        case FaultKind.CUT_ONE_WAY:
            return f"cut: nothing passes from {place} to {other}"
        case FaultKind.MENDED:
            return f"mended: everything passes between {place} and {other} again"
        case FaultKind.ISOLATED:
            return "isolated: nothing passes to or from it, but to the metadata store"
        case FaultKind.HEALED:
            return "healed: all cuts and delays end"
        case FaultKind.SLOWED:
            return f"slow: what {place} sends to {other} takes {fault.detail}"
        case FaultKind.DROPPED:
            return f"the connections that {place} opened to {other} are dropped"
        case FaultKind.STORE_ANSWER_LOST:
            return f"the next answer of the metadata store is lost, the operation is {fault.detail}"
        case FaultKind.CLOCK_SET:
            return f"its wall clock is set by {fault.detail}"
        case FaultKind.SET:
            return f"fault: {fault.detail}"
        case FaultKind.POWER_LOST:
            return "loses power: what was not synced may be gone"
        case FaultKind.PAUSED:
            return "paused: its process stands still"
        case FaultKind.REJOINED:
            return "no longer isolated"
        case FaultKind.KILLED | FaultKind.STORE_CUT | FaultKind.STORE_MENDED | FaultKind.SESSION_EXPIRED:
            return str(fault.kind.value)


_PHASES: Final = {
    Phase.DOWN: "has stopped",
    Phase.STARTING: "starts",
    Phase.SERVING: "serves clients",
    Phase.STOPPING: "begins to stop",
    Phase.PAUSED: "is paused",
}


def _broker_words(event: BrokerChanged) -> str:
    before, after = event.before, event.after
    words = []
    if event.reason:
        words.append(f"does not start: {event.reason}")
    elif before.phase is Phase.PAUSED and after.phase is not Phase.DOWN:
        words.append("resumes")
    elif before.phase is not after.phase:
        words.append(_PHASES[after.phase])
    if before.is_controller is not after.is_controller and after.phase is not Phase.DOWN:
        words.append("acts as the controller" if after.is_controller else "no longer acts as the controller")
    return ", ".join(words)


def _stored_words(event: StateStored) -> str:
    name, before, after = event.topic_partition, event.before, event.after
    if after is None:
        return f"{name}: its state is deleted"
    isr = ids(after.isr)
    if before is None:
        return f"{name}: leader {after.leader}, epoch {after.epoch}, ISR {isr}"
    if event.is_election:
        leader = "no leader" if after.leader == NO_BROKER else f"leader {after.leader}"
        was = "none" if before.leader == NO_BROKER else str(before.leader)
        return f"{name}: elected {leader} (was {was}), epoch {after.epoch}, ISR {isr}"
    if after.isr == before.isr:
        return f"{name}: written again, ISR {isr}"
    return f"{name}: ISR {_isr_change(before.isr, after.isr)}"


def _isr_change(before: tuple[BrokerId, ...], after: tuple[BrokerId, ...]) -> str:
    verb = "shrinks" if len(after) < len(before) else "expands" if len(after) > len(before) else "changes"
    return f"{verb} from {ids(before)} to {ids(after)}"


def _replica_words(event: ReplicaChanged) -> str:
    name, before, after = event.topic_partition, event.before, event.after
    if after is None:
        return f"{name}: has no replica any more"
    words = [said for change in event.changes if (said := _change_words(change, event, before, after))]
    return f"{name}: " + "; ".join(words)


def _change_words(
    change: Change, event: ReplicaChanged, before: ReplicaState | None, after: ReplicaState
) -> str:
    match change:
        case Change.OPENED:
            made = after.end == 0 and before is None
            verb = "makes the log" if made else "opens the log"
            return verb if made else f"{verb}, LEO {after.end}, HW {after.high_watermark}"
        case Change.BECAME_LEADER:
            return f"becomes leader, epoch {after.epoch}, ISR {ids(after.isr)}"
        case Change.BECAME_FOLLOWER:
            of = "without a leader" if after.leader == NO_BROKER else f"of broker {after.leader}"
            return f"becomes follower {of}, epoch {after.epoch}"
        case Change.TRUNCATED:
            return _truncation_words(event)
        case Change.ISR:
            return f"ISR {_isr_change(before.isr if before else (), after.isr)}"
        case Change.APPENDED:
            first = before.end if before else 0
            last = after.end - 1
            span = str(last) if first == last else f"{first}-{last}"
            return f"appends {span}, LEO {after.end}"
        case Change.HIGH_WATERMARK:
            return f"HW {after.high_watermark}"
        case Change.LOG_START:
            return f"log start {after.log_start}"
        case Change.FETCHER:
            return after.fetcher
        case Change.WAITING:
            return _waiting_words(event, after)
        case Change.GONE:
            return ""


def _truncation_words(event: ReplicaChanged) -> str:
    before, after = event.before, event.after
    assert before is not None
    assert after is not None
    if after.end >= before.end:
        return f"drops the log and starts anew at {after.end}"
    because = f", because {event.reason}" if event.reason else ""
    lost = f"; records below HW {before.high_watermark} are lost" if is_lossy(event) else ""
    return f"truncates from {before.end} to {after.end}{because}{lost}"


def _waiting_words(event: ReplicaChanged, after: ReplicaState) -> str:
    waiting = [
        f"{count} {kind}{'es' if kind == 'fetch' and count > 1 else 's' if count > 1 else ''}"
        for count, kind in ((after.produces, "produce"), (after.fetches, "fetch"))
        if count
    ]
    if not waiting:
        return "no request waits"
    words = " and ".join(waiting) + (" waits" if after.produces + after.fetches == 1 else " wait")
    return f"{words} ({event.waits_for})" if event.waits_for else words


def ids(ids: Iterable[int]) -> str:
    """Broker ids: "1,2,3"; "none" if there are none."""
    return ",".join(map(str, ids)) or "none"
