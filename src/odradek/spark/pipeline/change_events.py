"""Change events of a database in envelopes: which row of the table each puts or deletes.

    {"op": "u", "before": {"id": 7, "late": 1}, "after": {"id": 7, "late": 5}}

One field has the operation, one the row before it, one the row after it; the description names them, and the
values of the operation. An insert or an update puts the row `after`; a delete takes away the row whose key
`before` has. What else an envelope has is left aside. The names that are the default are Debezium's, whose
events without a schema are such envelopes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from odradek.spark.pipeline.decoding import documents
from odradek.spark.pipeline.fields import Unreadable

_EMPTY: Final = b"{}"


@dataclass(frozen=True, slots=True)
class Envelope:
    """How a change is written, as `[decode.cdc]` says; sent to the executors."""

    operation: str = "op"
    """The field of the operation; those of the rows follow."""
    before: str = "before"
    after: str = "after"
    insert: tuple[str, ...] = ("c", "r")
    """The values of the operation that insert a row; Debezium's `r` is a row of a snapshot."""
    update: tuple[str, ...] = ("u",)
    delete: tuple[str, ...] = ("d",)


@dataclass(frozen=True, slots=True)
class Opened:
    """What envelopes have in them, one entry for each."""

    values: list[bytes | None]
    """The row as an object of JSON, of a deletion its key alone; null for a record without a value."""
    is_delete: list[bool]
    errors: list[str | None]
    """Why an envelope cannot be read; None if it can."""


def open_envelopes(envelope: Envelope, key: Sequence[str], values: Sequence[bytes | None]) -> Opened:
    """Take rows out of their envelopes. `key` are the fields of rows that identify them."""
    opened = Opened([], [], [])
    for value in values:
        row: bytes | None = None
        is_delete, error = False, None
        try:
            if value is not None:
                row, is_delete = _opened(envelope, key, value)
        except Unreadable as unreadable:
            row, error = _EMPTY, str(unreadable)
        opened.values.append(row)
        opened.is_delete.append(is_delete)
        opened.errors.append(error)
    return opened


def _opened(envelope: Envelope, key: Sequence[str], value: bytes) -> tuple[bytes, bool]:
    """The row, and whether it is deleted. Raises Unreadable."""
    found = documents([value])
    if not found:
        raise Unreadable("the value is not an object of JSON, as an envelope of a change is")
    (change,) = found
    operation = change.get(envelope.operation)
    if operation in envelope.delete:
        gone = _row(change, envelope.before, operation) if key else {}
        return json.dumps({name: gone.get(name) for name in key}).encode(), True
    if operation not in (*envelope.insert, *envelope.update):
        known = ", ".join((*envelope.insert, *envelope.update, *envelope.delete))
        raise Unreadable(f"the operation {envelope.operation} is {json.dumps(operation)}, not one of {known}")
    after = _row(change, envelope.after, operation)
    before = change.get(envelope.before)
    if isinstance(before, dict):
        for name in key:
            if before.get(name) is not None and before[name] != after.get(name):
                raise Unreadable(
                    f"the change turns {name}, which is part of the table's key, from"
                    f" {json.dumps(before[name])} to {json.dumps(after.get(name))}: it is to be a delete and"
                    " an insert"
                )
    return json.dumps(after).encode(), False


def _row(change: dict[str, Any], name: str, operation: object) -> dict[str, Any]:
    """The row before or after a change. Raises Unreadable."""
    row = change.get(name)
    if not isinstance(row, dict):
        raise Unreadable(f"the change {operation} has no {name} that is an object")
    return row
