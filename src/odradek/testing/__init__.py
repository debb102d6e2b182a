"""Test helpers: brokers, a clock that a test can move, fixtures, simulated nodes. Start with `Broker`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.base.errors import ApiError, FaultRefused, OdradekError, SettingError
    from odradek.testing.application.checks import PromiseBroken
    from odradek.testing.application.cluster import Cluster
    from odradek.testing.application.process import Process, ProcessKilled
    from odradek.testing.application.refusals import NotSimulated
    from odradek.testing.application.simulate import simulate
    from odradek.testing.application.simulation import Deadlock, OutOfTime
    from odradek.testing.broker import Broker
    from odradek.testing.deadline import WaitTimeout
    from odradek.testing.faults import Fault, Faults
    from odradek.testing.host import BrokerNotRunning
    from odradek.testing.local_cluster import LocalCluster
    from odradek.testing.shared_broker import SharedBrokerError
    from odradek.testing.topic_records import TestRecord
    from odradek.testing.virtual_clock import VirtualClock

__all__ = [
    "ApiError",
    "Broker",
    "BrokerNotRunning",
    "Cluster",
    "Deadlock",
    "Fault",
    "FaultRefused",
    "Faults",
    "LocalCluster",
    "NotSimulated",
    "OdradekError",
    "OutOfTime",
    "Process",
    "ProcessKilled",
    "PromiseBroken",
    "SettingError",
    "SharedBrokerError",
    "TestRecord",
    "VirtualClock",
    "WaitTimeout",
    "simulate",
]

_MODULES = {
    "ApiError": "odradek.base.errors",
    "Broker": "odradek.testing.broker",
    "BrokerNotRunning": "odradek.testing.host",
    "Cluster": "odradek.testing.application.cluster",
    "Deadlock": "odradek.testing.application.simulation",
    "Fault": "odradek.testing.faults",
    "FaultRefused": "odradek.base.errors",
    "Faults": "odradek.testing.faults",
    "LocalCluster": "odradek.testing.local_cluster",
    "NotSimulated": "odradek.testing.application.refusals",
    "OdradekError": "odradek.base.errors",
    "OutOfTime": "odradek.testing.application.simulation",
    "Process": "odradek.testing.application.process",
    "ProcessKilled": "odradek.testing.application.process",
    "PromiseBroken": "odradek.testing.application.checks",
    "SettingError": "odradek.base.errors",
    "SharedBrokerError": "odradek.testing.shared_broker",
    "TestRecord": "odradek.testing.topic_records",
    "VirtualClock": "odradek.testing.virtual_clock",
    "WaitTimeout": "odradek.testing.deadline",
    "simulate": "odradek.testing.application.simulate",
}


def __getattr__(name: str) -> object:
    """Import on first use: pytest loads this package for its plugin, even where no test needs a broker."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
