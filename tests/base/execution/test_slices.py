"""Slices of a millisecond, on a clock that every look at it moves."""

from collections.abc import Callable

import pytest

from odradek.base.execution import TURN_NS, Slices, Steps, TurnTime
from odradek.testing.sim import CountedTime

STEP_NS = TURN_NS // 4


class Bench:
    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []
        self.slices = Slices(self.turns.append, TurnTime(CountedTime(STEP_NS)))
        self.done: list[str] = []
        self.failures: list[Exception] = []

    def run(self, name: str, steps: int) -> None:
        self.slices.run(self._steps(name, steps), self.failures.append)

    def _steps(self, name: str, steps: int) -> Steps[None]:
        for number in range(steps):
            self.done.append(f"{name}{number}")
            yield

    def turn(self) -> list[str]:
        """What one turn of the loop does."""
        before = len(self.done)
        turns, self.turns[:] = list(self.turns), []
        for callback in turns:
            callback()
        return self.done[before:]


def test_little_work_is_done_at_once() -> None:
    bench = Bench()
    bench.run("a", 3)
    assert bench.done == ["a0", "a1", "a2"]
    assert (bench.turns, bench.slices.waiting) == ([], 0)


def test_much_work_takes_one_slice_per_turn() -> None:
    bench = Bench()
    bench.run("a", 12)
    assert len(bench.done) == 4
    assert (bench.turn(), bench.turn()) == ([f"a{n}" for n in range(4, 8)], [f"a{n}" for n in range(8, 12)])
    assert bench.turn() == []
    assert (bench.turns, bench.slices.waiting) == ([], 0)


def test_a_turn_has_one_slice_of_what_waited_longest() -> None:
    bench = Bench()
    bench.run("a", 20)
    bench.run("b", 20)
    assert bench.slices.waiting == 2
    assert {name[0] for name in bench.turn()} == {"a"}
    assert {name[0] for name in bench.turn()} == {"b"}
    assert {name[0] for name in bench.turn()} == {"a"}


def test_beside_other_work_a_first_slice_is_shorter() -> None:
    """Many requests of one turn share it."""
    bench = Bench()
    for name in "abcdefgh":
        bench.run(name, 20)
    assert [sum(done[0] == name for done in bench.done) for name in "ah"] == [4, 1]
    assert len(bench.turns) == 1


def test_work_that_fails_says_so_and_the_rest_goes_on() -> None:
    bench = Bench()

    def failing() -> Steps[None]:
        yield from (None for _ in range(6))
        raise ValueError("broken")

    bench.slices.run(failing(), bench.failures.append)
    bench.run("b", 8)
    bench.turn()
    assert [str(failure) for failure in bench.failures] == ["broken"]
    while bench.turns:
        bench.turn()
    assert len(bench.done) == 8


def test_work_begun_within_a_step_takes_turns_like_any_other() -> None:
    bench = Bench()

    def beginning() -> Steps[None]:
        bench.run("inner", 8)
        for _ in range(8):
            yield

    bench.slices.run(beginning(), bench.failures.append)
    assert (bench.slices.waiting, len(bench.turns)) == (2, 1)
    while bench.turns:
        bench.turn()
        assert len(bench.turns) <= 1
    assert len(bench.done) == 8


class Watch:
    """Notes every slice."""

    notable_ns = 0

    def __init__(self) -> None:
        self.noted: list[str] = []

    def note(self, elapsed_ns: int, cause: str) -> None:
        self.noted.append(cause)


def test_a_later_slice_has_the_cause_of_its_work() -> None:
    """Also of work that its steps have begun; and what is begun without a cause has none."""
    turns: list[Callable[[], None]] = []
    watch = Watch()
    slices = Slices(turns.append, TurnTime(CountedTime()), watch)

    def steps() -> Steps[None]:
        yield
        yield

    def beginning() -> Steps[None]:
        yield
        slices.run(steps(), lambda error: None)
        yield

    slices.cause = "Fetch v13 of 'me'"
    slices.run(beginning(), lambda error: None)
    slices.cause = None
    slices.run(steps(), lambda error: None)
    while turns:
        turns.pop(0)()
    asked, alone = "a slice of Fetch v13 of 'me'", f"a slice of {steps.__qualname__}"
    assert (watch.noted.count(asked), watch.noted.count(alone)) == (4, 2)
    assert slices.cause is None


class ResultBench(Bench):
    """Work whose result is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[str] = []
        """What came in an event of its own."""

    def ask(self, steps: int, *, raises: bool = False, is_answered_elsewhere: bool = False) -> str | None:
        return self.slices.result_of(
            self._work(steps, raises, is_answered_elsewhere), self.results.append, self.failures.append
        )

    def _work(self, steps: int, raises: bool, is_answered_elsewhere: bool) -> Steps[str | None]:
        for _ in range(steps):
            yield
        if raises:
            raise ValueError
        return None if is_answered_elsewhere else "result"


def test_a_result_is_returned_or_comes_later() -> None:
    bench = ResultBench()
    assert bench.ask(1) == "result"
    assert bench.results == []
    assert bench.ask(6) is None
    bench.turn()
    assert bench.results == ["result"]
    assert bench.ask(1, is_answered_elsewhere=True) is None
    assert (bench.turn(), bench.results, bench.failures) == ([], ["result"], [])


def test_what_the_first_slice_raises_is_an_event_of_its_own() -> None:
    """A port never calls back before it returns."""
    bench = ResultBench()
    assert bench.ask(1, raises=True) is None
    assert bench.failures == []
    bench.turn()
    assert [type(error) for error in bench.failures] == [ValueError]
    assert (bench.turns, bench.results) == ([], [])


def test_what_a_later_slice_raises_fails_the_work_once() -> None:
    bench = ResultBench()
    bench.ask(6, raises=True)
    bench.turn()
    assert [type(error) for error in bench.failures] == [ValueError]
    assert (bench.turns, bench.slices.waiting) == ([], 0)


def test_who_was_given_the_result_is_not_told_of_a_failure_too() -> None:
    bench = ResultBench()

    def taken_badly(result: str) -> None:
        bench.results.append(result)
        raise KeyError

    assert bench.slices.result_of(bench._work(6, False, False), taken_badly, bench.failures.append) is None
    with pytest.raises(KeyError):  # for the loop to log
        bench.turn()
    assert (bench.results, bench.failures) == (["result"], [])
    assert bench.slices.waiting == 0
