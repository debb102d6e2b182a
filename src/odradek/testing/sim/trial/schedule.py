"""What is to happen at a later time of a trial, mostly the ends of mishaps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from odradek.base.clock import Clock


class Schedule:
    """Actions, each with its time on the clock of the world."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.cause: int | None = None
        """The number of the mishap that happens now, or that what happens now was scheduled by."""
        # The time of each in milliseconds, in the order in which they came.
        self._entries: list[tuple[int, Callable[[], None]]] = []

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Let an action happen so much later."""
        self._entries.append((self._clock.monotonic_ms() + delay_ms, self.caused(action)))

    def caused(self, action: Callable[[], None]) -> Callable[[], None]:
        """Returns the action with the cause that there is now, whenever it runs."""
        return partial(self.run_as, self.cause, action)

    def run_as(self, cause: int | None, action: Callable[[], None]) -> None:
        """Run an action that has this cause."""
        before, self.cause = self.cause, cause
        try:
            action()
        finally:
            self.cause = before

    def next_ms(self) -> int | None:
        """When the next one is due; None if there is none."""
        return min((at_ms for at_ms, _ in self._entries), default=None)

    def run_due(self) -> None:
        """Run those that are due, in the order in which they came."""
        now_ms = self._clock.monotonic_ms()
        due = [action for at_ms, action in self._entries if at_ms <= now_ms]
        self._entries = [entry for entry in self._entries if entry[0] > now_ms]
        for action in due:
            action()

    def run_all(self) -> None:
        """Run all now, the earliest first, and those that they bring."""
        while self._entries:
            entries, self._entries = self._entries, []
            for _, action in sorted(entries, key=lambda entry: entry[0]):
                action()
