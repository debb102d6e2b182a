"""Test helpers: brokers, a clock that a test can move, fixtures, simulated nodes. Start with `Broker`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.base.errors import ApiError, FaultRefused, OdradekError, SettingError
    from odradek.testing.broker import Broker
    from odradek.testing.deadline import WaitTimeout
    from odradek.testing.faults import Fault, Faults
    from odradek.testing.host import BrokerNotRunning
    from odradek.testing.shared_broker import SharedBrokerError
    from odradek.testing.topic_records import TestRecord
    from odradek.testing.virtual_clock import VirtualClock

__all__ = [
    "ApiError",
    "Broker",
    "BrokerNotRunning",
    "Fault",
    "FaultRefused",
    "Faults",
    "OdradekError",
    "SettingError",
    "SharedBrokerError",
    "TestRecord",
    "VirtualClock",
    "WaitTimeout",
]

_MODULES = {
    "ApiError": "odradek.base.errors",
    "Broker": "odradek.testing.broker",
    "BrokerNotRunning": "odradek.testing.host",
    "Fault": "odradek.testing.faults",
    "FaultRefused": "odradek.base.errors",
    "Faults": "odradek.testing.faults",
    "OdradekError": "odradek.base.errors",
    "SettingError": "odradek.base.errors",
    "SharedBrokerError": "odradek.testing.shared_broker",
    "TestRecord": "odradek.testing.topic_records",
    "VirtualClock": "odradek.testing.virtual_clock",
    "WaitTimeout": "odradek.testing.deadline",
}


def __getattr__(name: str) -> object:
    """Import on first use: pytest loads this package for its plugin, even where no test needs a broker."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
