"""A cluster of controllers over one store in memory, run as a server would, at once and in one thread."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller import (
    BrokerAnswered,
    Controller,
    ControllerEvent,
    ControllerSettings,
    Effect,
    RequestArrived,
    Respond,
    SendToBroker,
    Started,
    StoreCall,
    TurnCame,
    TurnWanted,
)
from odradek.metadata.controller.requests import AllocateProducerIds, Answer, ControllerRequest
from odradek.metadata.image import BrokerImage, ClusterImage, Endpoint, PartitionImage
from odradek.metadata.memory import MemorySession, MemoryStore
from odradek.metadata.orders import Order, StopReplica, UpdateMetadata, changes_from
from odradek.metadata.store import (
    Create,
    Failed,
    Fault,
    Multi,
    SessionEnded,
    SessionOpened,
    SetData,
    StoreEvent,
    StoreReplied,
)

A = TypeVar("A", bound=Answer)


def make_broker(broker_id: BrokerId, **fields: object) -> BrokerImage:
    endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9092),)
    return BrokerImage(broker_id, endpoints, **fields)  # type: ignore[arg-type]


@dataclass
class Member:
    """One broker: its controller, its session, and what it was told."""

    cluster: "Cluster"
    controller: Controller
    session: MemorySession | None = None
    # Everything that its controller wanted, in order.
    effects: list[Effect] = field(default_factory=list)
    # Every order that it got, in order, with the sender's number.
    received: list[Order] = field(default_factory=list)
    # What it knows from UpdateMetadata alone.
    image: ClusterImage = field(default_factory=ClusterImage)
    answers: dict[int, Answer] = field(default_factory=dict)
    # The controller's numbers of the calls that the store has not answered, by the store's.
    calls: dict[int, int] = field(default_factory=dict)

    @property
    def live_session(self) -> MemorySession:
        """Its session; it has one."""
        assert self.session is not None, "the session is over"
        return self.session

    def event(self, event: ControllerEvent) -> None:
        """Let the controller take an event, and everything that follows from it happen."""
        self._take(event)
        if not self.cluster.holding:
            self.cluster.store.deliver()

    def _take(self, event: ControllerEvent) -> None:
        for effect in self.controller.on_event(event):
            self.effects.append(effect)
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StoreCall(call_id, operation):
                if self.cluster.is_disk_full and isinstance(operation, Multi | SetData | Create):
                    self._take(StoreReplied(call_id, Failed(Fault.STORE_FAILED, "/")))
                elif self.session is not None:
                    self.calls[self.session.submit(operation)] = call_id
            case TurnWanted(call_id):
                self._take(TurnCame(call_id))
            case SendToBroker(broker_id, order_id, order):
                self.cluster.send(self, broker_id, order_id, order)
            case Respond(request_id, answer):
                assert request_id not in self.answers, "a request is answered once"
                self.answers[request_id] = answer

    def on_store_event(self, event: StoreEvent) -> None:
        if isinstance(event, SessionEnded):
            self.session = None
            self._take(event)
        elif isinstance(event, StoreReplied):
            self._take(StoreReplied(self.calls.pop(event.call_id), event.result))
        else:
            assert not isinstance(event, SessionOpened), "sessions are open from the start"
            self._take(event)

    def receive(self, order: Order) -> None:
        self.received.append(order)
        if isinstance(order, UpdateMetadata):
            for change in changes_from(order, self.image):
                self.image.apply(change)


class Cluster:
    """Brokers that share a store. Messages arrive at once and are answered without errors, unless told."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        # Whether the store executes nothing before `store.deliver`.
        self.holding = False
        # Whether the store's disk takes no writes.
        self.is_disk_full = False
        self.members: dict[BrokerId, Member] = {}
        # How a broker answers a StopReplica: the errors, or None for not at all.
        self.answer_to_stop: Callable[[BrokerId, StopReplica], dict[TopicPartition, ErrorCode] | None] = (
            lambda broker_id, order: {}
        )
        self._request_ids = 0

    def connect(self, broker_id: BrokerId, settings: ControllerSettings | None = None) -> MemorySession:
        """Give a broker a session with which `start` will let it join."""
        controller = Controller(settings or ControllerSettings(), ManualClock(), SeededChance(broker_id))
        member = self.members[broker_id] = Member(self, controller)
        member.session = self.store.connect(member.on_store_event)
        return member.session

    def start(
        self, *broker_ids: BrokerId, settings: ControllerSettings | None = None, **fields: object
    ) -> None:
        for broker_id in broker_ids:
            known = self.members.get(broker_id)
            waits = known is not None and known.controller.broker is None
            session = known.session if known is not None and waits else None
            session = session or self.connect(broker_id, settings)
            self.members[broker_id].event(
                Started(make_broker(broker_id, **fields), session.session_id, session.limits)
            )

    def kill(self, broker_id: BrokerId) -> None:
        self.members[broker_id].live_session.expire()
        self.store.deliver()

    def send(self, sender: Member, broker_id: BrokerId, order_id: int, order: Order) -> None:
        receiver = self.members[broker_id]
        receiver.receive(order)
        errors = self.answer_to_stop(broker_id, order) if isinstance(order, StopReplica) else {}
        if errors is not None:
            sender.event(BrokerAnswered(order_id, broker_id, errors))

    def ask(self, request: ControllerRequest, of: BrokerId | None = None) -> Answer:
        """Send a request to the controller (or to that broker) and return the answer."""
        self._request_ids += 1
        member = self.controller if of is None else self.members[of]
        member.event(RequestArrived(self._request_ids, request))
        assert self._request_ids in member.answers, f"{request} was not answered"
        return member.answers[self._request_ids]

    def ids_for(self, broker_id: BrokerId) -> AllocateProducerIds:
        """What a broker asks for that is registered; any other has no epoch."""
        broker = self.image.brokers.get(broker_id)
        return AllocateProducerIds(broker_id, -1 if broker is None else broker.epoch)

    def ask_for(self, kind: type[A], request: ControllerRequest) -> A:
        """The controller's answer, which is one of this kind."""
        answer = self.ask(request)
        assert isinstance(answer, kind), f"{request} was answered with {answer}"
        return answer

    @property
    def controller(self) -> Member:
        active = [member for member in self.members.values() if member.controller.is_active]
        assert len(active) == 1, f"there is one controller, not {len(active)}"
        return active[0]

    @property
    def image(self) -> ClusterImage:
        return self.controller.controller.image

    def partition(self, topic: str, number: int = 0) -> PartitionImage:
        found = self.image.partition(TopicPartition(topic, number))
        assert found is not None, f"{topic}-{number} is not known"
        return found
