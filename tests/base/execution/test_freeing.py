"""Values of very many objects are freed a few at a time, and only what nobody else holds."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.base.execution import freed
from odradek.base.execution.freeing import FREED_PER_STEP


class Counted:
    """Counts how many of its kind were freed."""

    freed = 0

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __del__(self) -> None:
        Counted.freed += 1


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """What is freed here is freed by its last reference."""
    Counted.freed = 0
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def freed_by_step(values: list[Any]) -> list[int]:
    """How many were freed in each step."""
    by_step, before = [], 0
    for _ in freed(values):
        by_step.append(Counted.freed - before)
        before = Counted.freed
    return by_step


def many(count: int = 1_000) -> list[Counted]:
    return [Counted() for _ in range(count)]


@pytest.mark.parametrize(
    "value",
    [
        lambda: many(),
        lambda: tuple(many()),
        lambda: set(many()),
        lambda: dict.fromkeys(many()),
        lambda: dict(enumerate(many())),
        lambda: Counted(many()),
        lambda: Counted("topics", Counted(many()), None),
        lambda: [Counted(many(10)) for _ in range(100)],
        lambda: {number: Counted([Counted(many(2))]) for number in range(400)},
        lambda: [[[Counted()] * 3] for _ in range(1_000)],
    ],
)
def test_each_step_frees_a_few(value: Any) -> None:
    values = [value()]
    by_step = freed_by_step(values)
    assert sum(by_step) == Counted.freed >= 1_000
    assert max(by_step) <= FREED_PER_STEP
    assert values == []


def test_nothing_is_freed_before_the_first_step_has_ended() -> None:
    assert freed_by_step([many(3)])[0] == 0


def test_what_others_hold_is_not_changed() -> None:
    theirs = many()
    shared = Counted(many(), dict(enumerate(many())))
    values = [Counted([Counted(theirs), Counted(shared), *[shared] * 200]), shared, theirs]
    by_step = freed_by_step(values)
    assert sum(by_step) == 3
    assert (len(theirs), len(shared.parts[0]), len(shared.parts[1])) == (1_000, 1_000, 1_000)


def test_what_another_holds_is_freed_when_that_lets_go() -> None:
    value = Counted(many())
    freed_by_step([value])
    assert Counted.freed == 0
    del value
    assert Counted.freed == 1_001


def test_a_cycle_is_left_to_the_collector() -> None:
    ring: list[Any] = [Counted()]
    ring.append(ring)
    values = [ring]
    del ring
    assert sum(freed_by_step(values)) <= 1
    gc.collect()
    assert Counted.freed == 1


def test_the_steps_do_not_depend_on_the_collector() -> None:
    """It stops to track tuples and dictionaries without containers, at a time of its own."""

    def steps(*, is_collected: bool) -> int:
        values: list[Any] = [[Counted((str(number), number), {number: "one"}) for number in range(1_000)]]
        if is_collected:
            gc.collect()
        return len(list(freed(values)))

    assert steps(is_collected=False) == steps(is_collected=True)
