import math

from odradek.cli.waiting import AGAIN_S, FIRST_S, Waiting


class Writer:
    waiting_since_s: float | None = None
    obstacle = ""
    subject = "4 records have not been acknowledged"


def test_who_waits_for_brokers_is_told_after_some_seconds_and_now_and_then() -> None:
    writer = Writer()
    waiting = Waiting(writer)
    assert waiting.sentence(100.0) is None
    writer.waiting_since_s = 100.0
    assert waiting.sentence(100.0 + FIRST_S - 0.1) is None
    said = waiting.sentence(100.0 + FIRST_S)
    assert said == "4 records have not been acknowledged for 3 s: the broker has not answered"
    writer.obstacle = "connection refused"
    assert waiting.sentence(100.0 + FIRST_S + AGAIN_S - 0.1) is None
    said = waiting.sentence(100.0 + FIRST_S + AGAIN_S)
    assert said == "4 records have not been acknowledged for 13 s: connection refused"


def test_each_batch_that_waits_is_told_of() -> None:
    writer = Writer()
    waiting = Waiting(writer)
    writer.waiting_since_s = 0.0
    assert waiting.sentence(FIRST_S) is not None
    writer.waiting_since_s = None
    assert waiting.sentence(FIRST_S + 0.5) is None
    writer.waiting_since_s = FIRST_S + 1
    assert waiting.sentence(2 * FIRST_S + 1) == (
        "4 records have not been acknowledged for 3 s: the broker has not answered"
    )


def test_one_wait_may_be_told_of_once() -> None:
    writer = Writer()
    waiting = Waiting(writer, math.inf)
    writer.waiting_since_s = 0.0
    assert waiting.sentence(FIRST_S) is not None
    assert waiting.sentence(1_000.0) is None
    writer.waiting_since_s = 1_000.0
    assert waiting.sentence(1_000.0 + FIRST_S) is not None
