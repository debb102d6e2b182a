"""A few of many names, in sentences that people read."""

from collections.abc import Sequence
from typing import Final

NAMED_MAX: Final = 5
"""How many names a sentence has, unless it says otherwise."""


def some_of(names: Sequence[object], most: int = NAMED_MAX) -> str:
    """The first names, and how many there are more: `a-0, a-1, a-2, a-3, a-4 and 105 more`."""
    listed = ", ".join(str(name) for name in names[:most])
    more = len(names) - most
    return f"{listed} and {more:,} more" if more > 0 else listed
