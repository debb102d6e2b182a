"""Carries out what this broker's controller decides: its effects, one after another.

It decides nothing and never blocks. The controller takes events and returns effects; the result of an effect
becomes another event, handled after all earlier effects have been carried out:

    submit(CreateTopics)      -> event RequestArrived      -> StoreCall
    the session's result      -> event StoreReplied        -> ImageChanged, SendToBroker(us), Respond
                                                              deletions   orders obeyed   its answer
    our own obedience         -> event BrokerAnswered      -> nothing more
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from odradek.base.errors import ApiError, OdradekError
from odradek.base.execution import Slices, Steps
from odradek.base.ids import NO_BROKER_EPOCH, BrokerId
from odradek.metadata.controller import (
    BrokerAnswered,
    Controller,
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
from odradek.metadata.controller.event_queue import EventQueue
from odradek.metadata.controller.requests import Answer, ControllerRequest, ResourceOutcomes, ShutdownProgress
from odradek.metadata.image import BrokerGone, BrokerImage, Change, ClusterImage
from odradek.metadata.orders import OrderOutcome
from odradek.metadata.orders_on_wire import OrderRequest
from odradek.metadata.startup import IdInUse
from odradek.metadata.store import Fault, Result, SessionEnded, SessionOpened, StoreRefused, StoreReplied
from odradek.server.node.next_election import NextElection
from odradek.server.node.outgoing_orders import OutgoingOrders
from odradek.server.node.ports import Surroundings
from odradek.server.node.received_orders import Obeyed
from odradek.server.node.registration_wait import RegistrationWait
from odradek.server.node.store_session import SessionEvent, StoreSession
from odradek.server.node.unclean_elections import UncleanElections

_log = logging.getLogger(__name__)


class Obedient(Protocol):
    """The broker, as its controller sees it."""

    @property
    def has_joined(self) -> bool:
        """Whether a controller has named the broker live, and told it its roles, if it has any."""

    def obey(self, order: OrderRequest, obeyed: Obeyed) -> None:
        """Obey an order after all earlier orders; `obeyed` is called once, with the outcome."""

    def on_changes(self, changes: tuple[Change, ...]) -> None:
        """Changes of the controller's image, of which the broker has no order: deletions that are done."""


class ControllerHost:
    """The controller of one broker, with its session and the broker that it commands."""

    def __init__(
        self,
        controller: Controller,
        broker_id: BrokerId,
        session: StoreSession,
        surroundings: Surroundings,
        slices: Slices,
        session_timeout_ms: Callable[[], int],
    ) -> None:
        """`session_timeout_ms`: after how long the session of a broker that died ends at the latest."""
        self._controller = controller
        self._session = session
        self._broker_id = broker_id
        self._broker: Obedient | None = None
        """The broker that it commands; None before `start`, and until then the controller decides nothing."""
        self._defer = surroundings.defer
        self._slices = slices
        self._time = surroundings.turn_time
        """What the controller does counts in the time of the turn in which its events come."""
        self._orders = OutgoingOrders(
            broker_id,
            surroundings.peers,
            self._obey,
            slices,
            surroundings.defer,
            surroundings.timer,
            self._on_answered,
        )
        self.unclean_elections = UncleanElections(surroundings.defer)
        """Elections of leaders that may lack acknowledged records."""
        # The callbacks that wait for answers, by the number of the request.
        self._callers: dict[int, Callable[[Answer], None]] = {}
        self._last_request_id = 0
        # Events that arrived while the effects of another event were carried out.
        self._events: deque[ControllerEvent] = deque()
        self._busy = False
        # The session's store operations that have no result yet, and the turns that have not run yet.
        self._with_store = 0
        self._turns = 0
        # The registration that this broker writes in every session; None before `start`.
        self._registration: BrokerImage | None = None
        # The last registration under this id of another session; NO_BROKER_EPOCH if none is known.
        self._former_epoch = NO_BROKER_EPOCH
        self._registration_wait = RegistrationWait(
            broker_id, surroundings.timer, session_timeout_ms, self._on_not_registered
        )
        self._next_election = NextElection(surroundings.timer, lambda: self._take(ElectionDue()))
        # Called once: with None when the broker has joined and nothing is under way, or with the error.
        self._when_joined: Callable[[OdradekError | None], None] | None = None

    @property
    def registered_epoch(self) -> int:
        """The epoch of this broker's last registration; NO_EPOCH before the first."""
        return self._controller.broker_epoch

    @property
    def least_epoch(self) -> int:
        """Orders that name a lower broker epoch are for an earlier registration (R16)."""
        return max(self._controller.broker_epoch, self._former_epoch + 1)

    def note_former_registration(self, epoch: int) -> None:
        """Called with the epoch of a registration under this id that another session holds."""
        self._former_epoch = max(self._former_epoch, epoch)

    @property
    def is_registered(self) -> bool:
        """Whether this broker is registered in the present session."""
        return self._controller.broker is not None

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self._controller.is_active

    @property
    def controlled(self) -> ClusterImage | None:
        """The cluster as this broker controls it, for reading only; None where it is not the controller."""
        return self._controller.image if self._controller.is_active else None

    @property
    def events(self) -> EventQueue:
        """The controller's events that wait."""
        return self._controller.events

    def is_deleting(self, topic: str) -> bool:
        """See `Controller.is_deleting`."""
        return self._controller.is_deleting(topic)

    def start(
        self,
        registration: BrokerImage,
        broker: Obedient,
        joined: Callable[[OdradekError | None], None],
    ) -> None:
        """Register `broker` in the cluster and command it.

        `joined` is called with None when the broker has obeyed the orders for all that it is to lead, or with
        the error that prevents it from joining.
        """
        self._broker = broker
        self._when_joined = joined
        self._registration = registration
        self._session.join(self)
        self._session.open()

    def submit(self, request: ControllerRequest, answered: Callable[[Answer], None]) -> None:
        """Ask the controller; `answered` is called once, in a later turn."""
        self._last_request_id += 1
        self._callers[self._last_request_id] = answered
        self._take(RequestArrived(self._last_request_id, request))

    def after_orders(self, broker_id: BrokerId, then: Callable[[], None]) -> None:
        """Call `then` in a later turn, once a broker has obeyed the orders sent to it so far, or is gone."""
        self._orders.after_all(broker_id, then)

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`."""
        match event:
            case SessionOpened(session_id):
                assert self._registration is not None, "a session is opened by `start`"
                self._take(Started(self._registration, session_id, self._session.limits))
            case SessionEnded():
                self._with_store = 0
                self._take(event)
            case _:
                self._take(event)

    def _take(self, event: ControllerEvent) -> None:
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        self._time.begin()
        try:
            while self._events:
                for effect in self._controller.on_event(self._events.popleft()):
                    self._carry_out(effect)
        finally:
            self._time.end()
            self._busy = False
        if self._controller.broker is not None:
            self._registration_wait.end()
        self.check_joined()

    def check_joined(self) -> None:
        """Call `joined` if the broker has joined, by an order of this controller or of another broker's."""
        joined = self._when_joined
        is_idle = (
            not self._turns and not self._with_store and not self._orders.has_unanswered(self._broker_id)
        )
        if joined is not None and is_idle and self.is_registered and self._commanded.has_joined:
            self._when_joined = None
            joined(None)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StoreCall(call_id, operation):
                self._with_store += 1
                self._session.submit(operation, lambda result: self._on_result(call_id, result))
            case TurnWanted(call_id):
                self._turns += 1
                self._slices.run(self._going_on(call_id), _not_done)
            case SendToBroker(broker_id, order_id, order):
                self._orders.send(broker_id, order_id, order)
            case Respond(request_id, answer):
                self._respond(self._callers.pop(request_id), answer)
            case ImageChanged(changes):
                for change in changes:
                    if isinstance(change, BrokerGone):
                        self._orders.forget(change.broker_id)
                self._commanded.on_changes(changes)
            case ElectedUncleanly():
                self.unclean_elections.note(effect)
            case Elected():
                self._orders.forget_all()
                _log.info("this broker is the controller")
            case Resigned():
                self._orders.forget_all()
                _log.info("this broker is not the controller any more")
            case ElectionFailed(error):
                if not _waits_for_connection(error):
                    self._next_election.try_soon()
            case EventFailed(event, error):
                self._on_failed(event, error)

    def _respond(self, answered: Callable[[Answer], None], answer: Answer) -> None:
        """Answer in a later turn.

        Before that changed settings are in force on this broker (R18), and all brokers know that they lead in
        place of one that stops.
        """
        match answer:
            case ResourceOutcomes():
                self._orders.after_all(self._broker_id, lambda: answered(answer))
            case ShutdownProgress():
                self._orders.after_everyone(lambda: answered(answer))
            case _:
                self._defer(lambda: answered(answer))

    @property
    def _commanded(self) -> Obedient:
        assert self._broker is not None, "the controller decides nothing before `start`"
        return self._broker

    def _obey(self, order: OrderRequest, obeyed: Obeyed) -> None:
        self._commanded.obey(order, obeyed)

    def _on_failed(self, event: ControllerEvent, error: OdradekError) -> None:
        joined = self._when_joined
        if _waits_for_connection(error):
            _log.warning("%s; waiting for the metadata store", error)  # it continues when the store is back
        elif isinstance(error, IdInUse):
            self.note_former_registration(error.epoch)
            self._registration_wait.begin()
        elif isinstance(event, Started) and joined is not None:
            self._when_joined = None
            self._next_election.cancel()
            joined(error)
        else:
            _log.error("the controller could not deal with %s: %s", type(event).__name__, error)

    def _on_not_registered(self, error: ApiError) -> None:
        """The wait for the other session took too long; the controller's core goes on trying."""
        joined, self._when_joined = self._when_joined, None
        if joined is not None:
            joined(error)
        else:
            _log.error("this broker is not registered: %s", error)

    def _on_result(self, call_id: int, result: Result) -> None:
        self._with_store -= 1
        self._take(StoreReplied(call_id, result))

    def _on_answered(self, order_id: int, broker_id: BrokerId, outcome: OrderOutcome) -> None:
        self._take(
            BrokerAnswered(
                order_id, broker_id, outcome.partition_errors, outcome.error_code, outcome.log_ends
            )
        )

    def _going_on(self, call_id: int) -> Steps[None]:
        """Continue a decision in this turn of the loop while the turn has time, else in a later turn."""
        yield
        self._turns -= 1
        self._take(TurnCame(call_id))


def _waits_for_connection(error: OdradekError) -> bool:
    """Whether `Reconnected` follows when the metadata store is back."""
    return isinstance(error, StoreRefused) and error.failed.fault is Fault.CONNECTION_LOSS


def _not_done(error: Exception) -> None:
    """A bug of ours."""
    _log.error("the controller could not go on", exc_info=error)
