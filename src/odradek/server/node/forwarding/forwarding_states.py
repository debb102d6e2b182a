"""The states of the requests that the controller is to decide, without I/O (R17).

A request waits until a controller is known, is sent to it, and ends with its answer:

    state      event                              next state and effects
    ---------  ---------------------------------  ---------------------------------------------------
    (new)      begin                              WAITING, or nothing: REQUESTS_MAX requests are open
    WAITING    a controller is known              SENT: Send, or DecideHere if it is this broker
    WAITING    its time is over                   ended: GiveUp(REQUEST_TIMED_OUT)
    WAITING    its client has gone                ended
    SENT       it was not decided                 WAITING, for RETRY_MS or until the next controller
    SENT       its outcome is unknown             ended: GiveUp(REQUEST_TIMED_OUT); WAITING if repeatable
    SENT       it is answered                     ended
    SENT       its client has gone                ABANDONED
    ABANDONED  any outcome                        ended

"Not decided" is certain: the controller could not be reached, or it says that it is not the controller.

Invariants: a request whose outcome is unknown is sent again only if it is repeatable, so that nothing is
decided twice. A request ends once. At most LANES requests are with another broker at a time, the oldest
first; the others wait here, where nothing has happened to them if the controller dies. A request that this
broker decides itself takes no lane.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.base.values import value

RETRY_MS: Final = 100
"""How long a request waits before it is sent again to a controller that has not decided it."""
REQUESTS_MAX: Final = 1_000
"""How many requests of one broker may be open."""
LANES: Final = 8
"""How many requests of one broker may be with the controller at a time, each on a connection of its own."""


class State(Enum):
    """Where an open request is."""

    WAITING = auto()
    SENT = auto()
    ABANDONED = auto()


@value
class Send:
    """Send the request to this broker."""

    number: int
    broker_id: BrokerId
    lane: int


@value
class DecideHere:
    """Decide the request: this broker is the controller."""

    number: int


@value
class GiveUp:
    """Answer the request with this error."""

    number: int
    code: ErrorCode


Effect: TypeAlias = Send | DecideHere | GiveUp

_HERE: Final = -1
"""The lane of a request that is decided here."""


@dataclass(slots=True)
class _Request:
    """An open request."""

    deadline_ms: int
    """Until then it waits for a controller."""
    is_repeatable: bool
    """Whether it may be decided twice."""
    retry_ms: int
    """While WAITING: not sent before that time."""
    state: State = State.WAITING
    lane: int = _HERE
    """While SENT or ABANDONED: its lane, or _HERE."""
    news: int = 0
    """While SENT or ABANDONED: the number of the last news of the controller when it was sent."""


class ForwardingStates:
    """The open requests of one broker. Each method returns the effects, to be carried out in order."""

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        # Who decides; NO_BROKER while it is not known.
        self._controller_id = NO_BROKER
        # The number of the last news of the controller.
        self._news = 0
        # All open requests by number, the oldest first.
        self._requests: dict[int, _Request] = {}
        # Those that are WAITING, the oldest first (the values mean nothing).
        self._waiting: dict[int, None] = {}
        # The lanes that are free; the last one is taken next.
        self._free = list(reversed(range(LANES)))

    def __len__(self) -> int:
        """How many requests are open."""
        return len(self._requests)

    @property
    def waiting(self) -> int:
        """How many requests wait for a controller or for a lane."""
        return len(self._waiting)

    @property
    def wake_ms(self) -> int | None:
        """When `tick` has to be called; None while only other events matter."""
        if not self._waiting:
            return None
        requests = [self._requests[number] for number in self._waiting]
        ends = min(request.deadline_ms for request in requests)
        if self._controller_id == NO_BROKER or not self._has_room:
            return ends
        return min(ends, *(request.retry_ms for request in requests))

    def begin(
        self, number: int, deadline_ms: int, now_ms: int, *, is_repeatable: bool = False
    ) -> list[Effect]:
        """A new request, with a number that was never used."""
        if len(self._requests) >= REQUESTS_MAX:
            return [GiveUp(number, ErrorCode.REQUEST_TIMED_OUT)]
        self._requests[number] = _Request(deadline_ms, is_repeatable, now_ms)
        self._waiting[number] = None
        return self._send_waiting(now_ms)

    def on_controller(self, controller_id: BrokerId, now_ms: int) -> list[Effect]:
        """There is a new controller or a new epoch of it, or none is known (NO_BROKER)."""
        self._news += 1
        self._controller_id = controller_id
        for number in self._waiting:
            self._requests[number].retry_ms = now_ms
        return self._send_waiting(now_ms)

    def tick(self, now_ms: int) -> list[Effect]:
        """Time has passed."""
        effects: list[Effect] = []
        for number in [one for one in self._waiting if self._requests[one].deadline_ms <= now_ms]:
            del self._requests[number], self._waiting[number]
            effects.append(GiveUp(number, ErrorCode.REQUEST_TIMED_OUT))
        return effects + self._send_waiting(now_ms)

    def on_not_decided(self, number: int, now_ms: int) -> list[Effect]:
        """A request that was sent was certainly not decided."""
        request = self._requests[number]
        if self._is_ended(number):
            return self._send_waiting(now_ms)
        # With other news meanwhile, another broker may be the controller by now.
        retry_ms = now_ms if request.news != self._news else now_ms + RETRY_MS
        request.state, request.retry_ms = State.WAITING, retry_ms
        self._waiting[number] = None
        return self.tick(now_ms)

    def on_unknown(self, number: int, now_ms: int) -> list[Effect]:
        """A request that was sent may have been decided, or may still be; there will be no answer."""
        if self._requests[number].is_repeatable:
            return self.on_not_decided(number, now_ms)
        effects: list[Effect] = []
        if not self._is_ended(number):
            del self._requests[number]
            effects.append(GiveUp(number, ErrorCode.REQUEST_TIMED_OUT))
        return effects + self._send_waiting(now_ms)

    def on_answered(self, number: int, now_ms: int) -> list[Effect]:
        """A request that was sent has its answer."""
        if not self._is_ended(number):
            del self._requests[number]
        return self._send_waiting(now_ms)

    def on_client_gone(self, number: int) -> None:
        """Nobody waits for the answer to a request any more; it may have ended."""
        request = self._requests.get(number)
        if request is None:
            return
        if request.state is State.WAITING:
            del self._requests[number], self._waiting[number]
        else:
            request.state = State.ABANDONED

    def close(self) -> list[Effect]:
        """The broker stops: give up what waits."""
        numbers, self._waiting = list(self._waiting), {}
        for number in numbers:
            del self._requests[number]
        return [GiveUp(number, ErrorCode.REQUEST_TIMED_OUT) for number in numbers]

    def is_abandoned(self, number: int) -> bool:
        """Whether the client of a request that was sent has gone."""
        return self._requests[number].state is State.ABANDONED

    def _is_ended(self, number: int) -> bool:
        """Free the lane of a request that has an outcome; returns whether that ended it."""
        request = self._requests[number]
        assert request.state is not State.WAITING, f"request {number} was not sent"
        if request.lane != _HERE:
            self._free.append(request.lane)
            request.lane = _HERE
        if request.state is State.ABANDONED:
            del self._requests[number]
            return True
        return False

    @property
    def _has_room(self) -> bool:
        return self._controller_id == self._broker_id or bool(self._free)

    def _send_waiting(self, now_ms: int) -> list[Effect]:
        """Send the requests that may be sent now, the oldest first."""
        effects: list[Effect] = []
        if self._controller_id == NO_BROKER:
            return effects
        for number in list(self._waiting):
            request = self._requests[number]
            if not self._has_room:
                break
            if request.retry_ms > now_ms:
                continue
            del self._waiting[number]
            request.state, request.news = State.SENT, self._news
            if self._controller_id == self._broker_id:
                effects.append(DecideHere(number))
            else:
                request.lane = self._free.pop()
                effects.append(Send(number, self._controller_id, request.lane))
        return effects
