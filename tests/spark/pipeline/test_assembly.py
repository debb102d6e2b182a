"""Engines that take turns in one process."""

import threading

from odradek.spark.pipeline.assembly import run_until


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
