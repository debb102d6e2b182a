"""Filters: lists show the rows whose names match a pattern as the shell has them."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TypeVar

from odradek.cli.command_line import option
from odradek.cli.output import Row

R = TypeVar("R", bound=Row)

FILTER = option("--filter", help="only names that match, as 'flights*'", metavar="GLOB")


def matching(rows: Iterable[R], glob: str | None, *fields: str) -> list[R]:
    """The rows in which one of the fields matches; all of them without a pattern."""
    return [
        row
        for row in rows
        if glob is None or any(fnmatchcase(str(row.get(name, "")), glob) for name in fields)
    ]
