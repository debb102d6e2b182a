"""Filters of lists: only rows whose names match a shell pattern are shown; and what an empty list says."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TypeVar

from odradek.cli.command_line import option
from odradek.cli.output import Row

R = TypeVar("R", bound=Row)

FILTER = option("--filter", help="only names that match, such as 'flights*'", metavar="GLOB")


def matching(rows: Iterable[R], glob: str | None, *fields: str) -> list[R]:
    """Returns the rows in which one of the fields matches; all rows without a pattern."""
    return [
        row
        for row in rows
        if glob is None or any(fnmatchcase(str(row.get(name, "")), glob) for name in fields)
    ]


def none_of(things: str, *filters: object) -> str:
    """The sentence of an empty list: there are none of these things, or none that the filters select."""
    is_filtered = any(one is not None for one in filters)
    return f"No {things} match." if is_filtered else f"There are no {things}."
