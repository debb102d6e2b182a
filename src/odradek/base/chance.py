"""The randomness port: cores take every random value from it, so that a seed reproduces a run."""

import random
from typing import Protocol
from uuid import UUID


class Chance(Protocol):
    """A source of numbers and ids; equal seeds give equal sequences."""

    def below(self, bound: int) -> int:
        """A whole number in [0, `bound`); `bound` is at least 1."""

    def fraction(self) -> float:
        """A number in [0, 1)."""

    def uuid(self) -> UUID:
        """A random (version 4) UUID."""


class SeededChance:
    """`random.Random` behind the port; without a seed it takes one from the operating system."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - ids and jitter, never secrets

    def below(self, bound: int) -> int:
        """See `Chance.below`."""
        return self._random.randrange(bound)

    def fraction(self) -> float:
        """See `Chance.fraction`."""
        return self._random.random()

    def uuid(self) -> UUID:
        """See `Chance.uuid`."""
        return UUID(int=self._random.getrandbits(128), version=4)
