"""The types of what the tests of the server are given."""

from typing import Protocol

from odradek.testing.sim import SimNode


class ShortClock:
    """A clock for short times that stands still until the test moves it."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class NewNode(Protocol):
    """Makes a node, alone in its cluster, with settings by their names with underscores."""

    def __call__(self, **settings: str) -> SimNode: ...
