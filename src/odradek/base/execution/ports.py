"""Ports for work done later: in a later turn of the owner's thread, on another thread, or on an answer."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Defer: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a callback in a later turn of the loop, in the order of the calls."""


Later: TypeAlias = Callable[[T], None]
"""The callback for the result of a call that may take time.

The call returns its result if that is known at once. Otherwise it returns None, or an object that the caller
may abandon, and calls this callback once, in a later event, never before it has returned.
"""


def deliver(known: T | None, later: Later[T]) -> None:
    """Pass a result that a call has returned at once to its `later` callback; does nothing for None."""
    if known is not None:
        later(known)


class Background(Protocol):
    """Runs blocking calls on other threads, and calls back on the thread that owns the state."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """Run `call`; then `done` with what it returned, or `failed` with what it raised."""
