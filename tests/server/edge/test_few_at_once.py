"""Work of many steps, and how much of it is half done at any time."""

from collections.abc import Callable

import pytest

from odradek.base.execution import TURN_NS, Slices, Steps, TurnTime
from odradek.server.edge.few_at_once import AT_ONCE_MAX, FREE_STEPS, FewAtOnce
from odradek.testing.sim import CountedTime


class Bench:
    """Makes answers, a step of which takes a quarter of a turn."""

    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []
        self.slices = Slices(self.turns.append, TurnTime(CountedTime(TURN_NS // 4)))
        self.few = FewAtOnce(self.slices)
        # What has used up its free steps and is not answered.
        self.unfinished: set[str] = set()
        self.answered: list[str] = []
        self.failures: list[str] = []
        self.most_unfinished = 0
        self.causes: dict[str, set[str]] = {}

    def run(self, name: str, steps: int, *, fails: bool = False) -> None:
        self.slices.cause = f"request {name}"
        self.few.run(self._answer(name, steps, fails=fails), lambda error: self.failures.append(str(error)))
        self.slices.cause = None

    def _answer(self, name: str, steps: int, *, fails: bool) -> Steps[None]:
        for step in range(steps):
            if step > FREE_STEPS:
                self.unfinished.add(name)
            self.most_unfinished = max(self.most_unfinished, len(self.unfinished))
            self.causes.setdefault(name, set()).add(str(self.slices.cause))
            yield
        self.unfinished.discard(name)
        if fails:
            raise ValueError(name)
        self.answered.append(name)

    def settle(self) -> None:
        while self.turns:
            self.turns.pop(0)()


def test_few_large_answers_are_half_made_at_a_time() -> None:
    bench = Bench()
    names = [f"a{number}" for number in range(40)]
    for name in names:
        bench.run(name, 200)
    bench.settle()
    assert bench.most_unfinished == AT_ONCE_MAX
    assert sorted(bench.answered) == sorted(names)
    assert (bench.slices.waiting, bench.few.waiting) == (0, 0)


def test_a_small_answer_waits_for_no_place() -> None:
    bench = Bench()
    for number in range(10):
        bench.run(f"a{number}", 2_000)
    bench.run("small", FREE_STEPS - 1)
    bench.settle()
    assert bench.answered[0] == "small"


@pytest.mark.parametrize("steps", [FREE_STEPS, FREE_STEPS + 1, 100])
def test_one_that_fails_gives_its_place_back(steps: int) -> None:
    bench = Bench()
    for number in range(10):
        bench.run(f"a{number}", steps, fails=number % 2 == 0)
    bench.settle()
    assert sorted(bench.failures) == ["a0", "a2", "a4", "a6", "a8"]
    assert sorted(bench.answered) == ["a1", "a3", "a5", "a7", "a9"]
    bench.run("later", 100)
    bench.settle()
    assert bench.answered[-1] == "later"


def test_thousands_of_waiting_answers_do_not_nest() -> None:
    bench = Bench()
    for number in range(3_000):
        bench.run(f"a{number}", FREE_STEPS + 1)
    bench.settle()
    assert len(bench.answered) == 3_000


def test_a_slice_names_the_request_whose_answer_it_makes() -> None:
    bench = Bench()
    for number in range(8):
        bench.run(f"a{number}", 100)
    bench.settle()
    assert bench.causes == {f"a{number}": {f"request a{number}"} for number in range(8)}


def test_what_a_piece_leads_to_waits_for_no_place_and_holds_one() -> None:
    bench = Bench()
    for number in range(10):
        bench.run(f"a{number}", 1_000)

    def led_to() -> Steps[None]:
        yield from bench._answer("led to", 3_000, fails=False)

    for _ in range(200):
        bench.turns.pop(0)()
    bench.few.add(led_to(), lambda error: None)
    assert bench.most_unfinished == AT_ONCE_MAX
    bench.settle()
    assert bench.answered[-1] == "led to"
    assert bench.most_unfinished == AT_ONCE_MAX + 1
    assert bench.few.waiting == 0
