"""Whose turn it is: one after another, in the order in which they joined.

    turn = turns.join()                  at once, where the order is decided
    try: await turn                      it comes when all before have ended
    finally: turns.end(turn)

An `asyncio.Lock` gives its turns in the order in which tasks come to it, and a task that was made earlier may
come later.
"""

import asyncio
from collections import deque
from typing import TypeAlias

Turn: TypeAlias = "asyncio.Future[None]"


class Turns:
    """See the module; used on the thread of the loop."""

    def __init__(self) -> None:
        # The first has its turn, or has given up and is about to end it.
        self._joined: deque[Turn] = deque()

    def join(self) -> Turn:
        """A turn behind all others."""
        turn: Turn = asyncio.get_running_loop().create_future()
        self._joined.append(turn)
        self._begin_first()
        return turn

    def end(self, turn: Turn) -> None:
        """This turn is over, or is not wanted any more."""
        self._joined.remove(turn)
        self._begin_first()

    def _begin_first(self) -> None:
        if self._joined and not self._joined[0].done():
            self._joined[0].set_result(None)
