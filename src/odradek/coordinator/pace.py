"""Divides work that grows with the topics of a group into steps.

    for topic in topics:
        ...                       an item: a few microseconds
        if pace.is_over():
            yield

Work on fewer than ITEMS_PER_STEP items makes no step at all.
"""

from typing import Final

ITEMS_PER_STEP: Final = 256


class Pace:
    """Counts the items of one step."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = ITEMS_PER_STEP
        """How many items the current step may still handle; at least 1."""

    def is_over(self, items: int = 1) -> bool:
        """Count items that were handled or are handled next; returns whether they fill the step."""
        self._left -= items
        if self._left > 0:
            return False
        self._left = ITEMS_PER_STEP
        return True
