"""The other threads of one life: calls that run, and are reported, in steps of the world.

On a slow disk a call begins later by the fault's delay; the seed decides which calls overtake others.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from odradek.base.clock import Clock
from odradek.base.held_calls import HeldCalls
from odradek.storage.faulty_files import DiskFaults

T = TypeVar("T")


class SimThreads(HeldCalls):
    """`HeldCalls` that a slow disk holds up."""

    def __init__(self, clock: Clock, disk: DiskFaults) -> None:
        super().__init__()
        self._clock = clock
        self._disk = disk
        # Calls that may not begin yet, with the time from which they may, oldest first.
        self._late: list[tuple[int, Callable[[], None]]] = []

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`."""
        if self._disk.delay_ms:
            due_ms = self._clock.monotonic_ms() + self._disk.delay_ms
            self._late.append((due_ms, partial(super().submit, call, done, failed)))
        else:
            super().submit(call, done, failed)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing waits, runs or is to be reported."""
        return not (self.waiting or self.finished or self._late)

    @property
    def has_due(self) -> bool:
        """Whether `begin_due` has something to do."""
        return bool(self._late) and any(due_ms <= self._clock.monotonic_ms() for due_ms, _ in self._late)

    def begin_due(self) -> None:
        """Let the calls that the disk has held up for long enough wait for their turn."""
        now_ms = self._clock.monotonic_ms()
        due = [submit for due_ms, submit in self._late if due_ms <= now_ms]
        self._late = [late for late in self._late if late[0] > now_ms]
        for submit in due:
            submit()

    def next_ms(self) -> int | None:
        """When the next call may begin that may not yet."""
        now_ms = self._clock.monotonic_ms()
        return min((due_ms for due_ms, _ in self._late if due_ms > now_ms), default=None)
