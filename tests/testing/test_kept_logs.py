"""What the logs of brokers in the test's process keep, and what becomes of the logger `odradek` meanwhile."""

import logging
import threading
from collections.abc import Iterator

import pytest

from odradek.testing import LocalCluster
from odradek.testing.kept_logs import KEPT_LEVEL, LINES_MAX, KeptLog

OWN = logging.getLogger("odradek")
LOG = logging.getLogger("odradek.server.node.core")


class Records(logging.Handler):
    """What reaches the handlers of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def reached() -> Iterator[list[str]]:
    handler = Records()
    logging.getLogger().addHandler(handler)
    before, parent = OWN.level, OWN.parent
    yield handler.messages
    logging.getLogger().removeHandler(handler)
    assert OWN.parent is parent
    OWN.setLevel(before)


def log(thread_name: str, *messages: str, level: int = logging.INFO, of: logging.Logger = LOG) -> None:
    def write() -> None:
        for message in messages:
            of.log(level, message)

    thread = threading.Thread(target=write, name=thread_name)
    thread.start()
    thread.join()


def test_the_brokers_of_two_clusters_are_told_apart(reached: list[str]) -> None:
    one, other = KeptLog(), KeptLog()
    names = one.thread_name("broker 1"), one.thread_name("broker 2"), other.thread_name("broker 1")
    one.begin()
    other.begin()
    for number, name in enumerate(names):
        log(name, f"event {number}")
    log("another thread", "event 3")
    one.end()
    log(names[2], "event 4")
    other.end()
    log(names[2], "event 5")
    assert [line.split(" ", 2)[2] for line in one.text().splitlines()] == [
        "broker 1   INFO odradek.server.node.core: event 0",
        "broker 2   INFO odradek.server.node.core: event 1",
    ]
    assert [line[-7:] for line in other.text().splitlines()] == ["event 2", "event 4"]
    assert reached == []
    assert OWN.level == logging.ERROR


def test_errors_and_levels_of_the_test_are_passed_on(reached: list[str]) -> None:
    kept = KeptLog()
    name = kept.thread_name("broker 1")
    kept.begin()
    assert OWN.level == KEPT_LEVEL
    log(name, "an error", level=logging.ERROR)
    log(name, "a warning", level=logging.WARNING)
    edge = logging.getLogger("odradek.server.edge")
    edge.setLevel(logging.DEBUG)
    log(name, "a detail that is asked for", level=logging.DEBUG, of=edge)
    edge.setLevel(logging.NOTSET)
    OWN.setLevel(logging.WARNING)
    log(name, "another warning", level=logging.WARNING)
    log(name, "below the level of the test")
    kept.end()
    assert reached == ["an error", "a detail that is asked for", "another warning"]
    assert kept.text().count("\n") == 4
    assert OWN.level == logging.WARNING


def test_the_last_events_since_a_mark_are_kept(reached: list[str]) -> None:
    kept = KeptLog()
    name = kept.thread_name("broker 1")
    kept.begin()
    log(name, *("early" for _ in range(3)))
    mark = kept.mark()
    log(name, "late 0", "late 1")
    assert [line[-6:] for line in kept.text(mark).splitlines()] == ["late 0", "late 1"]
    log(name, *(f"more {number}" for number in range(LINES_MAX)))
    kept.end()
    assert kept.text(mark).count("\n") == LINES_MAX
    assert kept.text(kept.mark()) == ""


@pytest.mark.integration
@pytest.mark.slow
def test_a_cluster_keeps_what_its_brokers_log() -> None:
    with LocalCluster(brokers=2) as cluster:
        mark = cluster.log_mark()
        cluster.create_topic("orders")
        told = cluster.log_text(mark)
    assert sorted(line[24:34].strip() for line in told.splitlines() if "topics created: orders" in line) == [
        "broker 1",
        "broker 2",
    ]
    assert "this broker is the controller" in cluster.log_text(), "also after its end"
