"""What a broker shows of itself, subject by subject: for `/describe/...`, and for tests in its own process.

Law: it only reads, and whatever waits says what for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.server.process.broker import Broker


def describe(broker: Broker, subject: str) -> object | None:
    """What `/describe/<subject>` shows, or None when there is no such subject."""
    describers: Mapping[str, Callable[[], object]] = {
        "purgatories": lambda: _purgatories(broker),
        "partitions": broker.core.replicas.describe,
        "connections": broker.listeners.table.describe,
        "compaction": lambda: broker.cleaner.describe(),
        "groups": broker.core.groups.describe,
        "transactions": broker.core.transactions.describe,
    }
    describer = describers.get(subject)
    return None if describer is None else describer()


def _purgatories(broker: Broker) -> list[dict[str, Any]]:
    """Every operation that waits, purgatory by purgatory, the longest-waiting first (D7)."""
    return [
        {
            "purgatory": purgatory.name,
            "kind": waiting.kind,
            "keys": [str(key) for key in waiting.keys],
            "age_ms": waiting.age_ms,
            "time_left_ms": waiting.time_left_ms,
            "waits_for": waiting.waits_for,
        }
        for purgatory in broker.core.purgatories()
        for waiting in purgatory.describe()
    ]
