"""The broker that all tests of a run share: it refuses calls that would affect later tests.

Its clock only goes forward, so after a jump of a week later tests would lose their records; and a test that
fails half-way would leave the broker paused or stopped.
"""

from typing import Final, NoReturn

from odradek.base.errors import OdradekError
from odradek.testing.broker import Broker
from odradek.testing.tracebacks import ends_at_caller
from odradek.testing.virtual_clock import VirtualClock

HINT: Final = (
    "other tests use it, too. Mark this test with @pytest.mark.odradek to give it a broker of its own, or use"
    " odradek_function_broker"
)


class SharedBrokerError(OdradekError):
    """A test called a method of the shared broker that would affect other tests."""


class SharedBroker(Broker):
    """A `Broker` that tests cannot stop, and whose clock they cannot move; only its owner calls `close`."""

    @property
    @ends_at_caller
    def clock(self) -> VirtualClock:
        """A read-only clock: its `advance` raises SharedBrokerError."""
        return _ReadOnlyClock(super().clock)

    @ends_at_caller
    def stop(self) -> None:
        """Raises SharedBrokerError."""
        _refuse("stop() is not for the shared broker")

    @ends_at_caller
    def restart(self) -> None:
        """Raises SharedBrokerError."""
        _refuse("restart() is not for the shared broker")

    @ends_at_caller
    def kill(self) -> None:
        """Raises SharedBrokerError."""
        _refuse("kill() is not for the shared broker")

    @ends_at_caller
    def pause(self) -> None:
        """Raises SharedBrokerError."""
        _refuse("pause() is not for the shared broker")


class _ReadOnlyClock(VirtualClock):
    """Reads another clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)

    @ends_at_caller
    def advance(self, *_: object, **__: object) -> NoReturn:
        """Raises SharedBrokerError."""
        _refuse("the clock of the shared broker cannot be moved")


def _refuse(what: str) -> NoReturn:
    raise SharedBrokerError(f"{what}: {HINT}")
