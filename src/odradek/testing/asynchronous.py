"""The methods of `Broker` for coroutine tests: each call waits on another thread, so the test's loop runs on.

    await broker.aio.wait_for("orders", 3)

On asyncio and on trio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from odradek.base.errors import OdradekError
from odradek.testing.broker import Broker

P = ParamSpec("P")
R = TypeVar("R")


def _twin(method: Callable[Concatenate[Broker, P], R]) -> Callable[Concatenate[AsyncVerbs, P], Awaitable[R]]:
    """Returns the method as a coroutine function; it calls a subclass's override where there is one."""
    name = method.__name__

    async def twin(self: AsyncVerbs, /, *args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        call: Callable[[], R] = partial(getattr(self.broker, name), *args, **kwargs)
        try:
            return await on_another_thread(call)
        except OdradekError as error:
            raise error.with_traceback(None)  # noqa: B904 - the same error; see `tracebacks`

    twin.__name__, twin.__doc__ = name, method.__doc__
    return twin


class AsyncVerbs:
    """The methods of a `Broker`, as coroutines."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    start = _twin(Broker.start)
    stop = _twin(Broker.stop)
    restart = _twin(Broker.restart)
    kill = _twin(Broker.kill)
    pause = _twin(Broker.pause)
    resume = _twin(Broker.resume)
    close = _twin(Broker.close)
    create_topic = _twin(Broker.create_topic)
    delete_topic = _twin(Broker.delete_topic)
    topics = _twin(Broker.topics)
    produce = _twin(Broker.produce)
    records = _twin(Broker.records)
    wait_for = _twin(Broker.wait_for)
    wait_group_at_rest = _twin(Broker.wait_group_at_rest)
    wait_lag_zero = _twin(Broker.wait_lag_zero)
    describe = _twin(Broker.describe)


async def on_another_thread(call: Callable[[], R]) -> R:
    """Returns the result of `call`, run on another thread so that asyncio's or trio's loop is not blocked."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import trio

        return await trio.to_thread.run_sync(call)
    return await asyncio.to_thread(call)
