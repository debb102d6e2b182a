"""How long a controller's take-over of very many partitions holds its broker's loop in one step.

    .venv/bin/python benchmarks/micro/take_over.py [--json] [--shape 100x100] [--repeat 5] [--steps 5]

Three brokers have all partitions, two replicas each. The controller dies, and another broker reads the
cluster from a store in memory, gives the dead broker's partitions new leaders, and makes the orders. A step
is what its controller does with one event: an answer of the store, or a turn of the loop. Measured is the CPU
time of the controller's thread; the store's work is left out, and the garbage collector is off (see
`role_changes`).

`--steps` names the longest steps of the last run by the functions in which they began and ended.
"""

import argparse
import gc
import inspect
import json
import statistics
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import BrokerId
from odradek.metadata.controller import (
    BrokerAnswered,
    Controller,
    ControllerEvent,
    ControllerSettings,
    RequestArrived,
    Respond,
    SendToBroker,
    Started,
    StoreCall,
    TurnCame,
    TurnWanted,
)
from odradek.metadata.controller.requests import CreateTopics, NewTopic
from odradek.metadata.image import BrokerImage, Endpoint
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import SessionEnded, SessionOpened, StoreEvent, StoreReplied

BROKERS = (1, 2, 3)
TOPICS_AT_ONCE = 100


@dataclass(frozen=True)
class Figure:
    """Take-overs of one shape of cluster."""

    shape: str
    steps: int
    calls: int
    """Round trips to the store."""
    cpu_s: float
    """The median over the runs."""
    longest_ms: float
    """The median over the runs of a run's longest step."""
    longest_ms_max: float
    over_a_millisecond: int
    """How many steps of the last run took more than 1 ms."""


class Member:
    """One broker's controller, and what its steps cost while it is timed."""

    def __init__(self, cluster: "Cluster", broker_id: BrokerId) -> None:
        self._cluster = cluster
        self.broker_id = broker_id
        self.controller = Controller(ControllerSettings(), ManualClock(), SeededChance(broker_id))
        self.session = cluster.store.connect(self._on_store_event)
        self.is_timed = False
        self.steps: list[tuple[int, str]] = []
        """CPU time in ns and where the process stood before and after, of each step."""
        self.calls = 0
        self.answers = 0
        self._waiting: deque[ControllerEvent] = deque()
        self._is_busy = False
        # The controller's numbers of the calls that are under way, by the store's.
        self._calls: dict[int, int] = {}

    def start(self) -> None:
        """Register and compete."""
        endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", f"host{self.broker_id}", 9092),)
        broker = BrokerImage(self.broker_id, endpoints)
        self.take(Started(broker, self.session.session_id, self.session.limits))
        self._cluster.store.deliver()

    def take(self, event: ControllerEvent) -> None:
        """Let the controller take an event, after those before it."""
        self._waiting.append(event)
        if self._is_busy:
            return
        self._is_busy = True
        while self._waiting:
            self._step(self._waiting.popleft())
        self._is_busy = False

    def _step(self, event: ControllerEvent) -> None:
        before = self._place() if self.is_timed else ""
        began_ns = time.thread_time_ns()
        effects = self.controller.on_event(event)
        taken_ns = time.thread_time_ns() - began_ns
        if self.is_timed:
            self.steps.append((taken_ns, f"{before} .. {self._place()}"))
        for effect in effects:
            match effect:
                case StoreCall(call_id, operation):
                    self.calls += 1
                    self._calls[self.session.submit(operation)] = call_id
                case TurnWanted(call_id):
                    self.take(TurnCame(call_id))
                case SendToBroker(broker_id, message_id, _):
                    self.take(BrokerAnswered(message_id, broker_id, {}))
                case Respond():
                    self.answers += 1

    def _on_store_event(self, event: StoreEvent) -> None:
        if isinstance(event, StoreReplied):
            self.take(StoreReplied(self._calls.pop(event.call_id), event.result))
        elif not isinstance(event, SessionOpened | SessionEnded):
            self.take(event)

    def _place(self) -> str:
        """The innermost functions of the process in hand."""
        names: list[str] = []
        process: Any = self.controller._process  # noqa: SLF001 - a look from outside
        while inspect.isgenerator(process):
            names.append(process.gi_code.co_name)
            process = process.gi_yieldfrom
        return ">".join(names[-2:])


class Cluster:
    """Brokers of which only the controllers exist, over one store."""

    def __init__(self, topics: int, partitions: int) -> None:
        self.store = MemoryStore()
        self.members = {broker_id: Member(self, broker_id) for broker_id in BROKERS}
        for member in self.members.values():
            member.start()
        names = [f"topic-{number}" for number in range(topics)]
        for begin in range(0, topics, TOPICS_AT_ONCE):
            some = tuple(NewTopic(name, partitions, 2) for name in names[begin : begin + TOPICS_AT_ONCE])
            self.controller.take(RequestArrived(begin, CreateTopics(some)))
            self.store.deliver()
        image = self.controller.controller.image
        assert sum(len(topic.partitions) for topic in image.topics.values()) == topics * partitions

    @property
    def controller(self) -> Member:
        """The member that is the controller."""
        (found,) = [member for member in self.members.values() if member.controller.is_active]
        return found


def measure(topics: int, partitions: int) -> Member:
    """The member that has taken over."""
    cluster = Cluster(topics, partitions)
    dying = cluster.controller
    del cluster.members[dying.broker_id]
    for member in cluster.members.values():
        member.is_timed, member.calls = True, 0
    gc.collect()
    gc.disable()
    try:
        dying.session.expire()
        cluster.store.deliver()
    finally:
        gc.enable()
    return cluster.controller


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shape", nargs="+", default=["100x100", "10000x1"], help="topics x partitions")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0)
    arguments = parser.parse_args()
    figures, named = [], dict[str, list[tuple[int, str]]]()
    for shape in arguments.shape:
        topics, partitions = map(int, shape.split("x"))
        runs = [measure(topics, partitions) for _ in range(arguments.repeat)]
        taken = [[taken_ns for taken_ns, _ in run.steps] for run in runs]
        longest = [max(run) / 1e6 for run in taken]
        figures.append(
            Figure(
                shape,
                len(taken[-1]),
                runs[-1].calls,
                round(statistics.median(map(sum, taken)) / 1e9, 2),
                round(statistics.median(longest), 2),
                round(max(longest), 2),
                sum(step_ns > 1_000_000 for step_ns in taken[-1]),
            )
        )
        named[shape] = sorted(runs[-1].steps, reverse=True)[: arguments.steps]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    words = ("shape", "steps", "calls", "CPU s", "longest", "max", "over 1 ms")
    print("".join(f"{word:>10}" for word in words))
    for figure in figures:
        print("".join(f"{column:>10}" for column in asdict(figure).values()))
        for taken_ns, place in named[figure.shape]:
            print(f"{taken_ns / 1e6:>20.2f} ms  {place}")


if __name__ == "__main__":
    main()
