"""A broker of three ends: how long producers and topic creations pause.

Each measurement has three brokers of its own, since Apache Kafka's broker stays away afterwards. Odradek's
supervisor starts its broker again, which takes processor time in the same seconds.
"""

import contextlib
import os
import signal
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from confluent_kafka.admin import AdminClient, NewTopic
from peers import BrokerProcess

from benchmarks.macro.pulse import Pulse
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import (
    REQUEST_TIMEOUT_S,
    admin_of,
    fresh_topic,
    leaders_of,
    wait_until_in_sync,
)
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.configuration import ClientConfig
from odradek.client.refusal import raise_for
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)

PARTITIONS = 3_000
PARTITIONS_QUICK = 150
WATCHED_MAX = 20
"""Partitions that the producer writes to, of those that the broker leads."""
WARM_UP_S = 5.0
AFTERWARDS_S = 3.0
LOOK_INTERVAL_S = 0.1
WAIT_S_MAX = 180.0
METADATA_LOG = "__cluster_metadata"


class BrokerEnds(Scenario):
    """A producer writes to partitions whose leader ends; subclasses say which broker ends, and how."""

    partitions: ClassVar[int] = PARTITIONS

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Start three brokers of the same kind; `broker` only determines the kind, and stays idle."""
        partitions = min(self.partitions, PARTITIONS_QUICK) if quick else self.partitions
        with another_cluster(broker) as cluster, fresh_topic(cluster, partitions=partitions) as topic:
            client = admin_of(cluster)
            wait_until_in_sync(client, topic, len(cluster.ports), timeout_s=WAIT_S_MAX)
            victim = self.victim_of(cluster)
            led = [number for number, leader in leaders_of(client, topic).items() if leader == victim]
            pulse = Pulse(cluster, topic, led[:: max(1, len(led) // WATCHED_MAX)])
            began = time.perf_counter()
            pulse.run(lambda: time.perf_counter() > began + WARM_UP_S, WAIT_S_MAX)
            pulse.run(lambda: pulse.has_gone_on_since(began + WARM_UP_S), WAIT_S_MAX)
            pulse.forget()
            figures = self.measure_end(cluster, victim, topic, pulse)
            pulse.close()
            return figures

    def victim_of(self, cluster: BrokerProcess) -> BrokerId:
        """The broker that is to end: the first that is not the controller."""
        controller = controller_of(cluster)
        return next(one for one in range(1, len(cluster.ports) + 1) if one != controller)

    @abstractmethod
    def measure_end(
        self, cluster: BrokerProcess, victim: BrokerId, topic: str, pulse: Pulse
    ) -> Mapping[str, float]:
        """End it, and measure what comes of it."""


PAUSE = Figure("longest pause of a producer", "ms", Better.LOWER, goal=1_000)


class LeaderKilled(BrokerEnds):
    """SIGKILL to a broker that leads 1,000 partitions, and is not the controller."""

    name = "cluster-leader-killed"
    title = "Three brokers, 3,000 partitions: the leader of 1,000 is killed"
    figures = (PAUSE,)

    def measure_end(
        self, cluster: BrokerProcess, victim: BrokerId, topic: str, pulse: Pulse
    ) -> Mapping[str, float]:
        """The longest pause of one partition."""
        os.kill(cluster.pid_of(victim), signal.SIGKILL)
        go_on(pulse, time.perf_counter())
        return {PAUSE.name: pulse.longest_pause_s * 1000}


class ControllerKilled(BrokerEnds):
    """SIGKILL to the controller's broker, which leads partitions, too."""

    name = "cluster-controller-killed"
    title = "Three brokers: the controller's broker is killed"
    figures = (
        Figure("longest pause of a producer", "ms", Better.LOWER, goal=2_000),
        Figure("a topic is made", "ms after", Better.LOWER, goal=2_000),
    )
    partitions = 30

    def victim_of(self, cluster: BrokerProcess) -> BrokerId:
        """The controller."""
        return controller_of(cluster)

    def measure_end(
        self, cluster: BrokerProcess, victim: BrokerId, topic: str, pulse: Pulse
    ) -> Mapping[str, float]:
        """The longest pause of one partition, and the time until the next controller has made a topic."""
        client = admin_of(cluster)
        os.kill(cluster.pid_of(victim), signal.SIGKILL)
        killed = time.perf_counter()
        made = client.create_topics([NewTopic(f"{topic}-after", 1, 2)], request_timeout=REQUEST_TIMEOUT_S)
        pulse.run(made[f"{topic}-after"].done, WAIT_S_MAX)
        made[f"{topic}-after"].result()
        made_s = time.perf_counter() - killed
        go_on(pulse, killed)
        values = (pulse.longest_pause_s * 1000, made_s * 1000)
        return {figure.name: value for figure, value in zip(self.figures, values, strict=True)}


class HandOver(BrokerEnds):
    """SIGTERM to a broker that leads 1,000 partitions, and is not the controller."""

    name = "cluster-hand-over"
    title = "Three brokers, 3,000 partitions: the leader of 1,000 stops"
    figures = (
        Figure("all leaderships have moved", "ms after", Better.LOWER, goal=2_000),
        Figure("longest pause of a producer", "ms", Better.LOWER),
        Figure("errors that it saw", "", Better.LOWER, goal=0),
    )

    def measure_end(
        self, cluster: BrokerProcess, victim: BrokerId, topic: str, pulse: Pulse
    ) -> Mapping[str, float]:
        """Another broker is asked every LOOK_INTERVAL_S who leads."""
        have_moved = leaderships_moved(cluster, victim, topic)
        os.kill(cluster.pid_of(victim), signal.SIGTERM)
        stopping = time.perf_counter()
        pulse.run(have_moved, WAIT_S_MAX)
        moved_s = time.perf_counter() - stopping
        go_on(pulse, stopping)
        values = (moved_s * 1000, pulse.longest_pause_s * 1000, float(len(pulse.errors)))
        return {figure.name: value for figure, value in zip(self.figures, values, strict=True)}


def controller_of(cluster: BrokerProcess) -> BrokerId:
    """The active controller. KRaft's Metadata names any broker instead; DescribeQuorum tells the truth."""
    request = DescribeQuorumRequest([TopicData(METADATA_LOG, [PartitionData(0)])])
    with contextlib.closing(ClientConfig(cluster.addresses).connect()) as connection:
        answer = connection.ask(request, DescribeQuorumResponse)
    raise_for(answer.error_code, answer.error_message, about="the controllers")
    return answer.topics[0].partitions[0].leader_id


@contextlib.contextmanager
def another_cluster(
    broker: BrokerProcess, settings: Mapping[str, str] | None = None
) -> Iterator[BrokerProcess]:
    """A cluster of the same kind, with its settings and these."""
    with (
        tempfile.TemporaryDirectory() as directory,
        type(broker)(Path(directory), broker.settings | dict(settings or {})) as cluster,
    ):
        yield cluster


def leaderships_moved(cluster: BrokerProcess, victim: BrokerId, topic: str) -> Callable[[], bool]:
    """What says whether a broker leads nothing of a topic; asks another broker every LOOK_INTERVAL_S."""
    client = AdminClient({"bootstrap.servers": _address_besides(victim, cluster), "log_level": 0})
    client.list_topics(topic, timeout=REQUEST_TIMEOUT_S)
    looked = time.perf_counter()

    def have_moved() -> bool:
        nonlocal looked
        if time.perf_counter() < looked + LOOK_INTERVAL_S:
            return False
        moved = not {victim, NO_BROKER} & set(leaders_of(client, topic).values())
        looked = time.perf_counter()
        return moved

    return have_moved


def _address_besides(victim: BrokerId, cluster: BrokerProcess) -> str:
    addresses = cluster.addresses.split(",")
    return ",".join(address for one, address in enumerate(addresses, 1) if one != victim)


def go_on(pulse: Pulse, since: float) -> None:
    """Run until each partition has acknowledged a record sent since then, and a while longer."""
    pulse.run(lambda: pulse.has_gone_on_since(since), WAIT_S_MAX)
    end = time.perf_counter() + AFTERWARDS_S
    pulse.run(lambda: time.perf_counter() > end, WAIT_S_MAX)
