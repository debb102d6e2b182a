"""The controller's core without I/O: one event in, the effects that must follow out.

It never waits and makes no outside calls. Events are processed one after another: while a store operation is
pending, or long work pauses for a turn of the loop, later events queue up (at most REQUESTS_WAITING_MAX
requests). So every decision uses an image with all earlier decisions. The course of a request:

    on_event(RequestArrived(7, CreateTopics(...)))  -> [StoreCall(0, Multi(...))]
    on_event(StoreReplied(0, Committed(...)))       -> [ImageChanged(...), SendToBroker(...), Respond(7, ...)]

Every broker has a `Controller`. The one whose broker holds /controller is active; the others only keep their
registration alive, watch /controller, and refuse requests with NOT_CONTROLLER. A broker that finds the
registration of another session cannot join (`EventFailed`); it tries again whenever that node has gone.

A write whose answer was lost is looked up in the store (`unknown_outcomes`). If it stays unknown
whether it was done, the image may be wrong: it is loaded again before the next event.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError, code_of
from odradek.base.execution import Pace
from odradek.base.ids import NO_EPOCH, BrokerId
from odradek.metadata import paths
from odradek.metadata.controller import membership
from odradek.metadata.controller.active import ActiveController
from odradek.metadata.controller.answering import ControllerSettings
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.event_queue import EventQueue
from odradek.metadata.controller.events import (
    BrokerAnswered,
    ControllerEvent,
    Effect,
    Elected,
    ElectionDue,
    ElectionFailed,
    EventFailed,
    ImageChanged,
    RequestArrived,
    Resigned,
    Respond,
    Started,
    StoreCall,
    TurnCame,
    TurnWanted,
)
from odradek.metadata.controller.fenced_writes import Deposed, FencedWrites
from odradek.metadata.controller.requests import Refused
from odradek.metadata.controller.settings_of_topics import SettingsOfTopics
from odradek.metadata.image import BrokerImage, ClusterImage, ClusterNamed
from odradek.metadata.startup import load_image
from odradek.metadata.store import (
    NO_SESSION,
    Committed,
    Created,
    Fault,
    Reconnected,
    Result,
    SessionEnded,
    StoreLimits,
    StoreRefused,
    StoreReplied,
    StoreSteps,
    WatchFired,
)

REQUESTS_WAITING_MAX = 1000
_REFUSALS: Final = {
    Fault.SESSION_EXPIRED: ErrorCode.NOT_CONTROLLER,
    Fault.CONNECTION_LOSS: ErrorCode.REQUEST_TIMED_OUT,
}
"""The answers after faults that are not the store's own; after CONNECTION_LOSS the outcome is unknown."""


class Controller:
    """One broker's controller; see the module's head."""

    def __init__(self, settings: ControllerSettings, clock: Clock, chance: Chance) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        # The cluster as the controller knows it; true only while `is_active`.
        self.image = ClusterImage()
        # This broker as it registered, with its epoch; None before that and after the session ended.
        self.broker: BrokerImage | None = None
        self.broker_epoch = NO_EPOCH
        """The epoch of this broker's last registration, which may have ended; NO_EPOCH before the first."""
        # What this broker registers as; None before it joins, and between sessions.
        self._registration: BrokerImage | None = None
        # The session with the store that this broker joined with; NO_SESSION while it has none.
        self._session = NO_SESSION
        # What the store takes in one write.
        self._limits = StoreLimits()
        # What the elected controller does; None while another broker, or none, is the controller.
        self._active: ActiveController | None = None
        # The event in hand with its process; both None when there is none, never one alone.
        self._event: ControllerEvent | None = None
        self._process: StoreSteps[None] | None = None
        # The number of the store's call, or of the turn, that the process waits for.
        self._awaited_call = -1
        self.events = EventQueue(clock)
        """Events to come; at most REQUESTS_WAITING_MAX of them are requests."""
        # The version of /controller_epoch that this broker wrote when it was elected last.
        self._epoch_version = -1
        # Whether the image must be read again before anything is decided on it.
        self._is_stale = False
        # Whether the process of the event in hand has written to the store, or changed the image.
        self._has_changed = False
        # What this event leads to, in order; empty between events.
        self._effects: list[Effect] = []
        self._order_ids = count()

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, as far as it knows."""
        return self._active is not None

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic is being deleted, and its brokers live: its name will be free in a moment.

        False where this broker is not the controller.
        """
        return self._active is not None and self._active.is_deleting(topic)

    def on_event(self, event: ControllerEvent) -> list[Effect]:
        """Take one event; the effects are to be carried out in order."""
        match event:
            case StoreReplied(call_id, result):
                if call_id == self._awaited_call and self._process is not None:
                    self._advance(result)
            case TurnCame(call_id):
                if call_id == self._awaited_call and self._process is not None:
                    self._advance(None)
            case SessionEnded():
                self._end_session()
            case RequestArrived(request_id) if self.events.requests >= REQUESTS_WAITING_MAX:
                busy = f"the controller has {REQUESTS_WAITING_MAX} requests waiting"
                self._effects.append(Respond(request_id, Refused(ErrorCode.REQUEST_TIMED_OUT, busy)))
            case _:
                self.events.append(event)
        self._take_next()
        effects, self._effects[:] = list(self._effects), []
        return effects

    # --- one event after another

    def _take_next(self) -> None:
        """Begin the events that wait, until one of them has to wait for the store, or a step is full.

        Most answers of brokers need no store, and after a take-over hundreds wait.
        """
        pace = Pace()
        while self._process is None and self.events:
            if pace.is_over():
                self._awaited_call += 1
                self._effects.append(TurnWanted(self._awaited_call))
                break
            event = self._event = self.events.pop()
            self._process = self._process_of(event)
            self._has_changed = False
            self._advance(None)

    def _advance(self, result: Result | None) -> None:
        """Run the process up to its next operation or its end."""
        assert self._process is not None
        assert self._event is not None
        self._has_changed |= isinstance(result, Committed | Created)
        before = len(self._effects)
        try:
            step = next(self._process) if result is None else self._process.send(result)
        except StopIteration:
            self._event = self._process = None
        except OdradekError as error:
            given_up = self._event
            self._event = self._process = None
            self._note_changes(before)
            self._give_up(given_up, error)
        else:
            self._note_changes(before)
            self._awaited_call += 1
            call_id = self._awaited_call
            self._effects.append(TurnWanted(call_id) if step is None else StoreCall(call_id, step))

    def _note_changes(self, before: int) -> None:
        """Look at the effects of a step, which come after `before` others."""
        self._has_changed |= any(isinstance(effect, ImageChanged) for effect in self._effects[before:])

    def _process_of(self, event: ControllerEvent) -> StoreSteps[None]:
        """Returns the process that handles an event."""
        if self._is_stale and not isinstance(event, Started):
            yield from self._read_again()
        match event:
            case Started(registration, session, limits):
                self._limits = limits
                yield from self._join(registration, session)
            case WatchFired(paths.CONTROLLER) | ElectionDue():
                yield from self._controller_changed()
            case WatchFired(path) if self._waits_for(path):
                yield from self._join_again()
            case WatchFired(paths.BROKER_IDS) if self._active is not None:
                yield from self._active.brokers_changed()
            case WatchFired(paths.ISR_CHANGES) if self._active is not None:
                yield from self._active.isr_changes()
            case WatchFired(paths.LOG_DIR_EVENTS) if self._active is not None:
                yield from self._active.log_dir_events()
            case WatchFired(path) if self._active is not None:
                written = paths.partition_of_state(path)
                if written is not None:
                    yield from self._active.partition_written(written)
            case Reconnected():
                yield from self._reconnected()
            case BrokerAnswered() if self._active is not None:
                yield from self._active.broker_answered(event)
            case RequestArrived(request_id, request):
                if self._active is None:
                    raise ApiError(ErrorCode.NOT_CONTROLLER, "this broker is not the controller")
                answer = yield from self._active.answer(request)
                self._effects.append(Respond(request_id, answer))

    def _give_up(self, event: ControllerEvent, error: OdradekError) -> None:
        """A process ended early: answer its request, and see what the failure means for this controller."""
        code = code_of(error)
        if isinstance(error, Deposed):
            self._resign()
            self.events.append_first(ElectionDue())
            code = ErrorCode.NOT_CONTROLLER
        elif isinstance(error, StoreRefused):
            # What the store's disk refused was not done. So a request refused at its first write leaves the
            # image true. Clients repeat such requests many times a second while the disk is full.
            is_refused_whole = error.failed.fault is Fault.STORE_FAILED and not self._has_changed
            self._is_stale = self._active is not None and not is_refused_whole
            if error.failed.fault is Fault.STORE_FAILED and not isinstance(event, RequestArrived):
                # A new take-over would order everything again, and the same answers would lead to the same
                # write: while the store's disk is full that went round fifty times a second.
                self._resign()
                self._effects.append(ElectionFailed(error))
            code = _REFUSALS.get(error.failed.fault, ErrorCode.KAFKA_STORAGE_ERROR)
        if isinstance(event, RequestArrived):
            self._effects.append(Respond(event.request_id, Refused(code, str(error))))
        else:
            self._effects.append(EventFailed(event, error))

    # --- joining, winning, losing

    def _join(self, registration: BrokerImage, session: int) -> StoreSteps[None]:
        self._session = session
        self._registration = registration
        cluster_id, broker = yield from membership.join(
            registration, session, self._chance, self._clock.wall_ms()
        )
        self.broker = broker
        self.broker_epoch = broker.epoch
        self.image.apply(ClusterNamed(cluster_id))
        yield from self._compete(broker.broker_id)

    def _waits_for(self, path: str) -> bool:
        """Whether this broker registers when the node at that path, of another session, is gone."""
        registration = self._registration
        return (
            self.broker is None and registration is not None and path == paths.broker(registration.broker_id)
        )

    def _join_again(self) -> StoreSteps[None]:
        """Join after an attempt that failed, if there was one in this session."""
        if self._registration is not None:
            yield from self._join(self._registration, self._session)

    def _controller_changed(self) -> StoreSteps[None]:
        if self.broker is None:
            yield from self._join_again()  # its registration may be what the store's disk refused
            return
        broker_id = self.broker.broker_id
        if self._active is not None:
            if (yield from membership.is_held_by(self._session)):
                return
            self._resign()
        yield from self._compete(broker_id)

    def _reconnected(self) -> StoreSteps[None]:
        """Events of watches may be lost, and operations in flight may have failed: read everything again."""
        if self.broker is None:
            yield from self._join_again()
            return
        yield from self._controller_changed()
        if self._active is not None:
            yield from self._active.reconnected()

    def _compete(self, broker_id: BrokerId) -> StoreSteps[None]:
        with self._election():
            epoch_version = yield from membership.compete(broker_id, self._session, self._clock.wall_ms())
            if epoch_version is not None:
                yield from self._take_over(broker_id, epoch_version)

    @contextmanager
    def _election(self) -> Iterator[None]:
        """A broker whose election fails half-way decides nothing, although it may hold its claim."""
        try:
            yield
        except OdradekError as error:
            self._resign()
            self._effects.append(ElectionFailed(error))
            raise

    def _take_over(self, broker_id: BrokerId, epoch_version: int) -> StoreSteps[None]:
        """Read the cluster and begin to decide for it; the watches of what is read stay armed."""
        self.image = yield from load_image()
        self._epoch_version = epoch_version
        cluster = ControlledCluster(
            self.image,
            FencedWrites(self.image.controller_epoch, epoch_version, self._limits),
            SettingsOfTopics(
                self.image,
                broker_id,
                unclean_election=self._settings.unclean_leader_election_enable,
                min_isr=self._settings.min_insync_replicas,
            ),
            self._effects,
            self._order_ids,
        )
        self._active = ActiveController(cluster, self._settings, self._chance)
        self._is_stale = False
        self._effects.append(Elected())
        yield from self._active.take_over()
        yield from self._active.notices()

    def _read_again(self) -> StoreSteps[None]:
        """After a write of unknown outcome: the same controller, with what the store has now."""
        assert self.broker is not None
        if (yield from membership.is_held_by(self._session)):
            with self._election():
                yield from self._take_over(self.broker.broker_id, self._epoch_version)
        else:
            self._resign()
            yield from self._compete(self.broker.broker_id)

    def _resign(self) -> None:
        if self._active is not None:
            self._active = None
            self._effects.append(Resigned())
        self._is_stale = False

    def _end_session(self) -> None:
        """Registration and controllership are gone, and so is every question still open."""
        if self._process is not None:
            self._process.close()
        in_hand, waiting = self._event, self.events.clear()
        self._event = self._process = None
        self._resign()
        self.broker = None
        self._session = NO_SESSION
        self._registration = None
        for event in (in_hand, *waiting):
            if isinstance(event, RequestArrived):
                # A write of the request in hand may have been executed; the others were not begun.
                code = ErrorCode.REQUEST_TIMED_OUT if event is in_hand else ErrorCode.NOT_CONTROLLER
                lost = Refused(code, "the session with the metadata store ended")
                self._effects.append(Respond(event.request_id, lost))
