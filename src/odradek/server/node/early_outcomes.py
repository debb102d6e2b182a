"""Turns calls that give their outcome to a callback, perhaps before they return, into calls that return it.

A coordinator's ports never call back before they return. What they stand on here may: an append of the only
replica is replicated at once, a producer id is there at once.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def returned_or_later(start: Callable[[Callable[[T], None]], object], later: Callable[[T], None]) -> T | None:
    """Give `start` a callback; return what that is called with meanwhile, else let `later` have it."""
    early: list[T] = []
    has_returned = False

    def tell(outcome: T) -> None:
        if has_returned:
            later(outcome)
        else:
            early.append(outcome)

    start(tell)
    has_returned = True
    return early[0] if early else None
