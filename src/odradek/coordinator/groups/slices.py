"""Work that would hold everybody else up: done in slices, one in each turn of the loop.

Law: pieces of work run one after the other, in the order in which they came; the first slice of each runs at
once, so that little work is done before `do` returns.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

Defer: TypeAlias = Callable[[Callable[[], None]], None]


class SlicedWork:
    """Generators that yield where a slice ends. `defer` runs a callback in a later turn of the loop."""

    __slots__ = ("_defer", "_works")

    def __init__(self, defer: Defer) -> None:
        self._defer = defer
        # What is begun and not done, the oldest first; its next slice is due whenever there is any.
        self._works: deque[Iterator[None]] = deque()

    def do(self, work: Iterator[None]) -> None:
        """Do the first slice now, the rest in later turns."""
        for _ in work:
            self._works.append(work)
            if len(self._works) == 1:
                self._defer(self._do_slice)
            return

    def _do_slice(self) -> None:
        is_done = True
        try:
            is_done = next(self._works[0], self) is self
        finally:
            if is_done:
                self._works.popleft()
            if self._works:
                self._defer(self._do_slice)
