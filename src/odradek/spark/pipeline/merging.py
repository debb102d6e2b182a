"""The MERGE that brings a batch into a table with keys, as SQL; pure, the same for all formats.

A record replaces the row of its key if it is newer, by the rule of `keyed_rows`; a deletion removes it. Rows
of the table that do not say where they come from give way to any record.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.spark.pipeline.keyed_rows import DELETED

# Types that a table's column may have for rows of a narrower type, which it takes without loss.
_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
}


def fault_in_types(rows: Mapping[str, str], table: Mapping[str, str]) -> str:
    """Why rows of these columns and types cannot be merged into the table; "" if they can.

    A MERGE would turn values into the column's type, or into null where that fails.
    """
    for name, kind in rows.items():
        known = table.get(name, kind)
        if known != kind and known not in _WIDER.get(kind, ()):
            return f"column {name} is of the type {known} in the table and {kind} in the rows"
    return ""


def merge_statement(
    target: str,
    source: str,
    columns: Sequence[str],
    table: Sequence[str],
    key: Sequence[str],
    order: Sequence[str],
) -> str:
    """MERGE of the view `source` into `target`: both are names as SQL has them.

    `columns` are those of the rows, `table` those of the table; `source` has DELETED, too. `order` are the
    names of ORDER in this format; without all of them on both sides the batch's row is always the newer one.
    A table that lacks a column of the key has no rows yet, and no row of the batch has a rival there.
    """
    pairs = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
    same = pairs if set(key) <= set(table) else "false"
    is_newer = newer(order, "s", "t") if set(order) <= set(columns) and set(order) <= set(table) else "true"
    # Names on the left of an assignment are the table's, also of columns that the statement adds.
    assigned = ", ".join(f"{quoted(name)} = s.{quoted(name)}" for name in columns)
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE WITH SCHEMA EVOLUTION INTO {target} t USING {source} s ON {same}\n"  # noqa: S608  # names are quoted
        f"WHEN MATCHED AND {is_newer} AND s.{DELETED} THEN DELETE\n"
        f"WHEN MATCHED AND {is_newer} THEN UPDATE SET {assigned}\n"
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({names}) VALUES ({values})"
    )


def quoted(name: str) -> str:
    """A column's name as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def newer(order: Sequence[str], one: str, other: str) -> str:
    """SQL: whether the record of `one` is newer than that of `other`; true where that is not known.

    `order` are the names of ORDER, of which `one` and `other` are tables or structs.
    """
    topic, partition, offset, timestamp = map(quoted, order)
    mine, theirs = (
        ", ".join(f"{side}.{name}" for name in (timestamp, topic, partition)) for side in (one, other)
    )
    return (
        f"coalesce(CASE WHEN {one}.{topic} = {other}.{topic} AND {one}.{partition} = {other}.{partition}"
        f" THEN {one}.{offset} > {other}.{offset} ELSE struct({mine}) > struct({theirs}) END, true)"
    )
