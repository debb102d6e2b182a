"""Small items of the controller's work, several of which make one step.

The controller yields between two steps (`base.execution`), and its host goes on in this turn of the loop or
in a later one; the controller takes no other event meanwhile, so the image stays as it is.

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
        """Count items; whether they fill the step, and the next one begins."""
        self._left -= items
        if self._left > 0:
            return False
        self._left = ITEMS_PER_STEP
        return True
