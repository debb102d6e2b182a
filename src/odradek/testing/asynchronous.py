"""The methods of `Broker` for coroutine tests: each call waits on another thread, so the test's loop runs on.

    await broker.aio.wait_for("orders", 3)

On asyncio and on trio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from odradek.base.errors import OdradekError
from odradek.testing.broker import Broker
from odradek.testing.tested_group import TestedGroup

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Verbs(Protocol[T_co]):
    """Has the methods of `owner` as coroutines."""

    @property
    def owner(self) -> T_co:
        """A broker or a cluster."""


def twin_of(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[Verbs[T], P], Awaitable[R]]:
    """Returns the method as a coroutine function; it calls a subclass's override where there is one."""
    name = method.__name__

    async def twin(self: Verbs[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        call: Callable[[], R] = partial(getattr(self.owner, name), *args, **kwargs)
        try:
            return await on_another_thread(call)
        except OdradekError as error:
            raise error.with_traceback(None)  # noqa: B904 - the same error; see `tracebacks`

    twin.__name__, twin.__doc__ = name, method.__doc__
    return twin


class AsyncGroup:
    """The methods of a `TestedGroup`, as coroutines."""

    def __init__(self, group: TestedGroup) -> None:
        self.owner = group

    stable = twin_of(TestedGroup.stable)
    lag_zero = twin_of(TestedGroup.lag_zero)
    position_resolved = twin_of(TestedGroup.position_resolved)


class AsyncVerbs:
    """The methods of a `Broker`, as coroutines."""

    def __init__(self, broker: Broker) -> None:
        self.owner = broker

    start = twin_of(Broker.start)
    stop = twin_of(Broker.stop)
    restart = twin_of(Broker.restart)
    kill = twin_of(Broker.kill)
    pause = twin_of(Broker.pause)
    resume = twin_of(Broker.resume)
    close = twin_of(Broker.close)
    create_topic = twin_of(Broker.create_topic)
    delete_topic = twin_of(Broker.delete_topic)
    topics = twin_of(Broker.topics)
    produce = twin_of(Broker.produce)
    records = twin_of(Broker.records)
    wait_for = twin_of(Broker.wait_for)
    wait_group_at_rest = twin_of(Broker.wait_group_at_rest)
    wait_lag_zero = twin_of(Broker.wait_lag_zero)
    describe = twin_of(Broker.describe)

    def group(self, name: str) -> AsyncGroup:
        """See `Broker.group`."""
        return AsyncGroup(self.owner.group(name))


async def on_another_thread(call: Callable[[], R]) -> R:
    """Returns the result of `call`, run on another thread so that asyncio's or trio's loop is not blocked."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import trio

        return await trio.to_thread.run_sync(call)
    return await asyncio.to_thread(call)
