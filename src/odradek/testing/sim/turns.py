"""The turns of one life's loop, each of them a step of the world."""

from collections import deque
from collections.abc import Callable


class Turns:
    """Callbacks for later turns of a node's loop."""

    def __init__(self) -> None:
        # Oldest first.
        self.waiting: deque[Callable[[], None]] = deque()

    def defer(self, callback: Callable[[], None]) -> None:
        """See `Defer`."""
        self.waiting.append(callback)

    def run_next(self) -> None:
        """Run the oldest; there is one."""
        self.waiting.popleft()()

    def run(self) -> None:
        """Run all, also those that come meanwhile."""
        while self.waiting:
            self.run_next()
