"""What is said of fetches that are delayed: at first, once it has lasted, and at its end."""

import logging

import pytest

from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.server.node.delay_remarks import DelayRemarks, Subject
from odradek.timer import Timer

P = TopicPartition("orders", 0)
LASTS_MS = 2_500


class Scene:
    """Delays, with the time and what is still delayed."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.delayed: set[Subject] = set()
        log = logging.getLogger("odradek.test.delays")
        self.remarks = DelayRemarks(log, self.timer, lambda: LASTS_MS, self.delayed.__contains__)

    def delay(self, subject: Subject = P, words: str = "why") -> None:
        self.delayed.add(subject)
        self.remarks.on_delay(subject, 2, words)

    def end(self, subject: Subject = P) -> None:
        self.delayed.discard(subject)
        self.remarks.on_end(subject, "is fetched again")

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()


@pytest.fixture
def scene(caplog: pytest.LogCaptureFixture) -> Scene:
    caplog.set_level(logging.DEBUG, "odradek.test.delays")
    return Scene()


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    caplog.clear()
    return found


def test_a_delay_that_ends_soon_is_no_warning(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.delay()
    assert said(caplog) == [("INFO", "orders-0, fetched from broker 2, delayed: why")]
    scene.pass_time(LASTS_MS - 1)
    scene.end()
    scene.pass_time(10 * LASTS_MS)
    assert (said(caplog), len(scene.remarks), scene.timer.size) == ([], 0, 0)


def test_a_delay_that_lasts_is_one_warning_with_the_time_of_the_first(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.delay()
    for number in range(20):
        scene.pass_time(1_000)
        scene.delay(words=f"attempt {number}")
    delay = scene.remarks.delay(P)
    assert delay is not None
    assert scene.clock.monotonic_ms() - delay.since_ms == 20_000
    assert said(caplog)[1:] == [
        ("WARNING", "orders-0, fetched from broker 2, delayed for 3000 ms: attempt 1"),
    ]
    scene.end()
    assert said(caplog) == [("INFO", "orders-0 is fetched again after 20000 ms")]
    assert len(scene.remarks) == 0


def test_each_has_a_time_of_its_own(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.delay()
    scene.pass_time(1_000)
    scene.delay(3)
    scene.pass_time(LASTS_MS - 1_000)
    assert [level for level, _ in said(caplog)] == ["INFO", "INFO", "WARNING"]
    scene.pass_time(999)
    assert said(caplog) == []
    scene.pass_time(1)
    assert said(caplog) == [("WARNING", "what is fetched from broker 2, delayed for 2500 ms: why")]


def test_what_is_not_followed_any_more_ends(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.delay()
    scene.delayed.clear()
    scene.pass_time(LASTS_MS)
    assert [level for level, _ in said(caplog)] == ["INFO"]
    assert len(scene.remarks) == 0
    scene.delay()
    scene.pass_time(LASTS_MS)
    said(caplog)
    scene.delayed.clear()
    scene.delay(3)
    scene.pass_time(LASTS_MS)
    assert ("INFO", "orders-0 is not fetched any more after 5000 ms") in said(caplog)


def test_a_broker_that_stops_says_nothing_more(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.delay()
    scene.remarks.close()
    said(caplog)
    scene.pass_time(LASTS_MS)
    assert (said(caplog), scene.timer.size) == ([], 0)


def test_a_thousand_delays_are_few_lines(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(1_000):
        scene.delay(TopicPartition("many", number))
    scene.pass_time(LASTS_MS)
    levels = [level for level, _ in said(caplog)]
    assert (levels.count("INFO"), levels.count("WARNING")) == (20, 20)
