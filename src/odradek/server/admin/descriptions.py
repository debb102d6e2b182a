"""Descriptions of a broker's state, by subject: for `/describe/...`, and for tests in its own process.

Descriptions only read. Every waiting operation is shown with what it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from odradek.server.admin.view import BrokerView


def describe(broker: BrokerView, subject: str) -> object | None:
    """Returns what `/describe/<subject>` shows, or None if there is no such subject."""
    core = broker.node.core
    describers: Mapping[str, Callable[[], object]] = {
        "purgatories": lambda: _purgatories(broker),
        "partitions": core.replicas.describe,
        "connections": broker.connections.describe,
        "compaction": lambda: broker.node.cleaner.describe(),
        "groups": core.groups.describe,
        "transactions": core.transactions.describe,
    }
    describer = describers.get(subject)
    return None if describer is None else describer()


def _purgatories(broker: BrokerView) -> list[dict[str, Any]]:
    """Returns every waiting operation, by purgatory, the longest-waiting first (D7)."""
    return [
        {
            "purgatory": purgatory.name,
            "kind": waiting.kind,
            "keys": [str(key) for key in waiting.keys],
            "age_ms": waiting.age_ms,
            "time_left_ms": waiting.time_left_ms,
            "waits_for": waiting.waits_for,
        }
        for purgatory in broker.node.core.purgatories()
        for waiting in purgatory.describe()
    ]
