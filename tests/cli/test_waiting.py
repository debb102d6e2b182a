from odradek.cli.waiting import AGAIN_S, FIRST_S, Waiting


class Writer:
    waiting_since_s: float | None = None
    obstacle = ""
    unanswered = 0
    waits_for = ""


def test_who_waits_for_brokers_is_told_after_some_seconds_and_now_and_then() -> None:
    writer = Writer()
    waiting = Waiting(writer)
    assert waiting.sentence(100.0) is None
    writer.waiting_since_s, writer.unanswered = 100.0, 4
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
    writer.waiting_since_s, writer.unanswered = 0.0, 1
    assert waiting.sentence(FIRST_S) is not None
    writer.waiting_since_s = None
    assert waiting.sentence(FIRST_S + 0.5) is None
    writer.waiting_since_s = FIRST_S + 1
    assert waiting.sentence(2 * FIRST_S + 1) == (
        "1 record has not been acknowledged for 3 s: the broker has not answered"
    )


def test_who_waits_before_the_first_batch_is_told_for_what() -> None:
    writer = Writer()
    waiting = Waiting(writer)
    writer.waiting_since_s, writer.waits_for, writer.obstacle = 0.0, "topic flights", "it is not known"
    assert waiting.sentence(FIRST_S - 0.1) is None
    assert waiting.sentence(FIRST_S) == "records have waited for topic flights for 3 s: it is not known"
