"""Timeouts of helpers that wait for an application, by the machine's clock even where a test patches time."""

from odradek.base.errors import OdradekError
from odradek.testing.machine_clock import MachineClock


class WaitTimeout(OdradekError, TimeoutError):
    """The timeout passed before the condition held; the message says what was found instead."""


class Deadline:
    """A moment from now."""

    def __init__(self, timeout_s: float) -> None:
        self._clock = MachineClock()
        self._ends_ms = self._clock.monotonic_ms() + round(timeout_s * 1000)

    def left_ms(self) -> int:
        """Milliseconds until then, at least 0."""
        return max(0, self._ends_ms - self._clock.monotonic_ms())

    def is_over(self) -> bool:
        """Whether the moment has come."""
        return not self.left_ms()
