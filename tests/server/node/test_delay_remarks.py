"""What is said of fetches that are delayed: at first, once it has lasted, and at its end."""

import logging

import pytest

from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.server.node.delay_remarks import DelayRemarks, Subject

P = TopicPartition("orders", 0)
LASTS_MS = 2_500


class Scene:
    """Delays, with the time."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.remarks = DelayRemarks(logging.getLogger("odradek.test.delays"), self.clock, lambda: LASTS_MS)

    def delay(self, subject: Subject = P, words: str = "why") -> None:
        self.remarks.on_delay(subject, 2 if isinstance(subject, TopicPartition) else subject, words)

    def end(self, subject: Subject = P, words: str = "is fetched again") -> None:
        self.remarks.on_end(subject, words)

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)


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
    scene.delay()
    scene.end()
    assert (said(caplog), len(scene.remarks)) == ([], 0)


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
        ("WARNING", "orders-0, fetched from broker 2, delayed for 3000 ms: attempt 2"),
    ]
    scene.end()
    assert said(caplog) == [("INFO", "orders-0 is fetched again after 20000 ms")]
    scene.delay()
    assert [level for level, _ in said(caplog)] == ["INFO"]


def test_each_partition_and_broker_has_a_time_of_its_own(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.delay()
    scene.pass_time(1_000)
    scene.delay(3)
    assert scene.remarks.brokers() == [3]
    scene.pass_time(LASTS_MS - 1_000)
    scene.delay()
    scene.delay(3)
    assert [level for level, _ in said(caplog)] == ["INFO", "INFO", "WARNING"]
    scene.pass_time(1_000)
    scene.delay()
    scene.delay(3)
    assert said(caplog) == [("WARNING", "what is fetched from broker 3, delayed for 2500 ms: why")]
    scene.end(3, "answers fetches again")
    assert said(caplog) == [("INFO", "broker 3 answers fetches again after 2500 ms")]
    assert (scene.remarks.brokers(), len(scene.remarks)) == ([], 1)


def test_a_delay_that_has_lasted_before_it_is_known_is_a_warning_at_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """As a request that is not answered for `replica.socket.timeout.ms`."""
    scene.pass_time(30_000)
    scene.remarks.on_delay(3, 3, "not answered", scene.clock.monotonic_ms() - 30_000)
    assert said(caplog) == [("WARNING", "what is fetched from broker 3, delayed for 30000 ms: not answered")]


def test_a_thousand_delays_are_few_lines(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        for number in range(1_000):
            scene.delay(TopicPartition("many", number))
        scene.pass_time(LASTS_MS)
    levels = [level for level, _ in said(caplog)]
    assert (levels.count("INFO"), levels.count("WARNING")) == (20, 20)
