"""What is killed: executors of a cluster, the Python below them, or the broker."""

import contextlib
import os
import signal
import time
from random import Random
from typing import Final, Protocol

from peers.process import children_of
from peers.spark_cluster import SparkCluster

from odradek.testing import Broker

WORKERS: Final = (1, 2)
AWAY_S_MAX: Final = 3.0
PYTHON, ONE, ALL = "a Python worker", "an executor", "both executors"


class Victim(Protocol):
    """Something that can be killed once."""

    def kill(self) -> str:
        """Kill -9; returns what was killed, "" if it is not there."""

    def mend(self) -> None:
        """See to it that it comes back, and wait for that."""


class BrokerVictim:
    """The broker, which comes back on the same directory and port some time later."""

    def __init__(self, broker: Broker, chance: Random) -> None:
        self._broker = broker
        self._away_s = chance.uniform(0, AWAY_S_MAX)

    def kill(self) -> str:
        """See `Victim`."""
        self._broker.kill()
        return "the broker"

    def mend(self) -> None:
        """See `Victim`."""
        time.sleep(self._away_s)
        self._broker.start()


class ExecutorVictim:
    """Executors, or the process of a Python worker, for which Spark finds others by itself."""

    def __init__(self, cluster: SparkCluster, chance: Random) -> None:
        self._cluster = cluster
        self._kind = chance.choice((PYTHON, ONE, ONE, ALL))
        self._order = chance.sample(WORKERS, len(WORKERS))

    def kill(self) -> str:
        """See `Victim`. Where no Python worker is, an executor ends."""
        executors = [pid for number in self._order for pid in self._cluster.executors_of(number)]
        if self._kind == PYTHON:
            # The executor's child makes its workers.
            workers = [pid for one in executors for daemon in children_of(one) for pid in children_of(daemon)]
            if _killed(workers[:1]):
                return PYTHON
        if self._kind == ALL and len(executors) > 1:
            return ALL if _killed(executors) else ""
        return ONE if _killed(executors[:1]) else ""

    def mend(self) -> None:
        """See `Victim`."""


def _killed(pids: list[int]) -> bool:
    """Whether a process was there to be killed."""
    found = False
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            found = True
    return found
