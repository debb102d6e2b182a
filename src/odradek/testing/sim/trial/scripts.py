"""Clients of a trial as scripts: generators that wait for answers and for time, in steps of the world.

    def run(self) -> Script:
        answer = yield client.ask(1, MetadataRequest())     a request is on its way; its answer, or None
        yield scripts.pause(200)                            time passes

A script continues in a step of its own, never within the event that it waited for, so that the seed chooses
what happens in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from odradek.base.clock import Clock
from odradek.timer import TimedCall, Timer

T = TypeVar("T")


class Wait(Generic[T]):
    """Something that a script waits for: it happens once, and has a result."""

    __slots__ = ("_on_done", "is_done", "result")

    def __init__(self) -> None:
        self.is_done = False
        self.result: T | None = None
        """None before it has happened, and where there is no result."""
        self._on_done: Callable[[], None] | None = None

    def finish(self, result: T | None) -> None:
        """Called once, when it has happened."""
        assert not self.is_done, "it happens once"
        self.is_done, self.result = True, result
        if self._on_done is not None:
            self._on_done()

    def when_done(self, on_done: Callable[[], None]) -> None:
        """Call `on_done` when it has happened, at once if it has."""
        assert self._on_done is None, "one script waits for it"
        if self.is_done:
            on_done()
        else:
            self._on_done = on_done


Script: TypeAlias = Generator[Wait[Any], Any, None]
Asking: TypeAlias = Generator[Wait[Any], Any, T]
"""A part of a script, with a result: `found = yield from ...`."""


class Scripts:
    """The scripts of one world; an `Actor` of it."""

    def __init__(self, clock: Clock) -> None:
        self.timer = Timer(clock)
        """The clients' timer: pauses, and the timeouts of their requests."""
        self.running = 0
        """How many scripts have not ended."""
        # Scripts that can go on, oldest first, each with what it waited for.
        self._ready: deque[tuple[Script, Wait[Any] | None]] = deque()

    def start(self, script: Script) -> None:
        """Let a script begin, in a step to come."""
        self.running += 1
        self._ready.append((script, None))

    def pause(self, pause_ms: int) -> Wait[None]:
        """Returns a wait that ends after so much time."""
        wait: Wait[None] = Wait()
        self.timer.add(TimedCall(self.timer.clock.monotonic_ms() + pause_ms, partial(wait.finish, None)))
        return wait

    # --- `Actor`

    def steps(self) -> list[Callable[[], None]]:
        """See `Actor.steps`."""
        found: list[Callable[[], None]] = []
        if self._ready:
            found.append(self._continue_next)
        due_ms = self.timer.next_expiration_ms()
        if due_ms is not None and due_ms <= self.timer.clock.monotonic_ms():
            found.append(self._fire)
        return found

    def next_ms(self) -> int | None:
        """See `Actor.next_ms`."""
        return self.timer.next_expiration_ms()

    def _fire(self) -> None:
        self.timer.advance()

    def _continue_next(self) -> None:
        script, wait = self._ready.popleft()
        try:
            waits_for = next(script) if wait is None else script.send(wait.result)
        except StopIteration:
            self.running -= 1
            return
        waits_for.when_done(partial(self._make_ready, script, waits_for))

    def _make_ready(self, script: Script, wait: Wait[Any]) -> None:
        self._ready.append((script, wait))
