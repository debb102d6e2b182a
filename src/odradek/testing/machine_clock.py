"""The machine's clocks, even where a test has patched Python's with freezegun or time-machine.

A broker in the test's process must not stop when a test freezes `datetime.now()`: sessions, retries and
fetches would wait for ever. freezegun does not patch `clock_gettime_ns`; time-machine does, and offers the
real one through its `escape_hatch`.
"""

import sys
import time


class MachineClock:
    """A `Clock` that no test library moves; only the time of day follows one, if that is asked for."""

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
        """See `Clock.monotonic_ms`; neither library moves this clock."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
