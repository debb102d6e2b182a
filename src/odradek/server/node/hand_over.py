"""Moves the leaderships of a broker that is about to stop to other brokers: its side of ControlledShutdown.

The controller moves them (`metadata/controller/leader_moves`); this broker asks it, wherever it is, until it
leads nothing that another replica in sync could lead, or until it has asked often enough:

    state      event                                          next state
    ---------  ---------------------------------------------  ------------------------------------------------
    (new)      begin                                          ASKING
    ASKING     the answer: nothing remains                    ENDED
    ASKING     the answer: some partitions remain; an error;  RESTING, or after the last attempt ENDED, and
               no answer within SHUTDOWN_TIMEOUT_MS           also if all brokers of the cluster stop, or if
                                                              this one has no connection to the store
    RESTING    the backoff is over                            ASKING, or ENDED if no other broker lives
    any        the session with the store ends                ENDED: the others lead what this one led, or,
                                                              without the store, nobody can move anything

Settings: `controlled.shutdown.enable`, `controlled.shutdown.max.retries` (all attempts, the first included),
`controlled.shutdown.retry.backoff.ms`. From `begin` on this broker follows no partition under a new leader
epoch, so that it never joins an ISR that the controller has taken it out of (R16, KIP-841). Everything else
goes on until the end: requests are served, orders obeyed, and partitions that are led here replicated.
"""

import logging
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from odradek.base.execution import Defer
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.base.some_names import some_of
from odradek.metadata.controller.requests import Answer, ControlledShutdown, Refused, ShutdownProgress
from odradek.metadata.image import ClusterImage
from odradek.metadata.store import SessionEnded
from odradek.server.node.forwarding.any_controller import SHUTDOWN_TIMEOUT_MS, ControllerPort
from odradek.server.node.store_session import SessionEvent, SessionUser
from odradek.timer import TimedCall, Timer

_log = logging.getLogger(__name__)


class Registration(Protocol):
    """This broker's registration with the metadata store."""

    @property
    def is_registered(self) -> bool:
        """Whether this broker is registered in the present session."""

    @property
    def registered_epoch(self) -> int:
        """The epoch of its last registration."""


class Followed(Protocol):
    """The fetchers of this broker."""

    def follow_nothing_new(self) -> None:
        """Follow no partition under a new leader epoch."""


class Session(Protocol):
    """This broker's session with the metadata store."""

    @property
    def is_connected(self) -> bool:
        """Whether there is a session, and a connection for it as far as is known."""

    def join(self, user: SessionUser) -> None:
        """Give `user` the events from now on."""

    def leave(self, user: SessionUser) -> None:
        """Give `user` no more events."""


class State(Enum):
    """Where the hand-over is."""

    NEW = auto()
    ASKING = auto()
    RESTING = auto()
    ENDED = auto()


class HandOver:
    """The hand-over of one broker's leaderships; `begin` once."""

    def __init__(
        self,
        broker_id: BrokerId,
        any_controller: ControllerPort,
        registration: Registration,
        session: Session,
        followed: Followed,
        image: ClusterImage,
        timer: Timer,
        defer: Defer,
        settings: Callable[[], BrokerSettings],
        all_stop: Callable[[], bool],
    ) -> None:
        """`image` is this broker's view of the cluster; see `Surroundings.all_stop`."""
        self._broker_id = broker_id
        self._any_controller = any_controller
        self._registration = registration
        self._session = session
        self._followed = followed
        self._image = image
        self._timer = timer
        self._defer = defer
        self._settings = settings
        self._all_stop = all_stop
        self.state = State.NEW
        """ASKING and RESTING: `_wake` is in the timer. Otherwise it is not."""
        # How often the controller was asked: the number of the attempt.
        self._attempts = 0
        # What ends this state if nothing else does.
        self._wake: TimedCall | None = None
        # Called once, at the end; None before `begin`.
        self._ended: Callable[[], None] | None = None
        self._begun_ms = 0

    @property
    def is_needed(self) -> bool:
        """Whether a stop has to begin with it: there are other brokers, and the controller knows this one."""
        settings = self._settings()
        return (
            settings.controlled_shutdown_enable
            and settings.controlled_shutdown_max_retries > 0
            and self._registration.is_registered
            and self._has_others
        )

    @property
    def _has_others(self) -> bool:
        return any(broker_id != self._broker_id for broker_id in self._image.brokers)

    def begin(self, ended: Callable[[], None]) -> None:
        """Begin; `ended` is called once, in a later turn, however it ends."""
        assert self.state is State.NEW, "a broker stops once"
        self._ended = ended
        self._begun_ms = self._timer.clock.monotonic_ms()
        self._followed.follow_nothing_new()
        self._session.join(self)
        self._ask()

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`."""
        if isinstance(event, SessionEnded) and self.state is not State.ENDED:
            _log.warning("this broker stops with its leaderships: its session with the metadata store ended")
            self._end()

    def _ask(self) -> None:
        if not self._has_others:
            _log.info("no other broker lives that could lead what is led here")
            self._end()
            return
        self.state = State.ASKING
        self._attempts += 1
        attempt = self._attempts
        self._wake_after(
            SHUTDOWN_TIMEOUT_MS, lambda: self._on_failed(f"there is no answer; {self._led_words()}")
        )
        request = ControlledShutdown(self._broker_id, self._registration.registered_epoch)
        self._any_controller.submit(request, lambda answer: self._on_answer(attempt, answer))

    def _on_answer(self, attempt: int, answer: Answer) -> None:
        if self.state is not State.ASKING or attempt != self._attempts:
            return  # it comes too late
        if isinstance(answer, Refused):
            self._on_failed(f"{answer.error.name}: {answer.message}; {self._led_words()}")
            return
        assert isinstance(answer, ShutdownProgress), answer
        if answer.remaining:
            self._on_failed(f"no other replica in sync can lead {some_of(answer.remaining)}")
            return
        took_ms = self._timer.clock.monotonic_ms() - self._begun_ms
        _log.info("other brokers lead what was led here, after %d ms", took_ms)
        self._end()

    def _on_failed(self, reason: str) -> None:
        if not self._session.is_connected:
            # Most likely the controller has none either, and it can decide nothing without the store.
            _log.warning(
                "this broker stops with its leaderships: it has no connection to the metadata store; %s",
                reason,
            )
            self._end()
            return
        settings = self._settings()
        if self._attempts >= settings.controlled_shutdown_max_retries or self._all_stop():
            _log.warning("this broker stops although not all its leaderships have moved: %s", reason)
            self._end()
            return
        self.state = State.RESTING
        backoff_ms = settings.controlled_shutdown_retry_backoff_ms
        _log.info("not all leaderships have moved: %s; the next attempt is in %d ms", reason, backoff_ms)
        self._wake_after(backoff_ms, self._ask)

    def _led_words(self) -> str:
        """What this broker leads as far as it knows, in words."""
        led = [
            TopicPartition(topic.name, number)
            for topic in self._image.live_topics()
            for number, state in topic.partitions.items()
            if state.leader == self._broker_id
        ]
        return f"led here: {some_of(led) or 'nothing'}"

    def _wake_after(self, delay_ms: int, call: Callable[[], None]) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = TimedCall(self._timer.clock.monotonic_ms() + delay_ms, call)
        self._timer.add(self._wake)

    def _end(self) -> None:
        self.state = State.ENDED
        self._session.leave(self)
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        assert self._ended is not None, "what has not begun does not end"
        self._defer(self._ended)
