"""Rounds of a contest: every client does the job once, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from confluent_kafka import Producer
from peers import BrokerProcess

from benchmarks.clients.contests import MODULES, Contest
from benchmarks.clients.job import Job, value_of
from benchmarks.macro.results import ROOT, Measurement, Run
from benchmarks.macro.topics import fresh_topic

RUN_TIMEOUT_S = 900.0
QUICK = 20
"""A quick run has so many times fewer records."""


def measure(
    run: Run,
    broker: BrokerProcess,
    contest: Contest,
    *,
    rounds: int,
    quick: bool,
    on_measured: Callable[[Measurement], None],
) -> None:
    """Add the measurements of a contest to the run; who fails is recorded as failed, and the others go on.

    The first client of a round is another one in the next, for the one behind a slow one has it easier.
    """
    entrants = list(contest.entrants)
    with _topic(broker, contest, quick=quick) as shared:
        for number in range(rounds):
            first = number % len(entrants)
            for client in [*entrants[first:], *entrants[:first]]:
                measurement = Measurement(number + 1, client, contest.name)
                try:
                    with _job(broker, contest, shared, quick=quick) as job:
                        measurement.figures = _done(client, contest.entrants[client], job)
                except Exception as error:  # of a client, the broker or our own code: all are recorded
                    measurement.error = f"{type(error).__name__}: {error}"[-500:]
                run.measurements.append(measurement)
                on_measured(measurement)


@contextmanager
def _topic(broker: BrokerProcess, contest: Contest, *, quick: bool) -> Iterator[str | None]:
    """The topic that all clients read; None if each has its own."""
    if not contest.is_filled:
        yield None
        return
    with fresh_topic(broker, partitions=contest.partitions) as topic:
        _fill(broker, topic, contest, _records(contest, quick=quick))
        yield topic


@contextmanager
def _job(broker: BrokerProcess, contest: Contest, shared: str | None, *, quick: bool) -> Iterator[Job]:
    """The job on the topic of all, or on a new one."""
    if shared is not None:
        yield _job_on(broker, contest, shared, quick=quick)
        return
    with fresh_topic(broker, partitions=contest.partitions) as topic:
        yield _job_on(broker, contest, topic, quick=quick)


def _job_on(broker: BrokerProcess, contest: Contest, topic: str, *, quick: bool) -> Job:
    return Job(
        broker.bootstrap,
        topic,
        _records(contest, quick=quick),
        contest.partitions,
        contest.record_bytes,
        contest.codec,
    )


def _records(contest: Contest, *, quick: bool) -> int:
    return contest.records // QUICK if quick else contest.records


def _fill(broker: BrokerProcess, topic: str, contest: Contest, records: int) -> None:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "compression.type": contest.codec,
            "batch.size": 65536,
            "linger.ms": 5,
            "queue.buffering.max.messages": max(records, 1),
        }
    )
    for number in range(records):
        producer.produce(topic, value_of(number, contest.record_bytes), partition=number % contest.partitions)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush(RUN_TIMEOUT_S)
    if left:
        raise TimeoutError(f"{left} records were not acknowledged")


def _done(client: str, work: str, job: Job) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.clients.one_run", MODULES[client], work]
    done = subprocess.run(
        [*command, json.dumps(asdict(job))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures
