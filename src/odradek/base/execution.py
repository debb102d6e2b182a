"""Where work runs that does not run at once: in a later turn of the owner's thread, or on other threads."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Defer: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a callback in a later turn of the loop, in the order of the calls."""


class Background(Protocol):
    """Runs calls that block on other threads, and reports on the thread that owns the state."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """Run `call`; then `done` with what it returned, or `failed` with what it raised."""
