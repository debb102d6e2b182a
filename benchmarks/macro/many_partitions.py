"""Ten thousand partitions on three brokers: what making and keeping them costs, and what a broker's end does.

It takes several minutes on two cores, so it is run by name only.
"""

import os
import re
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import NewTopic
from peers import BrokerProcess
from peers.odradek_cluster import OdradekCluster
from peers.process import HOST

from benchmarks.macro.failing_over import (
    WAIT_S_MAX,
    WATCHED_MAX,
    another_cluster,
    controller_of,
    go_on,
    leaderships_moved,
)
from benchmarks.macro.pulse import Pulse
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import REQUEST_TIMEOUT_S, admin_of, leaders_of, wait_until_in_sync

TOPICS: Final = 100
TOPICS_QUICK: Final = 3
PARTITIONS: Final = 100
"""Of each topic."""
TOPICS_PER_REQUEST: Final = 10
IDLE_S: Final = 10.0
IDLE_QUICK_S: Final = 1.0
PATIENCE_S: Final = 600.0
"""For starts and stops: each goes through 30,000 logs, and on a busy machine it takes minutes."""
STALL: Final = re.compile(r"^odradek_loop_stall_ms_max (\S+)$", re.MULTILINE)

MADE = Figure("all made and in sync", "s", Better.LOWER)
MEMORY = Figure("memory of the largest broker", "MB", Better.LOWER)
MEMORY_OF_ALL = Figure("memory of all processes", "MB", Better.LOWER)
FILES = Figure("open files of a broker", "at most", Better.LOWER)
IDLE_CPU = Figure("idle CPU of all", "% of a core", Better.LOWER)
MOVED = Figure("a leader is killed: all are led elsewhere", "ms after", Better.LOWER)
PAUSE = Figure("longest pause of a producer then", "ms", Better.LOWER)
STALL_MAX = Figure("longest hold of a broker's loop until then", "ms", Better.LOWER, goal=50)
BACK = Figure("the killed broker's replicas are in sync", "s after", Better.LOWER)
STOPPED = Figure("all brokers stop", "s", Better.LOWER)
STARTED = Figure("they start again", "s", Better.LOWER)


class ManyPartitions(Scenario):
    """100 topics of 100 partitions with three replicas each, in a cluster of their own."""

    name = "cluster-10k-partitions"
    title = "Three brokers: 10,000 partitions"
    figures = (
        MADE,
        MEMORY,
        MEMORY_OF_ALL,
        FILES,
        IDLE_CPU,
        MOVED,
        PAUSE,
        STALL_MAX,
        BACK,
        STOPPED,
        STARTED,
    )
    by_name_only = True

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Make them, leave them alone, kill a leader, stop all and start; `broker` only determines the kind.

        Only Odradek's brokers, which start a killed one again, have figures of their loops and of `BACK`.
        """
        is_odradek = isinstance(broker, OdradekCluster)
        settings = {"odradek.admin.port": "0"} if is_odradek else {}
        with another_cluster(broker, settings) as cluster:
            cluster.start_timeout_s = cluster.stop_timeout_s = PATIENCE_S
            topics = [f"bench-many-{number}" for number in range(TOPICS_QUICK if quick else TOPICS)]
            figures = {MADE.name: _make(cluster, topics)}
            figures |= _costs(cluster, IDLE_QUICK_S if quick else IDLE_S)
            stall_ms = _longest_stall_ms(cluster)
            killed = time.perf_counter()
            figures |= _kill_a_leader(cluster, topics[-1])
            if is_odradek:
                figures[STALL_MAX.name] = max(stall_ms, _longest_stall_ms(cluster))
                _wait_until_in_sync(cluster, topics)
                figures[BACK.name] = time.perf_counter() - killed
            stopping = time.perf_counter()
            cluster.stop()
            figures[STOPPED.name] = time.perf_counter() - stopping
            cluster.start()
            figures[STARTED.name] = cluster.start_up_s
            return figures


def _make(cluster: BrokerProcess, topics: list[str]) -> float:
    """Make the topics, a few in each request; returns the seconds until all replicas are in sync."""
    client = admin_of(cluster)
    began = time.perf_counter()
    for begin in range(0, len(topics), TOPICS_PER_REQUEST):
        some = topics[begin : begin + TOPICS_PER_REQUEST]
        asked = [NewTopic(topic, PARTITIONS, len(cluster.ports)) for topic in some]
        for made in client.create_topics(asked, request_timeout=REQUEST_TIMEOUT_S).values():
            made.result()
    _wait_until_in_sync(cluster, topics)
    return time.perf_counter() - began


def _wait_until_in_sync(cluster: BrokerProcess, topics: list[str]) -> None:
    client = admin_of(cluster)
    for topic in topics:
        wait_until_in_sync(client, topic, len(cluster.ports), timeout_s=PATIENCE_S)


def _costs(cluster: BrokerProcess, idle_s: float) -> dict[str, float]:
    time.sleep(idle_s)
    before_s = cluster.cpu_s()
    time.sleep(idle_s)
    idle_cpu = (cluster.cpu_s() - before_s) / idle_s * 100
    brokers = [cluster.pid_of(one) for one in range(1, len(cluster.ports) + 1)]
    return {
        MEMORY.name: max(map(cluster.resident_bytes_of, brokers)) / 1e6,
        MEMORY_OF_ALL.name: cluster.resident_bytes() / 1e6,
        FILES.name: float(max(len(os.listdir(f"/proc/{pid}/fd")) for pid in brokers)),
        IDLE_CPU.name: idle_cpu,
    }


def _kill_a_leader(cluster: BrokerProcess, topic: str) -> dict[str, float]:
    """SIGKILL to a broker that is not the controller, while a producer writes to partitions that it leads.

    The topic is the one that was made last: its partitions get new leaders last. A broker that lost its
    session while they were made may lead none of them, so the one that leads most is killed.
    """
    controller = controller_of(cluster)
    leaders = leaders_of(admin_of(cluster), topic)
    victim, _ = Counter(leader for leader in leaders.values() if leader != controller).most_common(1)[0]
    led = [number for number, leader in leaders.items() if leader == victim]
    pulse = Pulse(cluster, topic, led[:: max(1, len(led) // WATCHED_MAX)])
    began = time.perf_counter()
    pulse.run(lambda: pulse.has_gone_on_since(began), WAIT_S_MAX)
    have_moved = leaderships_moved(cluster, victim, topic)
    go_on(pulse, time.perf_counter())
    pulse.forget()
    os.kill(cluster.pid_of(victim), signal.SIGKILL)
    killed = time.perf_counter()
    pulse.run(have_moved, WAIT_S_MAX)
    moved_s = time.perf_counter() - killed
    go_on(pulse, killed)
    pulse.close()
    return {MOVED.name: moved_s * 1000, PAUSE.name: pulse.longest_pause_s * 1000}


def _longest_stall_ms(cluster: BrokerProcess) -> float:
    """The most of all brokers that have an admin listener and live, since their starts; 0 if none has one."""
    longest_ms = 0.0
    for port in cluster.admin_ports if isinstance(cluster, OdradekCluster) else ():
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=REQUEST_TIMEOUT_S) as answer:
                found = STALL.search(answer.read().decode())
        except OSError:
            continue  # it was killed
        assert found is not None, "no loop stall in /metrics"
        longest_ms = max(longest_ms, float(found[1]))
    return longest_ms
