"""Carries out what this broker's controller decides: its effects, one after another.

Law: it decides nothing and waits for nothing. Events go in, effects come out, and effects that answer at once
(messages to this very broker) become events again, after the effects before them are done:

    submit(CreateTopics)      -> event RequestArrived      -> StoreCall
    the store replies         -> event StoreReplied        -> ImageChanged, SendToBroker(us), Respond
                                                              settings    orders obeyed   the caller is told
    our own obedience         -> event BrokerAnswered      -> nothing more
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.execution import Defer
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller import (
    BrokerAnswered,
    Controller,
    ControllerEvent,
    Effect,
    Elected,
    EventFailed,
    ImageChanged,
    RequestArrived,
    Resigned,
    Respond,
    SendToBroker,
    SessionEnded,
    Started,
    StoreCall,
    StoreReplied,
    TurnCame,
    TurnWanted,
    WatchSeen,
)
from odradek.metadata.controller.requests import Answer, ControllerRequest
from odradek.metadata.image import BrokerImage, Change
from odradek.metadata.messages import BrokerMessage
from odradek.metadata.store import MetadataStore, Result, SessionExpired, StoreEvent, WatchFired

_log = logging.getLogger(__name__)


class Obedient(Protocol):
    """The broker, as its controller sees it."""

    broker_id: BrokerId

    @property
    def has_joined(self) -> bool:
        """Whether it knows itself for a live member of its cluster."""

    def obey(
        self, message: BrokerMessage, obeyed: Callable[[Mapping[TopicPartition, ErrorCode]], None]
    ) -> None:
        """Carry out an order after all earlier ones; `obeyed` is called once, with the partitions' errors."""

    def take_changes(self, changes: tuple[Change, ...]) -> None:
        """The cluster's settings changed."""


class ControllerHost:
    """The controller with a store, and a broker to command."""

    def __init__(self, controller: Controller, store: MetadataStore, broker: Obedient, defer: Defer) -> None:
        self._controller = controller
        self._store = store
        self._broker = broker
        self._defer = defer
        # Who waits for which answer, by the number of the request.
        self._callers: dict[int, Callable[[Answer], None]] = {}
        self._last_request_id = 0
        # Events that came while another's effects were carried out.
        self._events: deque[ControllerEvent] = deque()
        self._busy = False
        # Operations that the store has not answered, turns that have not come, orders not obeyed yet.
        self._under_way = 0
        # Called once: with None when the broker has joined and nothing is under way, or with the error.
        self._when_joined: Callable[[OdradekError | None], None] | None = None

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self._controller.is_active

    def start(self, registration: BrokerImage, joined: Callable[[OdradekError | None], None]) -> None:
        """Join the cluster; `joined` is called when the broker has been told all that it is to lead.

        Or with the error that keeps it from joining.
        """
        self._when_joined = joined
        self._take(Started(registration, self._store.session_id))

    def submit(self, request: ControllerRequest, answered: Callable[[Answer], None]) -> None:
        """Ask the controller; `answered` is called once, never before this call has begun to return."""
        self._last_request_id += 1
        self._callers[self._last_request_id] = answered
        self._take(RequestArrived(self._last_request_id, request))

    def on_store_event(self, event: StoreEvent) -> None:
        """A watch fired, or the session is over."""
        match event:
            case WatchFired(path):
                self._take(WatchSeen(path))
            case SessionExpired():
                self._take(SessionEnded())

    def _take(self, event: ControllerEvent) -> None:
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                for effect in self._controller.on_event(self._events.popleft()):
                    self._carry_out(effect)
        finally:
            self._busy = False
        joined = self._when_joined
        if joined is not None and not self._under_way and self._broker.has_joined:
            self._when_joined = None
            joined(None)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StoreCall(call_id, operation):
                self._under_way += 1
                self._store.submit(operation, lambda result: self._on_result(call_id, result))
            case TurnWanted(call_id):
                self._under_way += 1
                self._defer(lambda: self._on_turn(call_id))
            case SendToBroker(broker_id, message_id, message):
                assert broker_id == self._broker.broker_id, "other brokers are reached over the network"
                self._under_way += 1
                self._broker.obey(message, lambda errors: self._on_obeyed(message_id, errors))
            case Respond(request_id, answer):
                self._callers.pop(request_id)(answer)
            case ImageChanged(changes):
                self._broker.take_changes(changes)
            case Elected():
                _log.info("this broker is the controller")
            case Resigned():
                _log.info("this broker is not the controller any more")
            case EventFailed(event, error):
                self._on_failed(event, error)

    def _on_failed(self, event: ControllerEvent, error: OdradekError) -> None:
        joined = self._when_joined
        if isinstance(event, Started) and joined is not None:
            self._when_joined = None
            joined(error)
        else:
            _log.error("the controller could not deal with %s: %s", type(event).__name__, error)

    def _on_result(self, call_id: int, result: Result) -> None:
        self._under_way -= 1
        self._take(StoreReplied(call_id, result))

    def _on_obeyed(self, message_id: int, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        self._under_way -= 1
        self._take(BrokerAnswered(message_id, self._broker.broker_id, errors))

    def _on_turn(self, call_id: int) -> None:
        self._under_way -= 1
        self._take(TurnCame(call_id))
