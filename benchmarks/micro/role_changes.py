"""How long a broker's loop is held while it obeys a LeaderAndIsr that names very many partitions.

    .venv/bin/python benchmarks/micro/role_changes.py [--json] [--shape 100x100] [--repeat 5] [--gc serve]

A broker of the simulator (`odradek.testing.sim`) gets one order of a controller and makes all logs that it
names, on a disk in memory. A turn is what its loop runs without a pause; slices end by the real clock. Turns
are measured in CPU time of the thread, which other work on the machine lengthens little, and in wall time,
which it lengthens much. The garbage collector runs as in one of:

    off        never
    python     as Python starts: 700, 10, 10
    before     as `odradek serve` ran it until now: 50,000, 20, 50, with what was there before frozen
    serve      as `odradek serve` runs it (`server/process/garbage`)

`gc_ms_max` is the longest collection, in CPU time; the turn that it falls into is at least as long.
"""

import argparse
import gc
import json
import logging
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from odradek.metadata.orders import OrderOutcome
from odradek.server.process import garbage
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)

CONTROLLER = 9
PYTHONS = (700, 10, 10)


@dataclass(frozen=True)
class Figure:
    """One order, in several runs."""

    shape: str
    collector: str
    turns: int
    cpu_s: float
    """The median over the runs."""
    longest_cpu_ms: float
    """The median over the runs of a run's longest turn."""
    longest_cpu_ms_max: float
    longest_wall_ms: float
    longest_wall_ms_max: float
    gc_ms_max: float
    collections: list[int]
    """In the last run, by generation."""


class Collections:
    """Times the collections of the garbage collector."""

    def __init__(self) -> None:
        self.longest_ns = 0
        self.counts = [0, 0, 0]
        self._began_ns = 0

    def note(self, phase: str, told: dict[str, int]) -> None:
        """One of `gc.callbacks`."""
        if phase == "start":
            self._began_ns = time.thread_time_ns()
        else:
            self.longest_ns = max(self.longest_ns, time.thread_time_ns() - self._began_ns)
            self.counts[told["generation"]] += 1


def _off() -> None:
    gc.disable()


def _python() -> None:
    gc.set_threshold(*PYTHONS)


def _before() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _serve() -> None:
    garbage.serve()


COLLECTORS: dict[str, Callable[[], None]] = {
    "off": _off,
    "python": _python,
    "before": _before,
    "serve": _serve,
}


def order_for(node: SimNode, topics: int, partitions: int) -> LeaderAndIsrRequest:
    """All partitions are led by the broker, which has none of them yet."""
    states = [
        LeaderAndIsrTopicState(
            f"topic-{number}",
            node.chance.uuid(),
            [
                LeaderAndIsrPartitionState(index, 0, 1, 5, [1], 0, [1], is_new=True)
                for index in range(partitions)
            ],
        )
        for number in range(topics)
    ]
    core = node.core
    return LeaderAndIsrRequest(
        controller_id=CONTROLLER,
        controller_epoch=core.image.controller_epoch + 1,
        broker_epoch=core.controller.registered_epoch,
        topic_states=states,
    )


class Turns:
    """Times turns."""

    def __init__(self) -> None:
        self.cpu_ns: list[int] = []
        self.wall_ns: list[int] = []

    def take(self, turn: Callable[[], None]) -> None:
        """Run one turn."""
        cpu_ns, wall_ns = time.thread_time_ns(), time.perf_counter_ns()
        turn()
        self.cpu_ns.append(time.thread_time_ns() - cpu_ns)
        self.wall_ns.append(time.perf_counter_ns() - wall_ns)


def measure(topics: int, partitions: int, collector: str) -> tuple[Turns, Collections]:
    """The turns of one order, and what the collector did."""
    node = World(brokers=1).nodes[1]
    node.world.advance(1_000)
    order = order_for(node, topics, partitions)
    node.short_clock = time.perf_counter_ns
    outcomes: list[OrderOutcome] = []
    turns = Turns()
    collections = Collections()
    gc.collect()
    COLLECTORS[collector]()
    gc.callbacks.append(collections.note)
    try:
        turns.take(lambda: node.core.received_orders.receive(order, outcomes.append))
        while node.turns.waiting:
            turns.take(node.turns.run_next)
    finally:
        gc.callbacks.remove(collections.note)
        gc.unfreeze()
        gc.set_threshold(*PYTHONS)
        gc.enable()
    assert len(outcomes[0].partition_errors) == topics * partitions
    return turns, collections


def figure_of(shape: str, collector: str, repeat: int) -> Figure:
    """Measure one shape of an order several times."""
    topics, partitions = map(int, shape.split("x"))
    runs = [measure(topics, partitions, collector) for _ in range(repeat)]
    cpu_ms = [max(turns.cpu_ns) / 1e6 for turns, _ in runs]
    wall_ms = [max(turns.wall_ns) / 1e6 for turns, _ in runs]
    return Figure(
        shape,
        collector,
        len(runs[-1][0].cpu_ns),
        round(statistics.median(sum(turns.cpu_ns) for turns, _ in runs) / 1e9, 2),
        round(statistics.median(cpu_ms), 1),
        round(max(cpu_ms), 1),
        round(statistics.median(wall_ms), 1),
        round(max(wall_ms), 1),
        round(max(found.longest_ns for _, found in runs) / 1e6, 1),
        runs[-1][1].counts,
    )


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shape", nargs="+", default=["100x100", "10000x1"], help="topics x partitions")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--gc", nargs="+", choices=COLLECTORS, default=["off", "before", "serve"])
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # stalls, which are measured here
    figures = [
        figure_of(shape, collector, arguments.repeat)
        for shape in arguments.shape
        for collector in arguments.gc
    ]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print("longest turn in ms: the median of the runs and the longest of all, in CPU and wall time")
    words = ("shape", "gc", "turns", "CPU s", "CPU", "CPU max", "wall", "wall max", "gc ms")
    print("".join(f"{word:>10}" for word in words), "  collections")
    for one in figures:
        *columns, collections = asdict(one).values()
        print("".join(f"{column:>10}" for column in columns), " ", collections)


if __name__ == "__main__":
    main()
