"""For tests: brokers, a clock that can be moved, fixtures, simulated nodes. Most begin with `Broker`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.virtual_clock import VirtualClock

__all__ = ["Broker", "VirtualClock"]


def __getattr__(name: str) -> object:
    """Import on first use: pytest loads this package for its plugin, also where no test wants a broker."""
    if name == "Broker":
        from odradek.testing.broker import Broker

        return Broker
    if name == "VirtualClock":
        from odradek.testing.virtual_clock import VirtualClock

        return VirtualClock
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
