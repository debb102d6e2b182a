"""What one small produce costs brokers whose reader has a fetch session, by the session's partitions (F10).

    .venv/bin/python benchmarks/micro/fetch_sessions.py [--json] [--partitions 10 1000] [--produces 60]

Whole brokers in the simulator (`odradek.testing.sim`), so that the CPU time of both sides of a fetch is
counted: request, session, read, answer, and what the follower does with it. The simulator's own work is in
the figures, and is the same for each number of partitions.

    follower    broker 1 leads all partitions, broker 2 follows them; one record, acks=all
    consumer    one broker; a client fetches all partitions in a session; one record, acks=1, and its fetch

Each produce is to another partition than the one before. `idle` is the CPU time for one second of virtual
time in which nothing is produced: two fetches that find nothing, and the brokers' periodic tasks.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass

from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC = "benchmark"
IDLE_SECONDS = 10
FETCH_VERSION = 12
"""The latest that names topics."""


@dataclass(frozen=True)
class Figure:
    """CPU time of all brokers and the simulator."""

    reader: str
    partitions: int
    produce_ms: float
    """The median over the produces."""
    idle_ms: float
    """For each second of virtual time."""


class Brokers:
    """One broker, or a leader and its follower, with one topic; no fetch session is open yet."""

    def __init__(self, brokers: int, partitions: int) -> None:
        self.world = World(brokers=brokers)
        replicas = list(self.world.nodes)
        assignments = [CreatableReplicaAssignment(number, replicas) for number in range(partitions)]
        topic = CreatableTopic(TOPIC, -1, -1, assignments)
        answer = self.leader.ask(CreateTopicsRequest([topic], timeout_ms=60_000))
        assert answer.topics[0].error_code == 0, answer
        self.world.advance(3_000)

    @property
    def leader(self) -> SimNode:
        """The broker that leads all partitions."""
        return next(iter(self.world.nodes.values()))

    def produce(self, partition: int, acks: int) -> None:
        """Append one record and wait for the answer."""
        builder = BatchBuilder()
        builder.append(self.leader.clock.wall_ms(), None, b"x" * 100)
        data = PartitionProduceData(partition, bytes(builder.build()))
        request = ProduceRequest(None, acks, 60_000, [TopicProduceData(TOPIC, partition_data=[data])])
        sent = self.leader.send(request, 9)
        self.world.settle()
        assert sent.answer.responses[0].partition_responses[0].error_code == 0


class Follower:
    """The reader is the follower's fetcher."""

    def __init__(self, partitions: int) -> None:
        self.brokers = Brokers(2, partitions)

    def produce(self, partition: int) -> None:
        """Append one record, which the follower has when it is answered."""
        self.brokers.produce(partition, -1)

    def idle(self) -> None:
        """Let time pass."""
        for _ in range(IDLE_SECONDS):
            self.brokers.world.advance(1_000)


class Consumer:
    """The reader is a client that fetches each partition from where it is."""

    def __init__(self, partitions: int) -> None:
        self.brokers = Brokers(1, partitions)
        self._offsets = [0] * partitions
        self._session = 0
        self._epoch = 0
        self._fetch(range(partitions))
        self.brokers.world.advance(1_000)
        self._on_answer()

    def _fetch(self, partitions: range) -> None:
        wanted = [FetchPartition(index, -1, self._offsets[index], -1, -1, 1 << 20) for index in partitions]
        self._sent: SimRequest[FetchResponse] = self.brokers.leader.send(
            FetchRequest(
                replica_id=-1,
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=50 << 20,
                session_id=self._session,
                session_epoch=self._epoch,
                topics=[FetchTopic(TOPIC, partitions=wanted)] if wanted else [],
            ),
            FETCH_VERSION,
        )

    def _on_answer(self) -> None:
        """Take the answer that has arrived, and fetch on."""
        answer = self._sent.answer
        assert answer.error_code == 0
        self._session, self._epoch = answer.session_id, self._epoch + 1
        got = [
            part.partition_index for topic in answer.responses for part in topic.partitions if part.records
        ]
        for index in got:
            self._offsets[index] += 1
        assert len(got) <= 1
        self._fetch(range(got[0], got[0] + 1) if got else range(0))
        self.brokers.world.settle()

    def produce(self, partition: int) -> None:
        """Append one record, and fetch it."""
        self.brokers.produce(partition, 1)
        while self._sent.answers:
            self._on_answer()

    def idle(self) -> None:
        """Let time pass, and fetch on after each fetch that found nothing."""
        for _ in range(2 * IDLE_SECONDS):
            self.brokers.world.advance(500)
            while self._sent.answers:
                self._on_answer()


def measure(reader: str, partitions: int, produces: int) -> Figure:
    """Open the session, produce to one partition after another, then idle."""
    bench = Follower(partitions) if reader == "follower" else Consumer(partitions)
    for number in range(10):
        bench.produce(number % partitions)
    gc.collect()
    gc.freeze()
    taken = []
    for number in range(produces):
        began = time.process_time()
        bench.produce((7 * number) % partitions)
        taken.append(time.process_time() - began)
    began = time.process_time()
    bench.idle()
    idle = (time.process_time() - began) / IDLE_SECONDS
    gc.unfreeze()
    return Figure(reader, partitions, round(statistics.median(taken) * 1e3, 3), round(idle * 1e3, 3))


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--partitions", type=int, nargs="+", default=[10, 100, 1_000, 3_333])
    parser.add_argument("--produces", type=int, default=60)
    arguments = parser.parse_args()
    figures = [
        measure(reader, partitions, arguments.produces)
        for reader in ("follower", "consumer")
        for partitions in arguments.partitions
    ]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print(f"{'reader':>10}{'partitions':>12}{'ms per produce':>16}{'ms per idle s':>15}")
    for figure in figures:
        print(f"{figure.reader:>10}{figure.partitions:>12,}{figure.produce_ms:>16.2f}{figure.idle_ms:>15.2f}")


if __name__ == "__main__":
    main()
