"""What happens later: in a later turn of the owner's thread, on others, or when somebody has answered."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Defer: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a callback in a later turn of the loop, in the order of the calls."""


Later: TypeAlias = Callable[[T], None]
"""Where the result of a call goes that may take time.

The call returns its result when that is known at once. Else it returns None, or what the caller may abandon,
and calls this once, in an event of its own: never before it has returned.
"""


def deliver(known: T | None, later: Later[T]) -> None:
    """Give a result that a call has returned to where it would have gone later."""
    if known is not None:
        later(known)


class Background(Protocol):
    """Runs blocking calls on other threads, and calls back on the thread that owns the state."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """Run `call`; then `done` with what it returned, or `failed` with what it raised."""
