"""Groups small items of work into steps (`steps`).

    pace = Pace()
    for partition in partitions:
        ...                          an item: up to ten microseconds
        if pace.is_over():
            yield None

Fewer items than a step holds make no step at all.
"""

from odradek.base.execution.steps import ITEMS_PER_STEP


class Pace:
    """Counts the items of one step."""

    __slots__ = ("_items_per_step", "_left")

    def __init__(self, items_per_step: int = ITEMS_PER_STEP) -> None:
        """A step may have other than ITEMS_PER_STEP items where they take less or more than those."""
        self._items_per_step = items_per_step
        # Items until the step is full, at least 1.
        self._left = items_per_step

    def is_over(self, items: int = 1) -> bool:
        """Count items that were handled or are handled next; returns whether they fill the step."""
        self._left -= items
        if self._left > 0:
            return False
        self._left = self._items_per_step
        return True
