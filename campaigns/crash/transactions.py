"""Transactions under kill -9.

A group of producers of both kinds (librdkafka: the classic way; Java: KIP-890's) consumes, transforms and
produces, each record into copies in several partitions, the offsets in the same transaction. Some are
aborted, some producers dropped in the middle; others vanish for good, so that a timeout must end theirs.
Most kills are aimed at an EndTxn. After each kill, when all producers have continued and then stopped:

- the last stable offset reaches the end of every partition, and no transaction is open or ending,
  within `SETTLE_TIMEOUT_S`;
- `transactions_check` holds of what a committed reader finds;
- a reader that read continuously saw exactly the same;
- every producer has committed something after the restart.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from campaigns.crash.campaign import BEFORE_S, BUSY_OFFSETS_TOPIC, QUICK_RECONNECTS, QUIET, Broken, Load
from campaigns.crash.committed_reader import FollowingReader, read_committed
from campaigns.crash.transactions_check import Ledger, Outcome, Written, check_output
from campaigns.crash.transformers import (
    GROUP,
    SOURCE_TOPIC,
    TARGET_PARTITIONS,
    TARGET_TOPIC,
    ConfluentTransformer,
    JavaTransformer,
    Manner,
    Transformer,
)
from odradek import Admin
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition as Place
from odradek.base.offset_timestamps import LATEST
from odradek.client.administering import administering
from odradek.client.bootstrap import connect_any, parse_bootstrap_servers
from odradek.client.cluster import fetch_leaders, list_offsets
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.transactions import list_transactions

SOURCE_PARTITIONS = 6
CONFLUENT_TRANSFORMERS = 2
FED_PER_S = 400
MANNERS = (Manner.COMMIT, Manner.ABORT, Manner.ABANDON)
MANNER_WEIGHTS = (86, 11, 3)
SETTLE_TIMEOUT_S = 45.0
END_TIMEOUT_S = 15.0
# A producer that vanished is timed out after this.
ZOMBIE_TIMEOUT_MS = 2_000
ZOMBIE_PROBABILITY = 0.5
# The share of kills that are aimed at an EndTxn, how long one is waited for, and how far behind it they come.
AIMED_PROBABILITY = 0.85
AIM_TIMEOUT_S = 2.0
AIM_DELAYS_S = (0.0, 0.0, 0.001, 0.006)
AT_REST = {"Empty", "CompleteCommit", "CompleteAbort", "Dead"}


class Worker(threading.Thread):
    """Has one transformer do transaction after transaction, except while it is told to rest."""

    def __init__(self, name: str, transformer: Transformer, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(name=name, daemon=True)
        self._transformer = transformer
        self._ledger = ledger
        self._chance = chance
        self._working = threading.Event()
        self._resting = threading.Event()
        self._ending = threading.Event()
        self._current = ""
        self.committed = 0
        self.failure: Exception | None = None

    def run(self) -> None:
        number = 0
        try:
            while not self._ending.is_set():
                if not self._working.is_set():
                    self._resting.set()
                    self._working.wait(0.1)
                    continue
                number += 1
                self._current = f"{self.name}-{number}"
                manner = self._chance.choices(MANNERS, MANNER_WEIGHTS)[0]
                self._transformer.transform(self._current, manner)
                self.committed += self._ledger.outcome(self._current) is Outcome.COMMITTED
        except Exception as failure:
            self.failure = failure
        finally:
            self._resting.set()
            self._transformer.close()

    @property
    def hanging(self) -> int:
        """How many of its producers hang in a call, and were replaced."""
        return self._transformer.hanging

    @property
    def is_ending(self) -> bool:
        """Whether its EndTxn is on its way."""
        return self._ledger.outcome(self._current) is Outcome.ENDING

    @property
    def is_resting(self) -> bool:
        """Whether it is at rest."""
        return self._resting.is_set()

    def work(self) -> None:
        """Continue."""
        self._resting.clear()
        self._working.set()

    def rest(self) -> None:
        """Do no more transactions after this one."""
        self._working.clear()

    def finish(self) -> None:
        """Stop for good; one that is stuck is left behind."""
        self._ending.set()
        self.join(END_TIMEOUT_S)


class Feeder(threading.Thread):
    """Writes the records to be transformed."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._ending = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                **QUICK_RECONNECTS,
                **QUIET,
            }
        )

    def run(self) -> None:
        number = 0
        while not self._ending.wait(1 / FED_PER_S):
            self._producer.produce(SOURCE_TOPIC, str(number), partition=number % SOURCE_PARTITIONS)
            self._producer.poll(0)
            number += 1
        self._producer.purge()

    def finish(self) -> None:
        """Stop; unsent records are dropped."""
        self._ending.set()
        self.join()


class Zombie(threading.Thread):
    """A producer that opens a transaction, writes, and vanishes."""

    def __init__(self, bootstrap: str, name: str, ledger: Ledger) -> None:
        super().__init__(daemon=True)
        ledger.note(name, Outcome.OPEN)
        self._label = name
        self._address = bootstrap

    def run(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._address,
                "transactional.id": self._label,
                "transaction.timeout.ms": ZOMBIE_TIMEOUT_MS,
                **QUICK_RECONNECTS,
                **QUIET,
            }
        )
        try:
            producer.init_transactions(5)
            producer.begin_transaction()
            for number in range(TARGET_PARTITIONS):
                written = Written(self._label, TARGET_PARTITIONS, 0, 0, number)
                producer.produce(TARGET_TOPIC, written.encode(), partition=number)
            producer.flush(5)
        except KafkaException:
            pass  # The broker was killed meanwhile: it vanishes a little earlier.


class Transactions(Load):
    """Producers that consume, transform and produce."""

    broker_settings: ClassVar[dict[str, str]] = {
        **BUSY_OFFSETS_TOPIC,
        "log.segment.bytes": str(1 << 20),
        "transaction.state.log.segment.bytes": str(1 << 20),
        "transaction.state.log.num.partitions": "5",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, chance)
        with Admin(bootstrap) as admin:
            admin.create_topic(SOURCE_TOPIC, partitions=SOURCE_PARTITIONS)
            admin.create_topic(TARGET_TOPIC, partitions=TARGET_PARTITIONS)
        self._ledger = Ledger()
        transformers: dict[str, Transformer] = {
            f"classic-{number}": ConfluentTransformer(
                bootstrap, f"classic-{number}", self._ledger, random.Random(chance.random())
            )
            for number in range(CONFLUENT_TRANSFORMERS)
        }
        if lacks := JavaTransformer.missing():
            print(f"the Java client is left out: {lacks}")
        else:
            transformers["java"] = JavaTransformer(bootstrap, "java", self._ledger)
        self._workers = [
            Worker(name, transformer, self._ledger, random.Random(chance.random()))
            for name, transformer in transformers.items()
        ]
        self._feeder = Feeder(bootstrap)
        self._reader = FollowingReader(bootstrap, TARGET_TOPIC, TARGET_PARTITIONS)
        self._zombies: list[Zombie] = []
        self._kills_while_ending = 0
        self._visible = 0
        for thread in (*self._workers, self._feeder, self._reader):
            thread.start()

    def begin(self) -> None:
        for worker in self._workers:
            worker.work()
        self._await_commits()
        if self._chance.random() < ZOMBIE_PROBABILITY:
            zombie = Zombie(self._bootstrap, f"zombie-{len(self._zombies)}", self._ledger)
            self._zombies.append(zombie)
            zombie.start()

    def await_moment(self) -> None:
        time.sleep(self._chance.uniform(*BEFORE_S))
        if self._chance.random() < AIMED_PROBABILITY:
            target = self._chance.choice(self._workers)
            deadline = time.monotonic() + AIM_TIMEOUT_S
            while not target.is_ending and time.monotonic() < deadline:
                time.sleep(0.000_2)
            time.sleep(self._chance.choice(AIM_DELAYS_S))
        self._kills_while_ending += any(worker.is_ending for worker in self._workers)

    def settle(self) -> None:
        self._await_commits()
        for worker in self._workers:
            worker.rest()
        self._await(
            "every producer at rest", lambda: [one.name for one in self._workers if not one.is_resting]
        )
        for zombie in self._zombies:
            zombie.join()
        self._await("every transaction ended", self._open_transactions)
        self._await("the last stable offsets at the ends", self._unstable)

    def _await_commits(self) -> None:
        """Every producer commits something from now on."""
        before = {worker: worker.committed for worker in self._workers}
        self._await(
            "every producer committing", lambda: [one.name for one in before if one.committed == before[one]]
        )

    def _await(self, what: str, still: Callable[[], Sequence[str]]) -> None:
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while left := still():
            for worker in self._workers:
                if worker.failure is not None:
                    raise Broken(f"{worker.name} failed: {worker.failure!r}")
            if time.monotonic() > deadline:
                raise Broken(f"waited {SETTLE_TIMEOUT_S} s for {what}; not yet: {left}")
            time.sleep(0.02)

    def _open_transactions(self) -> list[str]:
        try:
            with administering(ClientConfig(self._bootstrap), tries_again=False) as admin:
                found = admin.carry_out(list_transactions())
        except OdradekError as passing:
            return [str(passing)]
        return [f"{one.transactional_id}: {one.state}" for one in found if one.state not in AT_REST]

    def _unstable(self) -> list[str]:
        places = [Place(TARGET_TOPIC, number) for number in range(TARGET_PARTITIONS)]
        try:
            with connect_any(parse_bootstrap_servers(self._bootstrap)) as connection:
                leaders = fetch_leaders(connection, [TARGET_TOPIC])
            stable = list_offsets(leaders, LATEST, places, "read_committed")
            ends = list_offsets(leaders, LATEST, places, "read_uncommitted")
        except OdradekError as passing:
            return [str(passing)]  # A leadership moves.
        return [f"{one}: {stable[one]} of {ends[one]}" for one in places if stable[one] != ends[one]]

    def check(self) -> None:
        found = read_committed(self._bootstrap, TARGET_TOPIC, TARGET_PARTITIONS)
        outcomes = self._ledger.snapshot()
        check_output(outcomes, found.values(), self._committed_offsets())
        self._visible = len({written.transaction for written in found.values()})
        self._reader.await_all(found)

    def _committed_offsets(self) -> dict[int, int]:
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": GROUP, **QUIET})
        try:
            wanted = [TopicPartition(SOURCE_TOPIC, number) for number in range(SOURCE_PARTITIONS)]
            found = consumer.committed(wanted, SETTLE_TIMEOUT_S)
        except KafkaException as error:
            raise Broken(f"the offsets of the group cannot be fetched: {error}") from None
        finally:
            consumer.close()
        for one in found:
            if one.error is not None:
                raise Broken(f"the offset of {one.partition} cannot be fetched: {one.error}")
        return {one.partition: max(one.offset, 0) for one in found}

    def counted(self) -> dict[str, int]:
        return {
            "committed": self._ledger.count(Outcome.COMMITTED),
            "aborted": self._ledger.count(Outcome.ABORTED),
            "never_ended_by_their_producer": self._ledger.count(Outcome.OPEN),
            "commit_not_answered": self._ledger.count(Outcome.ENDING),
            "visible": self._visible,
            "producers_that_hang": sum(worker.hanging for worker in self._workers),
            "kills_during_an_end": self._kills_while_ending,
        }

    def close(self) -> None:
        for worker in self._workers:
            worker.finish()
        self._feeder.finish()
        self._reader.finish()
