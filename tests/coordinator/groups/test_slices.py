from collections.abc import Callable, Iterator

import pytest

from odradek.coordinator.groups.slices import SlicedWork


def work(name: str, slices: int, done: list[str]) -> Iterator[None]:
    for number in range(slices):
        done.append(f"{name}{number}")
        yield
    done.append(f"{name} done")


def test_pieces_of_work_run_one_after_the_other() -> None:
    turns: list[Callable[[], None]] = []
    done: list[str] = []
    sliced = SlicedWork(turns.append)
    sliced.do(work("a", 2, done))
    sliced.do(work("b", 1, done))
    sliced.do(work("c", 0, done))
    assert done == ["a0", "b0", "c done"]
    while turns:
        assert len(turns) == 1
        turns.pop()()
    assert done[3:] == ["a1", "a done", "b done"]


def test_work_that_fails_does_not_keep_others_from_being_done() -> None:
    def fails() -> Iterator[None]:
        yield
        raise ValueError("broken")

    turns: list[Callable[[], None]] = []
    done: list[str] = []
    sliced = SlicedWork(turns.append)
    sliced.do(fails())
    sliced.do(work("b", 1, done))
    with pytest.raises(ValueError, match="broken"):
        turns.pop()()
    turns.pop()()
    assert done == ["b0", "b done"]
