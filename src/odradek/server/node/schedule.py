"""Periodic tasks as timer tasks, so that one clock drives them and all other deadlines.

If a task raises, the error is logged and the task runs again after its interval: one full disk must not end
retention for good.
"""

import logging
from collections.abc import Callable
from typing import Final

from odradek.timer import Timer, TimerTask

_log = logging.getLogger(__name__)

INTERVAL_MS_MIN: Final = 1
"""Used for an interval of 0: the task runs whenever the clock moves, and never twice at the same moment."""


class PeriodicTask(TimerTask):
    """Runs `work` every `interval_ms`, first after `delay_ms`."""

    __slots__ = ("_interval_ms", "_timer", "_work", "name")

    def __init__(
        self,
        name: str,
        timer: Timer,
        interval_ms: Callable[[], int],
        delay_ms: int,
        work: Callable[[], object],
    ) -> None:
        super().__init__(timer.clock.monotonic_ms() + delay_ms)
        self.name = name
        self._timer = timer
        # Called before every round, because most intervals may change while the broker runs.
        self._interval_ms = interval_ms
        self._work = work

    @property
    def label(self) -> str:
        """See `TimerTask.label`."""
        return f"the periodic task {self.name}"

    def run(self) -> None:
        """Do the work once and wait for the next round."""
        try:
            self._work()
        except Exception:
            _log.exception("the task %s failed", self.name)
        self.deadline_ms = self._timer.clock.monotonic_ms() + max(INTERVAL_MS_MIN, self._interval_ms())
        self._timer.add(self)


class Schedule:
    """The periodic tasks of one broker."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._tasks: list[PeriodicTask] = []

    def every(
        self,
        interval_ms: int | Callable[[], int],
        name: str,
        work: Callable[[], object],
        *,
        delay_ms: int | None = None,
    ) -> None:
        """Run `work` once per interval, first after `delay_ms` (by default one interval)."""
        fixed = interval_ms
        interval = fixed if callable(fixed) else lambda: fixed
        task = PeriodicTask(name, self._timer, interval, interval() if delay_ms is None else delay_ms, work)
        self._tasks.append(task)
        self._timer.add(task)

    def close(self) -> None:
        """Run no more tasks."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
