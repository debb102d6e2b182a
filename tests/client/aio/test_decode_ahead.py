"""Records are decoded between two polls, on other threads where that takes long."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from odradek.base.errors import InvalidRecord
from odradek.client.aio.decode_ahead import DecodeAhead
from odradek.client.aio.driver import Driver
from odradek.client.core.consumer.completed_fetch import Away, CompletedFetch
from odradek.client.core.consumer.fetcher import Fetcher

pytestmark = pytest.mark.asyncio


class Completed:
    """A completed fetch that needs one call elsewhere."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def has(self, away: Away, result: Any) -> None:
        self.results.append(result)


class Fetches:
    """A fetcher with some slices of work, and a call elsewhere behind them."""

    def __init__(self, slices: int, call: Callable[[], Any] | None = None) -> None:
        self.slices = slices
        self.completed = Completed()
        self._call = call
        self.is_empty = False

    def prepare(self) -> bool:
        self.slices -= self.slices > 0
        return self.slices > 0

    @property
    def away(self) -> Away | None:
        if self._call is None or self.slices or self.completed.results:
            return None
        return Away(cast(CompletedFetch, self.completed), self._call)


class Connections:
    """A driver, of which only is known its loop, and whether it is closed."""

    is_closed = False

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()


def ahead_of(fetches: Fetches, connections: Connections | None = None) -> DecodeAhead:
    driver = cast(Driver, connections or Connections())
    return DecodeAhead(cast(Fetcher, fetches), driver)


async def test_c2_it_decodes_a_slice_in_each_step_of_the_loop() -> None:
    fetches = Fetches(3)
    ahead = ahead_of(fetches)
    assert not ahead.due(0)
    ahead.due(0)
    left = [fetches.slices]
    while fetches.slices:
        await asyncio.sleep(0)
        left.append(fetches.slices)
    assert sorted(set(left)) == [0, 1, 2, 3]
    assert left == sorted(left, reverse=True)
    assert not await ahead.decoded()


async def test_nothing_is_done_while_nothing_came() -> None:
    fetches = Fetches(3)
    fetches.is_empty = True
    ahead = ahead_of(fetches)
    ahead.due(0)
    assert not ahead._is_scheduled
    assert fetches.slices == 3


async def test_nothing_is_begun_when_the_client_is_closed() -> None:
    connections, fetches = Connections(), Fetches(3)
    ahead = ahead_of(fetches, connections)
    ahead.due(0)
    while fetches.slices == 3:
        await asyncio.sleep(0)
    connections.is_closed = True
    for _ in range(5):
        await asyncio.sleep(0)
    assert fetches.slices == 2


async def test_a_call_elsewhere_is_made_once_for_the_polls_that_need_it() -> None:
    threads = []
    goes_on = threading.Event()

    def call() -> str:
        goes_on.wait(10)
        threads.append(threading.current_thread())
        return "decoded"

    fetches = Fetches(1, call)
    ahead = ahead_of(fetches)
    ahead.due(0)
    while fetches.slices:
        await asyncio.sleep(0)
    poll = asyncio.create_task(ahead.decoded())
    await asyncio.sleep(0)
    poll.cancel()
    with pytest.raises(asyncio.CancelledError):
        await poll
    goes_on.set()
    assert await ahead.decoded()
    assert fetches.completed.results == ["decoded"]
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


async def test_a_fault_of_the_records_is_theirs_and_another_one_the_polls() -> None:
    faults: list[Exception] = [MemoryError(), InvalidRecord("torn")]

    def call() -> None:
        raise faults.pop(0)

    fetches = Fetches(0, call)
    ahead = ahead_of(fetches)
    with pytest.raises(MemoryError):
        await ahead.decoded()
    assert await ahead.decoded()
    assert [str(one) for one in fetches.completed.results] == ["torn"]


async def test_a_call_elsewhere_is_not_made_again_when_another_came_between() -> None:
    made = []
    goes_on = threading.Event()

    def paused() -> str:
        made.append("paused")
        goes_on.wait(10)
        return "decoded"

    first, second = Fetches(0, paused), Fetches(0, lambda: made.append("other"))
    ahead = ahead_of(first)
    polls = []
    for fetches in (first, second, first):
        ahead._fetcher = cast(Fetcher, fetches)
        polls.append(asyncio.create_task(ahead.decoded()))
        await asyncio.sleep(0)
    goes_on.set()
    assert all(await asyncio.gather(*polls))
    assert sorted(made) == ["other", "paused"]
    assert first.completed.results == ["decoded"]
