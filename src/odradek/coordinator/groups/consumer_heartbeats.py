"""ConsumerGroupHeartbeat: one step of the coordinator, or several where the group reads many topics.

A heartbeat works on a draft of its group, which no other request sees (`consumer.draft`).

    the draft takes one step    it is appended and answered in that step
    it takes more               other requests are served in between; heartbeats of the same group wait until
                                this one is answered
    the group or the topics     the draft is dropped, and the heartbeat handled anew; the last attempt has no
    changed meanwhile           pauses
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Defer, RunSteps, Steps, exhaust
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.answers import RespondToHeartbeat, refused_heartbeat
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

ATTEMPTS_MAX: Final = 3
"""How often a heartbeat is handled before it is handled without pauses."""


@dataclass(slots=True)
class Heartbeat:
    """A request, and how it is answered."""

    request: ConsumerGroupHeartbeatRequest
    version: int
    caller: Caller
    respond: RespondToHeartbeat


class ConsumerHeartbeats:
    """The heartbeats under way."""

    __slots__ = ("_defer", "_handle", "_run_steps", "_trampoline", "_waiting")

    def __init__(
        self,
        trampoline: Trampoline,
        handle: Callable[[Heartbeat], Steps[bool]],
        defer: Defer,
        run_steps: RunSteps,
    ) -> None:
        """`handle` handles a heartbeat; its steps return False if they did nothing and are to be run anew."""
        self._trampoline = trampoline
        self._handle = handle
        self._defer = defer
        self._run_steps = run_steps
        self._waiting: dict[str, deque[Heartbeat]] = {}
        """The heartbeats that wait, by the id of the group whose draft is under way."""

    def handle(self, heartbeat: Heartbeat) -> None:
        """Handle a heartbeat."""
        self._trampoline.run(partial(self._begin, heartbeat))

    def _begin(self, heartbeat: Heartbeat) -> None:
        group_id = heartbeat.request.group_id
        waiting = self._waiting.get(group_id)
        if waiting is not None:
            waiting.append(heartbeat)
            return
        steps = self._handle(heartbeat)
        if _ended(steps) is None:
            self._waiting[group_id] = deque()
            self._defer(lambda: self._run_steps(self._continue(heartbeat, steps)))

    def _continue(self, heartbeat: Heartbeat, steps: Steps[bool]) -> Steps[None]:
        """Run the other steps of a heartbeat, then the heartbeats that have waited for it."""
        try:
            for attempt in range(1, ATTEMPTS_MAX + 1):
                run = _exhausted if attempt == ATTEMPTS_MAX else _ended
                while (is_answered := self._in_trampoline(run, steps)) is None:
                    yield
                if is_answered:
                    break
                steps = self._handle(heartbeat)
                yield
        except Exception:
            heartbeat.respond(refused_heartbeat(ErrorCode.UNKNOWN_SERVER_ERROR))
            raise
        finally:
            waiting = self._waiting.pop(heartbeat.request.group_id)
            if waiting:
                self._defer(lambda: self._run_steps(self._resume(waiting)))

    def _resume(self, waiting: deque[Heartbeat]) -> Steps[None]:
        for heartbeat in waiting:
            self.handle(heartbeat)
            yield

    def _in_trampoline(self, run: Callable[[Steps[bool]], bool | None], steps: Steps[bool]) -> bool | None:
        """Run `steps` as a step of the coordinator."""
        outcome: bool | None = None

        def step() -> None:
            nonlocal outcome
            outcome = run(steps)

        self._trampoline.run(step)
        return outcome


def _ended(steps: Steps[bool]) -> bool | None:
    """Run one step; returns what the steps return, or None if there are more."""
    try:
        next(steps)
    except StopIteration as end:
        value: bool = end.value
        return value
    return None


def _exhausted(steps: Steps[bool]) -> bool | None:
    return exhaust(steps)
