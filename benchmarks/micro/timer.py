"""What adding and cancelling a timer costs, by how many are pending, beside asyncio's and uvloop's own (T5).

    .venv/bin/python benchmarks/micro/timer.py [--json] [--pending 1000,100000,1000000] [--repeat 5]

Each figure is the best of `--repeat` rounds: CPU time taken by other processes only adds to a figure. A
round adds `PROBES` timers to those already pending and cancels them again; deadlines spread over 30 s, like
requests' time limits. Every subject reads its clock for each timer. The event loops are never run: their
`call_later` only pushes onto their own heap.
"""

import argparse
import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import uvloop

from odradek.base.clock import SystemClock
from odradek.timer import Timer, TimerTask

PROBES = 20_000
SPREAD_MS = 30_000


@dataclass(frozen=True)
class Figure:
    """Nanoseconds per call."""

    subject: str
    pending: int
    add_ns: float
    cancel_ns: float


class Handle(Protocol):
    """A subject's handle of an added timer."""

    def cancel(self) -> None:
        """Cancel the timer."""


class Nothing(TimerTask):
    """A task that would do nothing."""

    __slots__ = ()

    def run(self) -> None:
        """Never reached: nothing here expires."""


def nothing() -> None:
    """The callback of the loops' timers."""


def delays_ms(count: int) -> list[int]:
    """Delays spread over the span without order, the same in each run."""
    return [1_000 + (index * 7_919) % SPREAD_MS for index in range(count)]


def wheels() -> Callable[[int], Handle]:
    """Make a timer of ours; return the function that adds to it."""
    clock = SystemClock()
    timer = Timer(clock)

    def add(delay_ms: int) -> Handle:
        task = Nothing(clock.monotonic_ms() + delay_ms)
        timer.add(task)
        return task

    return add


def loop_timers(loop: asyncio.AbstractEventLoop) -> Callable[[int], Handle]:
    """Return the function that adds to the timers of `loop`."""

    def add(delay_ms: int) -> Handle:
        return loop.call_later(delay_ms / 1_000, nothing)

    return add


def best_ns(figures: Sequence[float]) -> float:
    """Nanoseconds per probe in the best round."""
    return round(min(figures) / PROBES * 1e9, 1)


def measure(subject: str, add: Callable[[int], Handle], pending: int, repeat: int) -> Figure:
    """Add and cancel beside `pending` others."""
    standing = [add(delay_ms) for delay_ms in delays_ms(pending)]
    adding, cancelling = [], []
    delays = delays_ms(PROBES)
    gc.collect()
    gc.freeze()
    for _ in range(repeat):
        began = time.perf_counter()
        handles = [add(delay_ms) for delay_ms in delays]
        added = time.perf_counter()
        for handle in handles:
            handle.cancel()
        cancelled = time.perf_counter()
        adding.append(added - began)
        cancelling.append(cancelled - added)
        del handles
    for handle in standing:
        handle.cancel()
    gc.unfreeze()
    return Figure(subject, pending, best_ns(adding), best_ns(cancelling))


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pending", default="1000,100000,1000000")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    figures = []
    for pending in map(int, arguments.pending.split(",")):
        figures.append(measure("odradek", wheels(), pending, arguments.repeat))
        for name, loop in (("asyncio", asyncio.SelectorEventLoop()), ("uvloop", uvloop.new_event_loop())):
            figures.append(measure(name, loop_timers(loop), pending, arguments.repeat))
            loop.close()
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print(f"{'subject':<10}{'pending':>10}{'add ns':>10}{'cancel ns':>12}{'both ns':>10}")
    for figure in figures:
        both_ns = figure.add_ns + figure.cancel_ns
        print(f"{figure.subject:<10}{figure.pending:>10,}", end="")
        print(f"{figure.add_ns:>10.0f}{figure.cancel_ns:>12.0f}{both_ns:>10.0f}")


if __name__ == "__main__":
    main()
