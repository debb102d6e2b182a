"""For tests: brokers, a clock that can be moved, fixtures, simulated nodes. Most begin with `Broker`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.deadline import WaitTimeout
    from odradek.testing.faults import Fault, Faults
    from odradek.testing.host import BrokerNotRunning
    from odradek.testing.shared_broker import SharedBrokerError
    from odradek.testing.topic_records import TestRecord
    from odradek.testing.virtual_clock import VirtualClock

__all__ = [
    "Broker",
    "BrokerNotRunning",
    "Fault",
    "Faults",
    "SharedBrokerError",
    "TestRecord",
    "VirtualClock",
    "WaitTimeout",
]

_MODULES = {
    "Broker": "broker",
    "BrokerNotRunning": "host",
    "Fault": "faults",
    "Faults": "faults",
    "SharedBrokerError": "shared_broker",
    "TestRecord": "topic_records",
    "VirtualClock": "virtual_clock",
    "WaitTimeout": "deadline",
}


def __getattr__(name: str) -> object:
    """Import on first use: pytest loads this package for its plugin, also where no test wants a broker."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
