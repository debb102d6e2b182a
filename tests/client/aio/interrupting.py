"""Cancels calls of a client at each point where they wait.

    async for ended in interrupted(lambda: consumer.poll(1)):
        ...     # the client must be usable now, whether the call was cancelled (None) or has ended

A call is begun again for each of its points, twice: it is cancelled as soon as it waits there, and when what
it waits for has just come, which is where results get lost.
"""

import asyncio
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

POINTS_MAX: Final = 200
"""No call of a test waits at more points."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """A call that had ended before it was to be cancelled."""

    result: T


async def interrupted(
    call: Callable[[], Coroutine[Any, Any, T]], *, points_max: int = POINTS_MAX
) -> AsyncIterator[Ended[T] | None]:
    """What becomes of a call: None for each time that it was cancelled, at last its result."""
    for number in range(points_max):
        ended: Ended[T] | None = None
        for comes_first in (False, True):
            ended = await cancelled_at(call(), number, comes_first=comes_first)
            yield ended
        if ended is not None:
            return
    raise AssertionError(f"the call waits at more than {points_max} points")


async def cancelled_at(call: Coroutine[Any, Any, T], number: int, *, comes_first: bool) -> Ended[T] | None:
    """Run a call in a task, which is cancelled at the point with this number.

    `comes_first`: when what it waits for is there, before the call goes on.
    """
    task = asyncio.get_running_loop().create_task(_counted(call, number, comes_first=comes_first))
    try:
        return Ended(await task)
    except asyncio.CancelledError:
        return None


@types.coroutine
def _counted(call: Coroutine[Any, Any, T], number: int, *, comes_first: bool) -> Generator[Any, Any, T]:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    left = number
    raised: BaseException | None = None
    while True:
        try:
            awaited = call.send(None) if raised is None else call.throw(raised)
        except StopIteration as end:
            result: T = end.value
            return result
        raised = None
        if left == 0:
            if comes_first and awaited is not None:
                awaited.add_done_callback(lambda _: task.cancel())
            else:
                loop.call_soon(task.cancel)
        left -= 1
        try:
            yield awaited
        except BaseException as thrown:
            raised = thrown
