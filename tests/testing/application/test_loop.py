"""asyncio on the steps of a world: time, order, errors, and what is refused."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from odradek.testing import Cluster, NotSimulated
from odradek.testing.application.loop import TIMERS_MIN, SimLoop
from odradek.testing.application.simulation import Simulation


def run(test: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def in_cluster(cluster: Cluster) -> Any:
        return await test()

    return Simulation(1, brokers=1).run(in_cluster)


def test_an_hour_of_sleep_takes_an_hour_of_virtual_time() -> None:
    async def test() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.gather(asyncio.sleep(3600), asyncio.sleep(1.5))
        return loop.time() - before

    assert Simulation(1, brokers=1, within=4000).run(lambda cluster: test()) == pytest.approx(3600)


def test_callbacks_run_in_the_order_of_their_times_then_of_their_calls() -> None:
    async def test() -> list[str]:
        loop = asyncio.get_running_loop()
        ran: list[str] = []
        loop.call_later(0.2, ran.append, "third")
        loop.call_later(0.1, ran.append, "first")
        loop.call_at(loop.time() + 0.1, ran.append, "second")
        loop.call_later(0.1, ran.append, "never").cancel()
        loop.call_soon(ran.append, "at once")
        await asyncio.sleep(1)
        return ran

    assert run(test) == ["at once", "first", "second", "third"]


def test_what_becomes_ready_in_a_turn_runs_in_the_next() -> None:
    async def test() -> list[str]:
        loop = asyncio.get_running_loop()
        ran: list[str] = []

        def first() -> None:
            loop.call_soon(ran.append, "third")
            ran.append("first")

        loop.call_soon(first)
        loop.call_soon(ran.append, "second")
        await asyncio.sleep(0.01)
        return ran

    assert run(test) == ["first", "second", "third"]


def test_cancelled_timers_are_dropped() -> None:
    """Each request of a client has a timeout that is cancelled long before it is due."""

    async def test() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        for _ in range(20 * TIMERS_MIN):
            loop.call_later(500, print).cancel()
        return len(loop._timers)

    assert run(test) <= TIMERS_MIN


def test_a_timeout_ends_a_wait() -> None:
    async def test() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 5)

    run(test)


def test_sets_of_tasks_have_the_order_of_their_making() -> None:
    async def test() -> list[str]:
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(30)]
        done, _ = await asyncio.wait(tasks)
        return [task.get_name() for task in done]

    assert run(test) == run(test)
    assert len(run(test)) == 30


def test_a_call_in_an_executor_runs_in_a_later_turn() -> None:
    async def test() -> tuple[str, list[str]]:
        ran: list[str] = []

        def call(word: str) -> str:
            ran.append(word)
            return word

        called = asyncio.get_running_loop().run_in_executor(None, call, "result")
        ran.append("before")
        assert await asyncio.to_thread(call, "again") == "again"
        return await called, ran

    assert run(test) == ("result", ["before", "result", "again"])


def test_an_error_in_an_executor_comes_out_of_the_await() -> None:
    async def test() -> None:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    run(test)


def test_a_callback_that_fails_is_reported_to_the_handler() -> None:
    async def test() -> list[str]:
        messages: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: messages.append(repr(context["exception"])))
        loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return messages

    assert run(test) == ["ZeroDivisionError('integer division or modulo by zero')"]


def test_a_generator_that_is_left_early_is_closed_in_the_loop() -> None:
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0.1)
            closed.append("closed")

    async def test() -> None:
        async for _ in numbers():
            break
        await asyncio.sleep(1)
        assert closed == ["closed"]

    run(test)


@pytest.mark.parametrize(
    "call",
    [
        lambda loop: loop.run_forever(),
        lambda loop: loop.create_server(asyncio.Protocol, "127.0.0.1", 0),
        lambda loop: loop.add_reader(0, print),
        lambda loop: loop.add_signal_handler(15, print),
        lambda loop: loop.subprocess_shell(asyncio.SubprocessProtocol, "true"),
        lambda loop: loop.sock_connect(None, ("127.0.0.1", 1)),
    ],
)
def test_what_reaches_beyond_the_simulation_is_refused(call: Callable[[Any], object]) -> None:
    async def test() -> None:
        with pytest.raises(NotSimulated):
            call(asyncio.get_running_loop())

    run(test)


def test_every_method_of_a_loop_is_there_or_refused() -> None:
    """A method left out would raise a NotImplementedError without a word."""
    inherited = {
        name
        for name in dir(asyncio.AbstractEventLoop)
        if not name.startswith("__") and getattr(SimLoop, name) is getattr(asyncio.AbstractEventLoop, name)
    }
    assert inherited == set()


def test_only_brokers_have_names() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        ((family, _, _, _, address),) = await loop.getaddrinfo("broker1.example", 9092)
        assert (family, address) == (socket.AF_INET, ("10.0.1.1", 9092))
        with pytest.raises(NotSimulated, match=r"the host db\.example is not simulated: there are broker1"):
            await loop.getaddrinfo("db.example", 5432)
        with pytest.raises(NotSimulated, match="TLS"):
            await asyncio.open_connection("broker1.example", 9092, ssl=True)

    run(test)
