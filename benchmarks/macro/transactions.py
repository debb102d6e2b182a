"""How long a transaction of a hundred records takes, from its begin to the end of its commit."""

import json
import statistics
import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping

from confluent_kafka import Producer
from peers import BrokerProcess

from benchmarks.macro.programs import java_program
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

RECORDS = 100
RECORD = b"x" * 100
TRANSACTIONS = 500
TRANSACTIONS_QUICK = 50
# A JVM compiles the code for a transaction only after many of them.
WARM_UP = 500
WARM_UP_QUICK = 20
TIMEOUT_S = 30.0
PROGRAM_TIMEOUT_S = 300.0

P50 = Figure("p50", "ms", Better.LOWER, ratio_goal=1.0)
P99 = Figure("p99", "ms", Better.LOWER)


class Transactions(Scenario):
    """One transactional producer, one partition, one transaction after the other."""

    figures = (P50, P99)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Time each transaction, after a warm-up of many transactions."""
        warm_up = WARM_UP_QUICK if quick else WARM_UP
        timed = TRANSACTIONS_QUICK if quick else TRANSACTIONS
        with fresh_topic(broker) as topic:
            durations_ms = self.durations_ms(broker, topic, warm_up + timed)[warm_up:]
        assert len(durations_ms) == timed, f"{len(durations_ms)} transactions were timed"
        return {
            P50.name: statistics.median(durations_ms),
            P99.name: statistics.quantiles(durations_ms, n=100)[98],
        }

    @abstractmethod
    def durations_ms(self, broker: BrokerProcess, topic: str, count: int) -> list[float]:
        """Milliseconds of each of `count` transactions, in their order."""


class TransactionsConfluent(Transactions):
    """librdkafka adds partitions by itself and ends with EndTxn of the classic way."""

    name = "transactions-100"
    title = f"A transaction of {RECORDS} records of {len(RECORD)} B: begin, produce, commit; confluent-kafka"

    def durations_ms(self, broker: BrokerProcess, topic: str, count: int) -> list[float]:
        """See `Transactions.durations_ms`."""
        settings = {"transactional.id": f"bench-{time.time_ns()}", "linger.ms": 0}
        producer = Producer({"bootstrap.servers": broker.bootstrap, **settings})
        producer.init_transactions(TIMEOUT_S)
        durations_ms = []
        for _ in range(count):
            began = time.perf_counter()
            producer.begin_transaction()
            for _ in range(RECORDS):
                producer.produce(topic, RECORD, partition=0)
            producer.commit_transaction(TIMEOUT_S)
            durations_ms.append((time.perf_counter() - began) * 1000)
        return durations_ms


class TransactionsJava(Transactions):
    """Java's producer, on transactions of the second version (KIP-890)."""

    name = "transactions-100-java"
    title = f"A transaction of {RECORDS} records of {len(RECORD)} B: begin, produce, commit; Java"

    def durations_ms(self, broker: BrokerProcess, topic: str, count: int) -> list[float]:
        """See `Transactions.durations_ms`."""
        sizes = [str(count), str(RECORDS), str(len(RECORD))]
        command = java_program("LoneTransactions", broker.bootstrap, topic, *sizes)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S)
        assert done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr[-500:]}"
        durations_ms: list[float] = json.loads(done.stdout)
        return durations_ms
