"""What the person sees while it runs: a line for each thing that happens, and below them bars that grow."""

import time
from calendar import month_name
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from demo.feed import Feed
from demo.tables import Reached
from odradek.spark.pipeline.description import Description


class Screen:
    """The lines and the bars, as a `with` block; without a terminal the bars are shown once, at its end."""

    def __init__(self, console: Console, tables: Sequence[Description], flights: int) -> None:
        self._console = console
        self._started = time.monotonic()
        self._bars = Progress(
            TextColumn("  {task.description:9}", style="bold"),
            BarColumn(36),
            TextColumn("{task.completed:>7,} of {task.total:,}"),
            TextColumn("{task.fields[note]}", style="dim"),
            console=console,
        )
        self._tables = tables
        self._fed = self._bars.add_task("sent", total=flights, note="")
        self._bar_of: dict[str, TaskID] = {
            one.name: self._bars.add_task(one.name, total=flights, note="") for one in tables
        }

    def say(self, text: str) -> None:
        """Print a line, with the time since the start."""
        seconds = time.monotonic() - self._started
        self._console.print(f"[dim]{seconds:5.1f} s[/]  {text}", highlight=False, soft_wrap=True)

    def show(self, feed: Feed, reached: Sequence[Reached]) -> None:
        """Bring the bars up to date."""
        month = f"up to {month_name[feed.month]}, {feed.rate:,.0f} a second" if feed.month else ""
        self._bars.update(self._fed, completed=feed.sent, note=month)
        for table, now in zip(self._tables, reached, strict=True):
            writing = f", {now.batch + 1} is being written" if now.is_writing else ""
            note = (
                f"{table.sink_format}, batch {now.batch}{writing}"
                if now.batch or writing
                else "waits for Spark"
            )
            self._bars.update(self._bar_of[table.name], completed=now.records, note=note)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bars.stop()
