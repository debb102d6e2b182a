"""How long a broker's loop is held by the longest step of requests that name very many things.

    .venv/bin/python -m benchmarks.micro.wide_requests [--count 10000] [--repeat 3] [--json] [API ...]

A broker of the simulator, with its disk and its metadata store in memory, is sent one request of each API as
`tests/server/handlers/test_longest_steps` makes them, and does all that follows. Each step takes one turn;
turns are measured in CPU time of the thread, without the garbage collector and without the calls of the
store, which other threads make. Of each API the best of several runs counts: the machine's moods only add.
"""

import argparse
import gc
import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from odradek.records.builder import BatchBuilder
from odradek.testing.sim import CountedTime, SimNode, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from tests.server.handlers import test_longest_steps as requests

REQUESTS = {
    **requests.WIDE,
    **{f"{api} (topics)": made for api, made in requests.MANY_TOPICS.items()},
    **requests.MANY_OTHERS,
}
USUAL = [
    "produce",
    "fetch",
    "list_offsets",
    "metadata",
    "offset_commit",
    "offset_fetch",
    "describe_groups",
    "create_partitions",
    "create_topics",
    "add_partitions_to_txn",
    "txn_offset_commit",
    "end_txn",
    "consumer_group_heartbeat",
]


@dataclass(frozen=True)
class Figure:
    """One API; times in milliseconds of CPU time."""

    api: str
    count: int
    longest_ms: float
    sum_ms: float
    steps: int
    freed_blocks_max: int
    """The most blocks of memory that one step gave back."""


class StoreTime:
    """Measures the calls of the store's engine, to leave them out."""

    def __init__(self, node: SimNode) -> None:
        self.ns = 0
        engine = node.store.engine
        apply: Callable[..., Any] = engine.apply

        def measured(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the engine takes
            began_ns = time.thread_time_ns()
            try:
                return apply(*given, **named)
            finally:
                self.ns += time.thread_time_ns() - began_ns

        engine.apply = measured  # type: ignore[method-assign]


def batch_of(value: bytes) -> bytes:
    """A batch of one record."""
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


def started(count: int, *, has_topics: bool) -> SimNode:
    """A node with a topic of so many partitions and, if wanted, with so many topics."""
    node = World().node(offsets_topic_num_partitions="2", transaction_state_log_num_partitions="2")
    node.send(CreateTopicsRequest([CreatableTopic("wide", count, 1)], timeout_ms=1000))
    node.settle()
    if has_topics:  # a request may not make more than 10,000 partitions
        topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(count)]
        node.send(CreateTopicsRequest(topics, timeout_ms=1000))
        node.settle()
    assert len(list(node.core.image.live_topics())) >= 1 + count * has_topics
    node.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[requests.ID]), 4)
    node.settle()
    node.short_clock = CountedTime()
    return node


def measure(node: SimNode, store: StoreTime, api: str, count: int) -> Figure:
    """One request, with all that follows."""
    version, make = REQUESTS[api]
    node.settle()
    producer = node.ask(InitProducerIdRequest(requests.ID, 60_000))
    while producer.error_code:
        node.settle()
        producer = node.ask(InitProducerIdRequest(requests.ID, 60_000))
    numbers = [*range(count)]
    asked = requests.Asked(numbers, batch_of, (producer.producer_id, producer.producer_epoch))
    if api in ("offset_fetch", "offset_delete"):
        node.send(requests.WIDE["offset_commit"][1](asked), 8)
    if api == "end_txn":
        node.send(requests.WIDE["add_partitions_to_txn"][1](asked), 3)
    if api == "delete_topics":
        doomed = [CreatableTopic(f"gone{number}", 1, 1) for number in numbers]
        node.send(CreateTopicsRequest(doomed, timeout_ms=1000))
    node.settle()
    gc.collect()
    gc.freeze()
    gc.disable()
    node.send(make(asked), version)
    taken_ns, freed, held = [], 0, sys.getallocatedblocks()
    while True:
        store.ns, began_ns = 0, time.thread_time_ns()
        if not node.world.step():
            break
        taken_ns.append(time.thread_time_ns() - began_ns - store.ns)
        before, held = held, sys.getallocatedblocks()
        freed = max(freed, before - held)
    gc.enable()
    gc.unfreeze()
    node.advance(10)
    longest_ms, sum_ms = max(taken_ns) / 1e6, sum(taken_ns) / 1e6
    return Figure(api, count, round(longest_ms, 2), round(sum_ms, 1), len(taken_ns), freed)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("apis", nargs="*", metavar="API", default=USUAL)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)  # stalls, which are measured here
    by_partition = {"produce", "fetch", "list_offsets", "offset_commit", "offset_fetch", "offset_delete"}
    node = started(arguments.count, has_topics=not by_partition.issuperset(arguments.apis))
    store = StoreTime(node)
    figures = []
    for api in arguments.apis:
        repeat = 1 if api in ("create_topics", "create_partitions") else arguments.repeat
        runs = [measure(node, store, api, arguments.count) for _ in range(repeat)]
        figures.append(min(runs, key=lambda one: one.longest_ms))
        if not arguments.json:
            one = figures[-1]
            print(
                f"{one.api:45}{one.longest_ms:8.2f} ms of {one.sum_ms:9.1f} in {one.steps:6} steps;"
                f" freed at most {one.freed_blocks_max}",
                flush=True,
            )
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
