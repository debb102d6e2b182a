"""The clocks of a world: one monotonic time for all, and a wall clock for each machine.

    clock.advance(10)               ten milliseconds pass, everywhere
    machine.jump(-3_600_000)        that machine's wall clock is set back an hour; no time passes

As on a real machine, setting the wall clock moves neither timers nor deadlines: they use the monotonic clock.
"""

from odradek.base.clock import ManualClock


class MachineClock:
    """The `Clock` of one broker's machine, in all its lives."""

    def __init__(self, world: ManualClock) -> None:
        self._world = world
        # How far its wall clock is ahead of the world's; negative: behind.
        self._ahead_ms = 0

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`; may run backwards, never before the epoch."""
        return max(0, self._world.wall_ms() + self._ahead_ms)

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`."""
        return self._world.monotonic_ms()

    def advance(self, by_ms: int) -> None:
        """Let time pass for the whole world without running any step."""
        self._world.advance(by_ms)

    def jump(self, by_ms: int) -> None:
        """Set the wall clock forward or, where negative, back."""
        self._ahead_ms += by_ms
