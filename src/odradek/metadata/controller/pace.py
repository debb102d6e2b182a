"""Groups small items of the controller's work into steps.

The controller yields between two steps (`base.execution`), and its host continues it in this turn of the loop
or in a later one. The controller handles no other event meanwhile, so the image does not change.

    pace = Pace()
    for partition in partitions:
        ...                          an item: up to ten microseconds
        if pace.is_over():
            yield None
"""

from odradek.base.execution import ITEMS_PER_STEP


class Pace:
    """Counts the items of one step."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        # Items until the step is full, at least 1.
        self._left = ITEMS_PER_STEP

    def is_over(self, items: int = 1) -> bool:
        """Count items; returns whether they fill the step: then the next step begins."""
        self._left -= items
        if self._left > 0:
            return False
        self._left = ITEMS_PER_STEP
        return True
