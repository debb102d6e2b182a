"""The machine's clocks, also where a test has patched Python's with freezegun or time-machine.

A broker in the test's own process must not stand still because the application's `datetime.now()` does: its
sessions, retries and fetches would wait for ever. freezegun does not patch `clock_gettime_ns`; time-machine
does, and hands out the real one through its `escape_hatch`.
"""

import sys
import time


class MachineClock:
    """A `Clock` that no test library moves, except for the time of day if that is asked for."""

    def __init__(self, *, follows_patched_time: bool = False) -> None:
        """`follows_patched_time`: records get the time of day that the application sees."""
        self._follows_patched_time = follows_patched_time

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        if self._follows_patched_time:
            return time.time_ns() // 1_000_000
        escape_hatch = getattr(sys.modules.get("time_machine"), "escape_hatch", None)
        if escape_hatch is not None and escape_hatch.is_travelling():
            return int(escape_hatch.time.clock_gettime_ns(time.CLOCK_REALTIME)) // 1_000_000
        return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`; both libraries leave this clock alone."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
