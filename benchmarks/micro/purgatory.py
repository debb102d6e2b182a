"""What it costs to park an operation and to complete it, by its keys and by how many others wait (D4, D5).

    .venv/bin/python benchmarks/micro/purgatory.py [--json] [--repeat 5]

`park` is `try_complete_else_watch` of an open operation: two tries, its lists, its timer. `complete` is the
event that completes it, through its first key. `purge` is what the reaper costs afterwards for each of its
other entries. The conditions cost nothing, so the figures are the purgatory's own.
"""

import argparse
import gc
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import ClassVar

from odradek.base.clock import ManualClock
from odradek.timer import DelayedOperation, Purgatory, Timer

PROBES = 5_000


@dataclass(frozen=True)
class Figure:
    """Nanoseconds per operation, and per entry for the purge."""

    keys: int
    waiting: int
    park_ns: float
    complete_ns: float
    purge_ns: float | None
    """None where no other key holds anything."""


class Flagged(DelayedOperation):
    """Completes once its flag is up."""

    __slots__ = ("holds",)

    kind: ClassVar[str] = "flagged"

    def __init__(self, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.holds = False

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        return self.force_complete() if self.holds else False

    def on_complete(self) -> None:
        """Do nothing."""

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return "its flag"


def measure_once(keys_each: int, waiting: int) -> tuple[float, float, float]:
    """Seconds to park, to complete and to purge `PROBES` operations."""
    timer = Timer(ManualClock())
    purgatory: Purgatory[tuple[str, int]] = Purgatory("benchmark", timer, purge_interval=PROBES - 1)
    for index in range(waiting):
        purgatory.try_complete_else_watch(Flagged(30_000 + index % 1_000), [("others", index)])
    operations = [Flagged(10_000 + index % 1_000) for index in range(PROBES)]
    keys = [[(f"topic-{key}", index) for key in range(keys_each)] for index in range(PROBES)]
    gc.collect()
    gc.freeze()
    began = time.perf_counter()
    for operation, its_keys in zip(operations, keys, strict=True):
        purgatory.try_complete_else_watch(operation, its_keys)
    parked = time.perf_counter()
    for operation in operations:
        operation.holds = True
    raised = time.perf_counter()
    for its_keys in keys:
        purgatory.check_and_complete(its_keys[0])
    completed = time.perf_counter()
    assert purgatory.watched == waiting + PROBES * (keys_each - 1)
    swept_from = time.perf_counter()
    timer.advance()
    swept = time.perf_counter()
    assert purgatory.watched == waiting
    gc.unfreeze()
    return parked - began, completed - raised, swept - swept_from


def measure(keys_each: int, waiting: int, repeat: int) -> Figure:
    """The best of `repeat` rounds of each."""
    park, complete, purge = map(
        min, zip(*(measure_once(keys_each, waiting) for _ in range(repeat)), strict=True)
    )
    entries = waiting + PROBES * (keys_each - 1)
    return Figure(
        keys_each,
        waiting,
        park_ns=round(park / PROBES * 1e9, 1),
        complete_ns=round(complete / PROBES * 1e9, 1),
        purge_ns=round(purge / entries * 1e9, 1) if entries else None,
    )


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    cases = [(keys, waiting) for keys in (1, 2, 10, 50) for waiting in (0, 100_000)]
    figures = [measure(keys, waiting, arguments.repeat) for keys, waiting in cases]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print(f"{'keys':>5}{'others waiting':>16}{'park ns':>10}{'complete ns':>13}{'purge ns/entry':>16}")
    for figure in figures:
        print(f"{figure.keys:>5}{figure.waiting:>16,}{figure.park_ns:>10.0f}", end="")
        purge_ns = "-" if figure.purge_ns is None else f"{figure.purge_ns:.0f}"
        print(f"{figure.complete_ns:>13.0f}{purge_ns:>16}")


if __name__ == "__main__":
    main()
