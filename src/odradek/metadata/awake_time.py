"""The time in which this process runs, by its ticks: a process that stands still lets no lease run out.

A server that was stopped (by a signal, a debugger, a suspended machine) finds heartbeats waiting that came in
time. It reads them after its first tick, so that tick must not count the time before:

    a tick each 100 ms      the time goes on by about 100 ms each
    stopped for 60 s        the next tick counts 100 + LATE_MS_MAX ms
"""

from typing import Final

from odradek.base.clock import Clock

LATE_MS_MAX: Final = 500
"""How much later than planned a tick of a process that runs may come."""


class AwakeTime:
    """Milliseconds on the monotonic clock, without those in which no tick came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When the last tick was, on the clock.
        self._ticked_ms = clock.monotonic_ms()
        self.now_ms = 0
        """The time at the last tick; never runs backwards."""

    def tick(self, planned_ms: int) -> int:
        """Called `planned_ms` after the last tick, or later; returns the time."""
        clock_ms = self._clock.monotonic_ms()
        self.now_ms += min(clock_ms - self._ticked_ms, planned_ms + LATE_MS_MAX)
        self._ticked_ms = clock_ms
        return self.now_ms
