"""Descriptions of a broker's state, by subject: for `/describe/...`, and for tests in its own process.

Descriptions only read. Every waiting operation is shown with what it waits for. A description is made row by
row, so that it can be rendered in steps; each row shows its subject as it is when the row is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from odradek.base.execution import Steps
from odradek.base.visible import visible_json
from odradek.server.admin.view import BrokerView

ROWS_PER_STEP: Final = 8
"""Of up to a hundred microseconds each, JSON included."""

PIECE_CHARS: Final = 64 << 10
"""Ids may be long: thousands of groups make a text of 100 MB and more, of which a copy takes tens of ms."""


class RenderedRows:
    """The rows as a JSON array, in pieces, so that no step handles the whole text.

    A step renders a few rows. `next_piece` is called until `is_done`.
    """

    __slots__ = ("_opening", "_rows", "is_done")

    def __init__(self, rows: Iterator[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._opening = "["
        """What comes before the next row."""
        self.is_done = False

    def next_piece(self) -> Steps[str]:
        """Returns the next piece, of `PIECE_CHARS` or a few rows more; the last one may be shorter."""
        parts: list[str] = []
        chars = 0
        while chars < PIECE_CHARS:
            few = [visible_json(row) for row in islice(self._rows, ROWS_PER_STEP)]
            if few:
                parts += [self._opening, ", ".join(few)]
                self._opening = ", "
                chars += len(parts[-1])
            if len(few) < ROWS_PER_STEP:
                self.is_done = True
                parts.append("[]" if self._opening == "[" else "]")
                break
            yield
        return "".join(parts)


def describe(broker: BrokerView, subject: str) -> Iterator[Mapping[str, Any]] | None:
    """Returns the rows that `/describe/<subject>` shows, or None if there is no such subject."""
    core = broker.node.core
    describers: Mapping[str, Callable[[], Iterator[Mapping[str, Any]]]] = {
        "purgatories": lambda: _purgatories(broker),
        "partitions": core.replicas.describe,
        "connections": lambda: _connections(broker),
        "compaction": lambda: broker.node.cleaner.describe(),
        "groups": core.groups.describe,
        "transactions": core.transactions.describe,
    }
    describer = describers.get(subject)
    return None if describer is None else describer()


def _connections(broker: BrokerView) -> Iterator[Mapping[str, Any]]:
    """Yields the connections of clients, then those of other brokers."""
    yield from broker.connections.describe()
    if broker.peer_connections is not None:
        yield from broker.peer_connections.describe()


def _purgatories(broker: BrokerView) -> Iterator[Mapping[str, Any]]:
    """Yields every waiting operation, by purgatory, the longest-waiting first (D7)."""
    for purgatory in broker.node.core.purgatories():
        for waiting in purgatory.describe():
            yield {
                "purgatory": purgatory.name,
                "kind": waiting.kind,
                "keys": [str(key) for key in waiting.keys],
                "age_ms": waiting.age_ms,
                "time_left_ms": waiting.time_left_ms,
                "waits_for": waiting.waits_for,
            }
