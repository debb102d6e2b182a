"""A short clock that advances at random, so that the seed decides where long work is cut into slices."""

from typing import Final

from odradek.base.chance import Chance
from odradek.base.execution import TURN_NS

USUAL_STEPS: Final = (1, 2, 5, 40)
"""The choices for the usual number of steps in a slice; the seed chooses one for each life of a node."""


class DrawnTime:
    """Every reading advances it, by twice the usual time of a step at most."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._twice_usual_ns = 2 * TURN_NS // USUAL_STEPS[chance.below(len(USUAL_STEPS))]
        self._now_ns = 0

    def __call__(self) -> int:
        """See `ShortClock`."""
        self._now_ns += self._chance.below(self._twice_usual_ns + 1)
        return self._now_ns


class CountedTime:
    """Every reading advances it by the same time: for tests of slices."""

    def __init__(self, step_ns: int = TURN_NS) -> None:
        self._step_ns = step_ns
        self._now_ns = 0

    def __call__(self) -> int:
        """See `ShortClock`."""
        self._now_ns += self._step_ns
        return self._now_ns
