"""How long a group of many members takes to be rebalanced, when each of them reacts at once."""

import statistics
import time
from collections.abc import Mapping

from peers import BrokerProcess

from benchmarks.macro.crowd import Crowd
from benchmarks.macro.members import RawGroup
from benchmarks.macro.scenario import Better, Figure, Scenario

MEMBERS = 500
ROUNDS = 30
ROUNDS_QUICK = 3
# A JVM has to compile its way through a rebalance.
WARM_UP_ROUNDS = 20
WARM_UP_ROUNDS_QUICK = 1
TOPIC = "bench-rebalance"  # no member reads it, so the scenario does not make it

JOINS = Figure("one more joins, p50", "ms", Better.LOWER, ratio_goal=1.0)
JOINS_WORST = Figure("one more joins, slowest", "ms", Better.LOWER)
LEAVES = Figure("it leaves, p50", "ms", Better.LOWER, ratio_goal=1.0)


class Rebalance(Scenario):
    """One process simulates all members, on a connection each; its cost is in the figures of both brokers.

    The time of a join is from the newcomer's first JoinGroup to the last answer to a SyncGroup, with a
    heartbeat, a join and a sync of everybody between them; that of a leave begins with the LeaveGroup.
    """

    name = "rebalance-500"
    title = f"A full rebalance of {MEMBERS} classic members, raw sockets, initial delay 0"
    figures = (JOINS, JOINS_WORST, LEAVES)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Form the group, then let one more join and leave again, many times."""
        with Crowd(broker.port) as crowd:
            group = RawGroup(crowd, f"rebalance-{time.time_ns()}", TOPIC)
            group.find()
            group.form([crowd.connect() for _ in range(MEMBERS)])
            newcomer = crowd.connect()
            for _ in range(WARM_UP_ROUNDS_QUICK if quick else WARM_UP_ROUNDS):
                self._round(group, newcomer)
            rounds = [self._round(group, newcomer) for _ in range(ROUNDS_QUICK if quick else ROUNDS)]
        joins_ms, leaves_ms = zip(*rounds, strict=True)
        return {
            JOINS.name: statistics.median(joins_ms),
            JOINS_WORST.name: max(joins_ms),
            LEAVES.name: statistics.median(leaves_ms),
        }

    def _round(self, group: RawGroup, newcomer: int) -> tuple[float, float]:
        """Milliseconds of a join and of a leave."""
        began = time.perf_counter()
        group.rebalance([newcomer])
        joined = time.perf_counter()
        group.check()
        resumed = time.perf_counter()
        group.leave(group.members[-1])
        group.rebalance()
        left = time.perf_counter()
        group.check()
        return (joined - began) * 1000, (left - resumed) * 1000
