"""Carries out the forwarding of what the controller decides (R17): sends, timers, answers.

    begin(request)   this broker is the controller   → it decides here
                     another broker is               → the request goes there, on a connection of its own
                     none is known                   → it waits, until its deadline

What happens to a request when is decided by `forwarding_states`. Connections are used for one request at a
time: the controller may take long to answer one, and none waits behind it.
"""

import logging
from collections.abc import Callable, Generator
from typing import Final, Protocol

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Slices, Steps
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.image import ClusterImage
from odradek.net.request_pipeline import NotConnected
from odradek.server.node.forwarding.forwarding_states import (
    DecideHere,
    Effect,
    ForwardingStates,
    GiveUp,
    Send,
)
from odradek.server.node.peers import PeerOutcome, PeerRequest, Peers
from odradek.timer import TimedCall, Timer
from odradek.wire.message import Message

_log = logging.getLogger(__name__)

ANSWER_GRACE_MS: Final = 1_000
"""How much longer than its timeout a request may take at the controller, whose answer has to come back."""


class Forwardable(Protocol):
    """A request that the controller is to decide; exactly one of its `on_answer` and `give_up` is called."""

    @property
    def deadline_ms(self) -> int:
        """Until then it waits for a controller."""

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be decided twice."""

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """The message for the controller, whose answer has an `error_code`; `left_ms` to the deadline."""

    def decide(self, ended: Callable[[], None], moved: Callable[[], None]) -> None:
        """Decide it here, and call `ended` when it is answered, or `moved` if it is not to be decided here.

        In this case neither `on_answer` nor `give_up` is called after `ended`.
        """

    def on_answer(self, answer: Message) -> None:
        """Called with the controller's answer to the message."""

    def give_up(self, code: ErrorCode) -> None:
        """Called with the error when there is no answer."""


class ControllerRole(Protocol):
    """This broker's own controller."""

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""


def known_controller(broker_id: BrokerId, own: ControllerRole, image: ClusterImage) -> BrokerId:
    """Returns the controller as the broker knows it; NO_BROKER if it was that, and no successor is known."""
    if own.is_active:
        return broker_id
    return NO_BROKER if image.controller_id == broker_id else image.controller_id


class Forwarding:
    """The requests of one broker that the controller is to decide."""

    def __init__(
        self,
        broker_id: BrokerId,
        image: ClusterImage,
        controller: ControllerRole,
        connect_peers: Callable[[], Peers],
        timer: Timer,
        slices: Slices,
    ) -> None:
        """`connect_peers` makes a `Peers` with connections of its own."""
        self._broker_id = broker_id
        self._image = image
        self._controller = controller
        self._connect_peers = connect_peers
        self._timer = timer
        self._slices = slices
        self._states = ForwardingStates(broker_id)
        # The open requests, by number.
        self._requests: dict[int, Forwardable] = {}
        self._last_number = 0
        # The connections, by lane; made when they are first needed.
        self._lanes: dict[int, Peers] = {}
        # The controller as last reported: its id and its epoch.
        self._known = (NO_BROKER, -1)
        # The call of `_tick`; None while no time matters.
        self._wake: TimedCall | None = None

    def __len__(self) -> int:
        """How many requests are open."""
        return len(self._states)

    def begin(self, request: Forwardable) -> int:
        """Let the controller decide; returns the request's number. It may be answered before this returns."""
        self._last_number += 1
        number = self._last_number
        self._requests[number] = request
        self._look_for_controller()
        self._carry_out(
            self._states.begin(number, request.deadline_ms, self._now_ms, is_repeatable=request.is_repeatable)
        )
        return number

    def is_open(self, number: int) -> bool:
        """Whether a request has no answer yet."""
        return number in self._requests

    def abandon(self, number: int) -> None:
        """Nobody waits for the answer to a request any more."""
        self._requests.pop(number, None)
        self._states.on_client_gone(number)
        self._set_timer()

    def on_order_obeyed(self) -> None:
        """See `commanded_broker.OrderObserver`."""
        self._look_for_controller()

    def _look_for_controller(self) -> None:
        """Learn who is the controller now."""
        controller_id = known_controller(self._broker_id, self._controller, self._image)
        known = controller_id, self._image.controller_epoch
        if known != self._known:
            self._known = known
            self._carry_out(self._states.on_controller(controller_id, self._now_ms))

    def close(self) -> None:
        """The broker stops: give up the requests that wait."""
        self._carry_out(self._states.close())

    @property
    def _now_ms(self) -> int:
        return self._timer.clock.monotonic_ms()

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    self._send(effect)
                case DecideHere(number):
                    self._decide(number)
                case GiveUp(number, code):
                    self._requests.pop(number).give_up(code)
        self._set_timer()

    def _send(self, effect: Send) -> None:
        request = self._requests[effect.number]

        def failed(error: Exception) -> None:
            """A bug of ours: the request cannot be sent."""
            _log.error("a request could not be forwarded", exc_info=error)
            if self._requests.pop(effect.number, None) is not None:
                request.give_up(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._carry_out(self._states.on_answered(effect.number, self._now_ms))

        self._slices.run(self._send_in_steps(effect, request), failed)

    def _send_in_steps(self, effect: Send, request: Forwardable) -> Steps[None]:
        number, lane = effect.number, effect.lane
        left_ms = max(0, request.deadline_ms - self._now_ms)
        message = yield from request.to_message(left_ms)
        if lane not in self._lanes:
            self._lanes[lane] = self._connect_peers()
        self._lanes[lane].send(
            PeerRequest(effect.broker_id, message, type(message).VERSIONS.highest, left_ms + ANSWER_GRACE_MS),
            lambda outcome: self._on_outcome(number, outcome),
        )

    def _on_outcome(self, number: int, outcome: PeerOutcome) -> None:
        self._look_for_controller()
        states, now_ms = self._states, self._now_ms
        if isinstance(outcome, NotConnected):
            self._carry_out(states.on_not_decided(number, now_ms))
        elif isinstance(outcome, ApiError):
            self._carry_out(states.on_unknown(number, now_ms))
        elif outcome.error_code == ErrorCode.NOT_CONTROLLER:  # type: ignore[attr-defined]
            self._carry_out(states.on_not_decided(number, now_ms))
        else:
            effects = states.on_answered(number, now_ms)
            request = self._requests.pop(number, None)
            if request is not None:
                request.on_answer(outcome)
            self._carry_out(effects)

    def _decide(self, number: int) -> None:
        def ended() -> None:
            self._requests.pop(number, None)
            self._carry_out(self._states.on_answered(number, self._now_ms))

        def moved() -> None:
            self._look_for_controller()
            self._carry_out(self._states.on_not_decided(number, self._now_ms))

        self._requests[number].decide(ended, moved)

    def _set_timer(self) -> None:
        wake_ms = self._states.wake_ms
        if self._wake is not None:
            if self._wake.deadline_ms == wake_ms:
                return
            self._wake.cancel()
            self._wake = None
        if wake_ms is not None:
            self._wake = TimedCall(wake_ms, self._tick)
            self._timer.add(self._wake)

    def _tick(self) -> None:
        self._wake = None
        self._look_for_controller()
        self._carry_out(self._states.tick(self._now_ms))
