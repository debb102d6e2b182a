"""The clock port. Cores never read the machine's clock: the caller passes a `Clock` in."""

import time
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Protocol, TypeAlias

ShortClock: TypeAlias = Callable[[], int]
"""Nanoseconds since any beginning: how long a piece of work has taken so far, never when something is due."""


def machine_short_clock() -> ShortClock:
    """The machine's; not the one that a test library (freezegun) may have put into its place."""
    if isinstance(time.perf_counter_ns, BuiltinFunctionType):
        return time.perf_counter_ns
    return partial(time.clock_gettime_ns, time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Readings of the time; a virtual clock moves them all together."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch: record timestamps, retention, file ages."""

    def monotonic_ms(self) -> int:
        """Milliseconds that never run backwards: deadlines, sessions, lag."""


class SystemClock:
    """The machine's clocks, rounded down to the unit asked for."""

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`."""
        return time.monotonic_ns() // 1_000_000


class ManualClock:
    """A clock that moves only by `advance`: for tests and the simulator.

    The readings start at the values given and move by the same amount.
    """

    def __init__(self, wall_ms: int = 1_700_000_000_000, monotonic_ms: int = 0) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        return self._wall_ms

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`."""
        return self._monotonic_ms

    def advance(self, by_ms: int) -> None:
        """Move the readings forward by `by_ms` milliseconds, at least 0."""
        assert by_ms >= 0, f"time does not run backwards: {by_ms} ms"
        self._wall_ms += by_ms
        self._monotonic_ms += by_ms
