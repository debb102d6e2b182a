"""The checks of `./dev soak` fail at everything that they are there to find."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from campaigns.soak.check import Broken, check_copies, check_memory, check_nothing_left, check_same


def test_each_record_is_there_once() -> None:
    check_copies("copies", [3, 1, 2], {1, 2})
    check_same("copies", [3, 1], [1, 2, 3])


@pytest.mark.parametrize(
    ("found", "words"),
    [([1, 2, 2], "1 records are more than once in copies"), ([1], "1 acknowledged records are missing")],
)
def test_a_record_that_is_twice_or_not_there_is_found(found: Sequence[int], words: str) -> None:
    with pytest.raises(Broken, match=words):
        check_copies("copies", found, {1, 2})


def test_a_record_that_nobody_wrote_is_found() -> None:
    with pytest.raises(Broken, match=r"1 records of copies were never written: \[4\]"):
        check_same("copies", [1, 4], [1, 2, 3])


def test_tasks_that_are_left_over_are_found() -> None:
    async def leave_one() -> None:
        threads = threading.active_count()
        check_nothing_left(threads)
        left = asyncio.create_task(asyncio.Event().wait(), name="left over")
        try:
            with pytest.raises(Broken, match=r"1 tasks are left over: \['left over'\]"):
                check_nothing_left(threads)
        finally:
            left.cancel()

    asyncio.run(leave_one())


def test_threads_that_are_left_over_are_found() -> None:
    async def leave_one() -> None:
        threads, ending = threading.active_count(), threading.Event()
        left = threading.Thread(target=ending.wait, name="left over")
        left.start()
        try:
            with pytest.raises(Broken, match="left over"):
                check_nothing_left(threads)
        finally:
            ending.set()
            left.join()

    asyncio.run(leave_one())


def test_memory_that_grows_on_and_on_is_found() -> None:
    check_memory([40, 70, 75, 90, 95, 96, 97, 98])
    check_memory([50])
    with pytest.raises(Broken, match="from 75 to 150 MB"):
        check_memory([40, 50, 70, 75, 100, 120, 150, 170])
