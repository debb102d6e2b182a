"""Engines that take turns in one process."""

import threading

from odradek.base.error_codes import ErrorCode
from odradek.spark.pipeline.assembly import run_until
from odradek.spark.pipeline.engine import BrokersAway


class Counted:
    """Notes each of its batches; ends the run after so many."""

    def __init__(self, name: str, log: list[str], ended: threading.Event, last: int) -> None:
        self.name = name
        self._log = log
        self._ended = ended
        self._last = last

    def run_batch(self) -> bool:
        self._log.append(self.name)
        if self._log.count(self.name) == self._last:
            self._ended.set()
        return True


def test_engines_take_turns() -> None:
    log: list[str] = []
    ended = threading.Event()
    run_until([(Counted(name, log, ended, 3), 0.0) for name in "abc"], ended)
    assert log == ["a", "b", "c", "a", "b", "c", "a"]


def test_each_engine_waits_for_its_own_interval() -> None:
    log: list[str] = []
    ended = threading.Event()
    run_until([(Counted("slow", log, ended, 2), 3600.0), (Counted("quick", log, ended, 3), 0.0)], ended)
    assert log == ["slow", "quick", "quick", "quick"]


def test_nothing_is_run_after_the_end() -> None:
    log: list[str] = []
    ended = threading.Event()
    ended.set()
    run_until([(Counted("a", log, ended, 1), 0.0)], ended)
    assert log == []


class Interrupted(Counted):
    """Its brokers are away in some of its batches."""

    def __init__(self, away: set[int], log: list[str], ended: threading.Event, last: int) -> None:
        super().__init__("a", log, ended, last)
        self._away = away

    def run_batch(self) -> bool:
        super().run_batch()
        if len(self._log) in self._away:
            raise BrokersAway(ErrorCode.NETWORK_EXCEPTION, "no broker answers")
        return True


def test_brokers_that_are_away_are_waited_for_and_said_once() -> None:
    log: list[str] = []
    said: list[str] = []
    ended = threading.Event()
    run_until([(Interrupted({1, 2, 4}, log, ended, 5), 0.0)], ended, said.append)
    assert log == ["a"] * 5
    assert said == ["no broker answers; the run goes on when the brokers answer again"] * 2
