import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.trampoline import Trampoline


def test_a_step_that_comes_in_another_waits_for_its_end() -> None:
    steps, done = Trampoline(), list[str]()

    def outer() -> None:
        steps.run(lambda: done.append("inner"))
        done.append("outer")

    steps.run(outer)
    assert done == ["outer", "inner"]


def test_answers_leave_when_no_step_is_under_way() -> None:
    """Whoever is answered may bring the next request at once."""
    steps, seen = Trampoline(), list[str]()

    def answered(text: str) -> None:
        seen.append(text)
        if text == "first":
            steps.run(lambda: seen.append("next request"))

    def step() -> None:
        steps.answer(HeldAnswer(answered, "first", lambda error: error.name))
        steps.answer(HeldAnswer(answered, "second", lambda error: error.name), ErrorCode.NOT_COORDINATOR)
        seen.append("step")

    steps.run(step)
    assert seen == ["step", "first", "next request", "NOT_COORDINATOR"]


def test_a_long_row_of_answers_that_bring_requests_takes_no_deeper_stack() -> None:
    steps, left = Trampoline(), [5_000]

    def ask() -> None:
        steps.run(lambda: steps.answer(HeldAnswer(answered, None, lambda error: None)))

    def answered(_: None) -> None:
        left[0] -= 1
        if left[0]:
            ask()

    ask()
    assert left == [0]


def test_what_fails_keeps_nothing_else_from_being_done() -> None:
    steps, done = Trampoline(), list[str]()

    def fails(_: object = None) -> None:
        raise ValueError("broken")

    def step() -> None:
        steps.run(fails)
        steps.run(lambda: done.append("another step"))
        steps.answer(HeldAnswer(fails, None, lambda error: None))
        steps.answer(HeldAnswer(done.append, "another answer", lambda error: ""))

    with pytest.raises(ExceptionGroup) as raised:
        steps.run(step)
    assert len(raised.value.exceptions) == 2
    assert done == ["another step", "another answer"]
    steps.run(lambda: done.append("later"))
    assert done[-1] == "later"
