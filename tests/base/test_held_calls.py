"""Calls of other threads, in the hands of a test: run and reported in two steps."""

from odradek.base.held_calls import HeldCalls


def test_a_call_runs_and_is_reported_in_two_steps() -> None:
    calls, seen = HeldCalls(), list[str]()
    calls.submit(lambda: seen.append("ran") or "result", seen.append, lambda error: None)  # type: ignore[func-returns-value]
    assert (seen, calls.waiting, calls.finished) == ([], 1, 0)
    calls.run_next()
    assert (seen, calls.waiting, calls.finished) == (["ran"], 0, 1)
    calls.report_next()
    assert seen == ["ran", "result"]


def test_a_later_call_may_overtake_and_is_reported_first() -> None:
    calls, seen = HeldCalls(), list[str]()
    calls.submit(lambda: "old", seen.append, lambda error: None)
    calls.submit(lambda: "new", seen.append, lambda error: None)
    calls.run_next(1)
    calls.run_next()
    calls.complete()
    assert seen == ["new", "old"]


def test_what_a_call_raises_is_its_report() -> None:
    calls, failures, error = HeldCalls(), list[Exception](), OSError("a failing disk")

    def fails() -> None:
        raise error

    calls.submit(fails, lambda result: None, failures.append)
    calls.complete()
    assert failures == [error]


def test_what_is_submitted_by_a_report_is_completed_too() -> None:
    calls, seen = HeldCalls(), list[int]()

    def done(number: int) -> None:
        seen.append(number)
        if number < 3:
            calls.submit(lambda: number + 1, done, lambda error: None)

    calls.submit(lambda: 1, done, lambda error: None)
    calls.complete()
    assert seen == [1, 2, 3]
