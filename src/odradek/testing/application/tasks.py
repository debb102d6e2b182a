"""Tasks and futures of a simulated loop: numbered, so that a set of them has the same order in every run.

asyncio's own are hashed by their addresses in memory, and `asyncio.wait` returns sets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from odradek.testing.application.loop import SimLoop

T = TypeVar("T")


class SimFuture(asyncio.Future[T]):
    """A future with a number."""

    def __init__(self, loop: SimLoop) -> None:
        self._number = loop.next_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class SimTask(asyncio.Task[T]):
    """A task with a number."""

    def __init__(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        loop: SimLoop,
        name: str | None,
        context: Context | None,
    ) -> None:
        self.number = loop.next_number()
        super().__init__(coro, loop=loop, name=name or f"task-{self.number}", context=context)

    def __hash__(self) -> int:
        return self.number
