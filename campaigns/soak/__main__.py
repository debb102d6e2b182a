"""`./dev soak`: our own clients on three brokers for long, in groups and transactions, while brokers end.

    ./dev soak --minutes 30 --seed 1

Three idempotent producers write. Twenty copiers, ten in a group of each protocol, copy what they read to
another topic, in transactions with their offsets. Copiers come and go. Every half minute a broker is killed
or stopped, and comes back. In the end each record is in each topic exactly once, and no task, thread or
memory is left over.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from campaigns.crash.cluster_campaign import CLUSTER_SETTINGS
from campaigns.fuzz import resident_mb
from campaigns.soak.check import (
    Broken,
    check_copies,
    check_memory,
    check_nothing_left,
    check_same,
    read_committed,
)
from campaigns.soak.copiers import SESSION_MS, Copier
from campaigns.soak.writers import SOURCE, Writer
from odradek.aio import Admin
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.testing.cluster_process import ClusterProcess

BROKERS: Final = 3
WRITERS: Final = 3
COPIERS: Final = 10
"""In the group of each protocol."""
PROTOCOLS: Final = ("classic", "consumer")
PARTITIONS: Final = 12
RESTART_EVERY_S: Final = 30.0
SAMPLE_EVERY_S: Final = 10.0
CATCH_UP_S: Final = 180.0
SETTINGS: Final = {
    **CLUSTER_SETTINGS,
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "log.segment.bytes": str(4 << 20),
}


class Soak:
    """One soak: its clients, and what was counted."""

    def __init__(self, cluster: ClusterProcess, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._restarts = 0
        self._resident_mb: list[float] = []

    async def run(self, seconds: float) -> dict[str, object]:
        """Soak for so long; returns what was counted. Raises Broken, and what clients may not raise."""
        bootstrap, chance = self._cluster.bootstrap_servers, self._chance
        threads_before = threading.active_count()
        await self._make_topics()
        writers = [Writer(bootstrap, first, WRITERS, chance) for first in range(WRITERS)]
        copiers = [
            Copier(bootstrap, protocol, number, chance) for protocol in PROTOCOLS for number in range(COPIERS)
        ]
        writing_ends, living_ends = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            living = [tasks.create_task(copier.live(living_ends)) for copier in copiers]
            sampling = tasks.create_task(self._sample())
            writing = [tasks.create_task(writer.write(writing_ends)) for writer in writers]
            await self._restart_brokers(seconds)
            writing_ends.set()
            await asyncio.wait(writing)
            living_ends.set()
            await self._caught_up()
            for task in (*living, sampling):
                task.cancel()
        await asyncio.sleep(0)
        check_nothing_left(threads_before)
        check_memory(self._resident_mb)
        acknowledged = {number for writer in writers for number in writer.acknowledged}
        source = await read_committed(bootstrap, SOURCE, PARTITIONS)
        check_copies(SOURCE, source, acknowledged)
        for topic in PROTOCOLS:
            found = await read_committed(bootstrap, topic, PARTITIONS)
            check_copies(topic, found, source)
            check_same(topic, found, source)
        copied: Counter[str] = sum((copier.counts for copier in copiers), Counter())
        return {
            "acknowledged": len(acknowledged),
            "restarts": self._restarts,
            "copiers": dict(copied),
            "resident_mb": [
                round(each) for each in self._resident_mb[:: max(1, len(self._resident_mb) // 10)]
            ],
        }

    async def _make_topics(self) -> None:
        async with Admin(self._cluster.bootstrap_servers) as admin:
            for topic in (SOURCE, *PROTOCOLS):
                await admin.create_topic(topic, partitions=PARTITIONS)

    async def _restart_brokers(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, RESTART_EVERY_S))
            if left > RESTART_EVERY_S:
                victim = self._chance.choice(self._cluster.broker_ids)
                how = self._chance.choice((signal.SIGKILL, signal.SIGTERM))
                with contextlib.suppress(ProcessLookupError):  # it is away still: its next start is put off
                    os.kill(self._cluster.pid_of(victim), how)
                    self._restarts += 1

    async def _sample(self) -> None:
        while True:
            self._resident_mb.append(resident_mb(os.getpid()))
            await asyncio.sleep(SAMPLE_EVERY_S)

    async def _caught_up(self) -> None:
        """Wait until both groups have committed what the source ends with. Raises Broken."""
        async with Admin(self._cluster.bootstrap_servers) as admin:
            deadline = time.monotonic() + CATCH_UP_S
            while (behind := await self._behind(admin)) and time.monotonic() < deadline:
                await asyncio.sleep(1.0)
        if behind:
            raise Broken(f"{CATCH_UP_S:g} s after the last record groups are behind: {behind}")

    @staticmethod
    async def _behind(admin: Admin) -> dict[str, int]:
        """How many records each group that is behind has not committed."""
        places = [TopicPartition(SOURCE, partition) for partition in range(PARTITIONS)]
        ends = await admin.list_offsets(dict.fromkeys(places, LATEST))
        lags = {}
        for group in PROTOCOLS:
            committed = await admin.list_group_offsets(group)
            lags[group] = sum(end - committed.get(place, 0) for place, end in ends.items())
        return {group: lag for group, lag in lags.items() if lag}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exits with 1 if a promise is broken."""
    parser = argparse.ArgumentParser(
        prog="./dev soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="how long clients work (default 30)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    logging.getLogger("odradek.client").setLevel(logging.ERROR)  # groups that nobody leaves are meant
    scratch = Path(tempfile.mkdtemp(prefix="odradek-soak-"))
    cluster = ClusterProcess(scratch / "data", BROKERS, settings=SETTINGS, log_path=scratch / "log")
    started = time.monotonic()
    try:
        cluster.start()
        counted = asyncio.run(Soak(cluster, random.Random(options.seed)).run(60 * options.minutes))
        code = cluster.stop()
        if code:
            raise Broken(f"the cluster stopped with the exit code {code}")
    except Broken as broken:
        print(f"broken: {broken}; {scratch} has the logs", flush=True)
        return 1
    finally:
        cluster.close()
    shutil.rmtree(scratch)
    print(json.dumps({"seed": options.seed, "seconds": round(time.monotonic() - started), **counted}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
