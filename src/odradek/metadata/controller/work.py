"""What the controller does for one event: a generator of store operations and pauses.

A pause lets the loop do other work; the controller itself takes no other event meanwhile, so
the image stays as it is. Work counts its steps, and pauses when they fill a slice:

    pace = Pace()
    for partition in partitions:
        ...                          a step: up to ten microseconds
        if pace.is_over():
            yield PAUSE
"""

from collections.abc import Generator
from typing import Final, TypeAlias, TypeVar

from odradek.base.values import value
from odradek.metadata.store import Operation, Result

T = TypeVar("T")

STEPS_PER_SLICE: Final = 100
"""Of up to ten microseconds each: a slice is at most a millisecond."""


@value
class Pause:
    """Go on in a later turn of the loop."""


PAUSE: Final = Pause()

Work: TypeAlias = Generator[Operation | Pause, Result, T]
"""Yields an operation and is sent its result, or yields a pause; returns a value."""


class Pace:
    """Counts the steps of one slice."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        # Steps until the slice is full, at least 1.
        self._left = STEPS_PER_SLICE

    def is_over(self, steps: int = 1) -> bool:
        """Count steps; whether they fill the slice, and the next one begins."""
        self._left -= steps
        if self._left > 0:
            return False
        self._left = STEPS_PER_SLICE
        return True
