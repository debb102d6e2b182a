"""The middle of the demo: flights stream into the topic, the pipeline follows, is killed, and is resumed."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from demo.driver import Driver, DriverFailed
from demo.feed import Feed
from demo.screen import Screen
from demo.tables import Reached, reached
from odradek.spark.pipeline.description import Description

PACE_S: Final = 1.5
"""From the start of one month to that of the next."""
HELD: Final = 9
"""The months from October on wait for the kill."""
LOOK_INTERVAL_S: Final = 0.05
PATIENCE_S: Final = 900
"""On any machine that can do it at all it takes less."""


class Streaming:
    """One run of it.

    Raises DriverFailed if a driver ends by itself, the error of a feed that fails, and TableRefused.
    """

    def __init__(self, screen: Screen, feed: Feed, descriptions: Sequence[Description]) -> None:
        self._screen = screen
        self._feed = feed
        self._descriptions = descriptions
        self._reached = [Reached()] * len(descriptions)
        self._deadline = time.monotonic() + PATIENCE_S

    def until_killed(self, log: Path) -> None:
        """Start the pipeline, and kill it in the middle of a batch of the last table."""
        with self._driver(log) as driver:
            self._screen.say(f"the pipeline starts: process {driver.pid}, a Spark for all tables")
            self._watch(driver, lambda: self._reached[-1].batch > 0 and self._reached[-1].is_writing)
            driver.kill()
        self._look()
        for description, now in zip(self._descriptions, self._reached, strict=True):
            if now.is_writing:
                self._screen.say(
                    f"[bold red]kill -9 {driver.pid}[/]: batch {now.batch + 1} of {description.name} was on"
                    " disk already, and is no part of the table"
                )
                return
        self._screen.say(f"[bold red]kill -9 {driver.pid}[/]: a batch had just been committed")

    def until_done(self, log: Path, expected: int) -> None:
        """Start the pipeline again, and stop it when all tables have read all flights."""
        before = sum(one.batch for one in self._reached)
        with self._driver(log) as driver:
            self._screen.say(f"[bold green]the pipeline is resumed[/]: process {driver.pid}")
            self._watch(driver, lambda: sum(one.batch for one in self._reached) > before)
            self._screen.say("it has found where each table ended, and goes on from there")
            self._watch(
                driver, lambda: self._feed.is_done and all(one.records >= expected for one in self._reached)
            )
            driver.stop()
        self._look()

    def _driver(self, log: Path) -> Driver:
        return Driver([one.file for one in self._descriptions], log)

    def _watch(self, driver: Driver, is_reached: Callable[[], bool]) -> None:
        while True:
            self._look()
            if self._feed.error is not None:
                raise self._feed.error
            if is_reached():
                return
            driver.check()
            if time.monotonic() > self._deadline:
                raise DriverFailed(f"the tables are not there after {PATIENCE_S} s:\n{driver.last_words()}")
            time.sleep(LOOK_INTERVAL_S)

    def _look(self) -> None:
        self._reached = [reached(description) for description in self._descriptions]
        self._screen.show(self._feed, self._reached)


def stream(
    screen: Screen, bootstrap: str, topic: str, months: Sequence[Any], descriptions: Sequence[Description]
) -> Feed:
    """Send all months while the pipeline makes the tables; the feed, which knows how fast it was."""
    folder = descriptions[0].file.parent
    expected = sum(one.num_rows for one in months)
    with Feed(bootstrap, topic, months, pace_s=PACE_S, held=HELD) as feed:
        run = Streaming(screen, feed, descriptions)
        run.until_killed(folder / "first-run.log")
        feed.release()
        run.until_done(folder / "second-run.log", expected)
    return feed
