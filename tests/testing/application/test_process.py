"""Processes of an application: they are killed between two turns, stand still, and end."""

import asyncio

import pytest

from odradek.testing import Cluster, ProcessKilled
from odradek.testing.application.simulation import CLEANUP_S, Simulation


def test_a_killed_process_runs_nothing_more_while_the_test_lasts() -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            while True:
                await asyncio.sleep(1)
                said.append("works")
        finally:
            said.append("ends")
            await asyncio.sleep(1)
            said.append("has ended")

    async def test(cluster: Cluster) -> list[str]:
        worker = cluster.spawn(work())
        await asyncio.sleep(2.5)
        worker.kill()
        worker.kill()
        assert not worker.is_alive
        await asyncio.sleep(5)
        return list(said)

    assert Simulation(1, brokers=1).run(test) == ["works", "works"]
    assert said[2:] == ["ends"], "buried, without any more time"


def test_a_process_can_kill_itself() -> None:
    async def die(cluster: Cluster, after: list[str]) -> None:
        simulation.processes[1].kill()
        await asyncio.sleep(0)
        after.append("lives")

    async def test(cluster: Cluster) -> list[str]:
        after: list[str] = []
        with pytest.raises(ProcessKilled, match="worker was killed"):
            await cluster.spawn(die(cluster, after), name="worker")
        return after

    simulation = Simulation(1, brokers=1)
    assert simulation.run(test) == []


def test_a_process_is_awaited_for_its_result_or_its_error() -> None:
    async def divide(by: int) -> int:
        await asyncio.sleep(1)
        return 12 // by

    async def test(cluster: Cluster) -> None:
        halved, failed = cluster.spawn(divide(2)), cluster.spawn(divide(0))
        assert await halved == await halved == 6
        with pytest.raises(ZeroDivisionError):
            await failed

    Simulation(1, brokers=1).run(test)


def test_the_error_of_a_process_that_nobody_awaits_fails_the_test() -> None:
    async def fail() -> None:
        raise ValueError("nobody hears me")

    async def test(cluster: Cluster) -> None:
        cluster.spawn(fail())
        await asyncio.sleep(1)

    with pytest.raises(ValueError, match="nobody hears me"):
        Simulation(1, brokers=1).run(test)


def test_a_paused_process_stands_still_and_then_sees_that_time_has_passed() -> None:
    async def tick(ticks: list[float]) -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(asyncio.get_running_loop().time())

    async def test(cluster: Cluster) -> list[float]:
        ticks: list[float] = []
        begun = asyncio.get_running_loop().time()
        ticking = cluster.spawn(tick(ticks))
        await asyncio.sleep(2.5)
        ticking.pause()
        await asyncio.sleep(10)
        ticking.resume()
        await asyncio.sleep(1.5)
        return [round(tick - begun, 1) for tick in ticks]

    assert Simulation(1, brokers=1).run(test) == [1, 2, 12.5, 13.5]


def test_what_is_left_at_the_end_is_cancelled_and_may_take_its_time() -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(10)
            said.append("ended in good order")

    async def test(cluster: Cluster) -> None:
        cluster.spawn(work())
        asyncio.create_task(work())  # noqa: RUF006 - it is to be left
        await asyncio.sleep(1)

    Simulation(1, brokers=1).run(test)
    assert said == ["ended in good order"] * 2


def test_a_task_that_never_ends_is_given_up() -> None:
    cancelled: list[float] = []

    async def stay() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                cancelled.append(asyncio.get_running_loop().time())

    async def test(cluster: Cluster) -> None:
        cluster.spawn(stay())
        await asyncio.sleep(1)

    simulation = Simulation(1, brokers=1)
    simulation.run(test)
    given_up_ms = simulation.world.clock.monotonic_ms()
    assert CLEANUP_S <= given_up_ms / 1000 - cancelled[0] < CLEANUP_S + 2
