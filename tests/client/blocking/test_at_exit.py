"""What is called when the program ends."""

import logging

import pytest

from odradek.client.blocking import at_exit


@pytest.fixture(autouse=True)
def _none_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_exit, "_flushes", {})


def test_all_are_flushed_and_ended_once_the_oldest_first() -> None:
    called: list[str] = []
    for name in ("first", "second"):
        at_exit.call(
            lambda _, name=name: called.append(f"flush {name}"),  # type: ignore[misc]
            lambda _, name=name: called.append(f"end {name}"),  # type: ignore[misc]
        )
    at_exit.flush_all(10)
    at_exit.end_all(10)
    at_exit.end_all(10)
    assert called == ["flush first", "flush second", "end first", "end second"]


def test_what_was_closed_before_is_not_called() -> None:
    called: list[float] = []
    at_exit.call(called.append, called.append)
    at_exit.forget(called.append)
    at_exit.forget(called.append)
    at_exit.flush_all(10)
    at_exit.end_all(10)
    assert called == []


def test_one_that_fails_keeps_no_other_from_being_called(caplog: pytest.LogCaptureFixture) -> None:
    called: list[float] = []

    def fails(_: float) -> None:
        raise OSError("no room")

    at_exit.call(called.append, fails)
    at_exit.call(fails, called.append)
    with caplog.at_level(logging.ERROR, "odradek.producer"):
        at_exit.flush_all(0)
        at_exit.end_all(0)
    assert called == [0.0, 0.0]
    assert caplog.text.count("OSError: no room") == 2
