import asyncio
import threading

import pytest

from odradek.base.execution import Lane
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.executor import Executor


@pytest.mark.asyncio
async def test_results_and_errors_come_back_on_the_loops_thread(stalls: LoopStalls) -> None:
    executor = Executor(asyncio.get_running_loop(), stalls)
    seen: list[tuple[str, int]] = []
    home = threading.get_ident()
    executor.submit(threading.get_ident, lambda there: seen.append(("done", there)), lambda error: None)
    executor.submit(
        lambda: 1 // 0, lambda done: None, lambda error: seen.append((str(error), threading.get_ident()))
    )
    await executor.close()
    (_, there), (message, here) = sorted(seen)
    assert there != home
    assert (message, here) == ("integer division or modulo by zero", home)


@pytest.mark.asyncio
async def test_run_returns_and_raises(stalls: LoopStalls) -> None:
    executor = Executor(asyncio.get_running_loop(), stalls)
    assert await executor.run(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await executor.run(lambda: 1 // 0)
    await executor.close()


@pytest.mark.asyncio
async def test_a_lane_keeps_its_order_and_closing_waits_for_all_of_it(stalls: LoopStalls) -> None:
    executor = Executor(asyncio.get_running_loop(), stalls)
    lane = Lane(executor)
    running: list[int] = []
    done: list[int] = []
    overlaps: list[int] = []

    def call(number: int) -> int:
        running.append(number)
        if len(running) != 1:
            overlaps.append(number)
        running.remove(number)
        return number

    for number in range(50):
        lane.submit(lambda number=number: call(number), done.append, lambda error: None)  # type: ignore[misc]
    await executor.close()
    assert done == list(range(50))
    assert overlaps == []


@pytest.mark.asyncio
async def test_a_lane_goes_on_after_a_call_that_raises(stalls: LoopStalls) -> None:
    executor = Executor(asyncio.get_running_loop(), stalls)
    lane = Lane(executor)
    seen: list[str] = []
    lane.submit(lambda: 1 // 0, lambda done: None, lambda error: seen.append(type(error).__name__))
    lane.submit(lambda: "next", seen.append, lambda error: None)
    await executor.close()
    assert seen == ["ZeroDivisionError", "next"]


@pytest.mark.asyncio
async def test_closing_waits_for_what_is_submitted_just_after_the_last_report(stalls: LoopStalls) -> None:
    loop = asyncio.get_running_loop()
    executor = Executor(loop, stalls)
    done: list[str] = []

    def first_done(result: str) -> None:
        done.append(result)
        loop.call_soon(executor.submit, lambda: "second", second_done, lambda error: None)

    def second_done(result: str) -> None:
        done.append(result)
        executor.submit(lambda: "third", done.append, lambda error: None)

    executor.submit(lambda: "first", first_done, lambda error: None)
    await executor.close()
    assert done == ["first", "second", "third"]
