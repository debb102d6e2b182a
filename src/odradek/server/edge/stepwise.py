"""Answers that are made in steps: what grows with a request is done a few items at a time.

    topics = yield from stepwise(request.topics, look_up)     [look_up(topic) for topic in request.topics]

Whoever drives the steps lets others be served between two of them; few items make no step at all.
"""

from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

ITEMS_PER_STEP: Final = 16
"""Of up to ten microseconds each."""


def stepwise(
    items: Iterable[T], make: Callable[[T], R], per_step: int = ITEMS_PER_STEP
) -> Generator[None, None, list[R]]:
    """Make something of each item; returns them in order. A step ends after `per_step` items."""
    made: list[R] = []
    remaining = iter(items)
    while few := [make(item) for item in islice(remaining, per_step)]:
        made += few
        if len(few) == per_step:
            yield
    return made


def at_once(steps: Generator[None, None, R]) -> R:
    """Run all steps now, for answers that are known to be small; returns the value."""
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        value: R = stop.value
        return value
