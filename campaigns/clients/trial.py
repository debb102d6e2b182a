"""One run of one seed: applications with our clients, mishaps, a drain, and the checks.

    writers      two idempotent producers of numbered records               nothing lost, twice, out of order
    copiers      two transactional producers with consumers of one group    each record exactly once
    classic      two members of a group, which read both topics             nothing left out, out of order
    consumer     the same in the protocol of KIP-848
    admin        makes, changes and deletes topics                          what it was told is so

Writers are always there, and two of the others, as the seed draws them.

The mishaps end after WORK_S. Then the cluster is brought into order, the writers end, and everybody has
DRAIN_S to read what is there: who has not by then hangs.
"""

import asyncio
import gc
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

from campaigns.clients import late_commits
from campaigns.clients.administering import Topics, administer, check_topics
from campaigns.clients.application import BROKER_SESSION_MS, COPY, PARTITIONS, SESSION_MS, SOURCE, Setting
from campaigns.clients.copying import GROUP, copy
from campaigns.clients.ledger import Ledger
from campaigns.clients.mishaps import Client, Mishaps
from campaigns.clients.reading import STRATEGIES, read
from campaigns.clients.writing import write
from odradek.base.ids import TopicPartition
from odradek.testing.application.checks import PromiseBroken
from odradek.testing.application.cluster import Cluster
from odradek.testing.application.simulation import Simulation
from odradek.testing.topic_records import TestRecord

WORK_S: Final = 12.0
DRAIN_S: Final = 60.0
"""Two sessions, a transaction's timeout, and the backoffs of all that."""
LOOK_S: Final = 1.0
END_S: Final = 400.0
PROTOCOLS: Final = ("classic", "consumer")
"""Each is a group, too."""
ADMIN: Final = "admin"
SETTINGS: Final = {
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": str(BROKER_SESSION_MS),
    "group.min.session.timeout.ms": str(SESSION_MS),
    "group.initial.rebalance.delay.ms": "300",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
Application = Callable[[str], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one seed."""

    seed: int
    counts: Counter[str]
    """What the applications did, and what they were told, by kind."""
    violations: list[str]
    """The broken promises."""
    happened: list[str] = field(default_factory=list)
    """The mishaps."""


def run_trial(seed: int) -> Outcome:
    """Run a seed to its end; without the garbage collector, which takes a tenth of the time."""
    gc.disable()
    try:
        return _run_alone(seed)
    finally:
        gc.enable()
        gc.collect()


def _run_alone(seed: int) -> Outcome:
    simulation = Simulation(seed, brokers=3, within=END_S, settings=SETTINGS)
    trial = Trial(simulation)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # what clients log of mishaps tells nothing that is not counted
    try:
        with late_commits.noted(trial.ledger):
            simulation.run(trial.run)
    except Exception as error:
        trial.ledger.broken(f"the run ends with {sentence(error)}")
    finally:
        logging.disable(before)
    for process in simulation.processes:
        if process.was_killed:
            continue  # who would have heard of it is gone
        for complaint in process.loop.complaints:
            cause = complaint.get("exception")
            said = complaint.get("message") if cause is None else sentence(cause)
            trial.ledger.broken(f"{process.name}: nobody heard of {said}")
    return Outcome(seed, trial.ledger.counts, trial.ledger.violations, trial.happened)


class Trial:
    """See the module."""

    def __init__(self, simulation: Simulation) -> None:
        self.ledger = Ledger()
        """What the applications see."""
        self.happened: list[str] = []
        """The mishaps, by name."""
        self._simulation = simulation
        self._chance = Random(simulation.seed)
        # Who is there beside the writers.
        self._cast = self._chance.sample((GROUP, *PROTOCOLS, ADMIN), 2)
        # Who does what, and in which life; those that live.
        self._roles: dict[str, tuple[Application, int]] = {}
        self._living: dict[str, Client] = {}

    async def run(self, cluster: Cluster) -> None:
        """The test of the simulation."""
        setting = Setting(cluster, self.ledger, self._chance)
        for topic in (SOURCE, COPY):
            await cluster.create_topic(topic, partitions=PARTITIONS)
        topics = Topics()
        self._begin(cluster, setting, topics)
        mishaps = Mishaps(
            self._simulation.world,
            cluster,
            self._chance,
            lambda: list(self._living.values()),
            self._again(cluster),
        )
        self.happened = mishaps.happened
        await mishaps.run(asyncio.get_running_loop().time() + WORK_S)
        try:
            await cluster.recover()
        except PromiseBroken as error:
            self.ledger.broken(str(error))
            return
        setting.is_writing = False
        await self._ended("writer")
        source, copied = await self._drained(cluster)
        setting.is_running = False
        await self._ended("")
        self.ledger.check(SOURCE, source)
        self.ledger.check(COPY, copied)
        self.ledger.check_series(source)
        self.ledger.check_series(copied)
        await check_topics(setting, topics)
        await cluster.check()

    def _begin(self, cluster: Cluster, setting: Setting, topics: Topics) -> None:
        for number in range(2):
            self._spawn(cluster, f"writer-{number}", lambda name: write(setting, name))
        for company in self._cast:
            strategy, protocol = self._chance.choice(STRATEGIES), self._chance.choice(PROTOCOLS)
            if company == ADMIN:
                self._spawn(cluster, ADMIN, lambda _: administer(setting, topics))
                continue
            for number in range(2):
                role = f"{company}-{number}"
                if company == GROUP:
                    application = partial(_copy, setting, role, protocol, strategy)
                else:
                    application = partial(_read, setting, company, strategy)
                self._spawn(cluster, role, application)

    # --- processes

    def _spawn(self, cluster: Cluster, role: str, application: Application, life: int = 0) -> None:
        name = f"{role}-{life}"
        self._roles[role] = application, life
        self._living[role] = cluster.spawn(self._held(name, application(name)), name=name)

    def _again(self, cluster: Cluster) -> Callable[[Client], None]:
        def again(client: Client) -> None:
            role = next(one for one, living in self._living.items() if living is client)
            application, life = self._roles[role]
            self._spawn(cluster, role, application, life + 1)

        return again

    async def _held(self, name: str, application: Coroutine[Any, Any, None]) -> None:
        """An application's errors are the run's."""
        try:
            await application
        except TimeoutError:
            pass  # `Setting.within` has said what hangs
        except Exception as error:
            self.ledger.broken(f"{name} ends with {sentence(error)}")

    async def _ended(self, role: str) -> None:
        """Wait for the ends of those whose role begins so: their calls have limits."""
        for name, process in self._living.items():
            if name.startswith(role):
                await process

    # --- the drain

    async def _drained(self, cluster: Cluster) -> tuple[list[TestRecord], list[TestRecord]]:
        """Wait until everything is copied and read; returns the records of both topics."""
        source = await cluster.records(SOURCE)
        ends = asyncio.get_running_loop().time() + DRAIN_S
        while True:
            copied = await cluster.records(COPY)
            behind = self._behind(source, copied)
            if not behind or self.ledger.violations:  # a run that has failed need not wait
                return source, copied
            if asyncio.get_running_loop().time() > ends:
                self.ledger.broken(f"{DRAIN_S:g} s after the last mishap: {', '.join(behind)}")
                return source, copied
            await asyncio.sleep(LOOK_S)

    def _behind(self, source: list[TestRecord], copied: list[TestRecord]) -> list[str]:
        found = []
        if GROUP in self._cast and len(copied) < len(source):
            found.append(f"{len(source) - len(copied)} records are not copied")
        for group in self._cast:
            records = source if group == GROUP else (*source, *copied)
            if group != ADMIN and not self.ledger.is_read(group, records):
                found.append(f"group {group} has not read everything")
            if group != ADMIN:
                topics = (SOURCE,) if group == GROUP else (SOURCE, COPY)
                found += self._not_owned(group, topics)
        return found

    def _not_owned(self, group: str, topics: Iterable[str]) -> list[str]:
        """The partitions that do not have exactly one owner, by the word of the members that live."""
        members = [self.ledger.readers.get(process.name) for process in self._living.values()]
        held = Counter(one for member in members if member and member.group == group for one in member.next)
        places = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        return [f"{one} has {held[one]} owners in group {group}" for one in places if held[one] != 1]


async def _copy(setting: Setting, role: str, protocol: str, strategy: str, name: str) -> None:
    await copy(setting, name, role, protocol, strategy)


async def _read(setting: Setting, protocol: str, strategy: str, name: str) -> None:
    await read(setting, protocol, name, protocol, strategy)


def sentence(error: BaseException) -> str:
    """The error and the line that raised it; of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
