"""Filters of lists: only rows whose names match a shell pattern are shown; sentences about what there is."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from odradek.base.ids import BrokerId
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


def none_of(things: str, *filters: object, is_complete: bool = True) -> str:
    """The sentence of an empty list: there are none of these things, or none that the filters select.

    Of a list that is not complete it says whose it is: some brokers do not answer.
    """
    is_filtered = any(one is not None for one in filters)
    if not is_complete:
        return f"The brokers that answer have no {'such ' if is_filtered else ''}{things}."
    return f"No {things} match." if is_filtered else f"There are no {things}."


def brokers_are(ids: Sequence[BrokerId]) -> str:
    """The sentence about the brokers of a cluster."""
    if len(ids) == 1:
        return f"the only broker of the cluster is {ids[0]}"
    return f"the brokers of the cluster are {', '.join(map(str, ids[:-1]))} and {ids[-1]}"
