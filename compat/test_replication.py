"""The replication test of Kafka's system tests: its VerifiableProducer and VerifiableConsumer, and failures.

A producer and a consumer of Apache Kafka run, on a cluster of its own, and the leader, the controller or all
brokers, one after another, are stopped cleanly or killed; a bounce does so several times. The supervisor
starts them again. Then whatever was acknowledged with acks=all was read, and nothing is there twice. With
acks=1 a leader that fails may lose records: how many is printed, and none may come that was not sent.

`--all-failures` runs every combination; without it there are two.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from peers import JarsMissing, KafkaTools
from peers.tools import LONG_JVM
from peers.waiting import WAIT_S_MAX, wait_until

from odradek import Admin
from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.core.admin.cluster_states import partition_states
from odradek.client.core.admin.topics import await_leaders
from odradek.testing.cluster_process import ClusterProcess

TOPIC = "numbers"
PARTITIONS = 3
BEFORE, BETWEEN = 1_000, 500
"""How many records are acknowledged before the first failure, and after each."""
PER_SECOND = 500
BOUNCES = 3
FIRST = TopicPartition(TOPIC, 0)
SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "broker.session.timeout.ms": "4000",
}

Choice = Callable[[ClusterProcess], list[BrokerId]]


class Tool:
    """One of Kafka's verifiable programs; each line of its output is a JSON document with a name."""

    def __init__(self, main_class: str, directory: Path, *arguments: str) -> None:
        self._output = directory / f"{main_class}.log"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                KafkaTools.java(f"org.apache.kafka.tools.{main_class}", *arguments, flags=LONG_JVM),
                stdout=output,
                stderr=output,
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        """The documents of that name so far. Raises AssertionError if the program has ended by itself."""
        told = self._output.read_text()
        assert self._process.poll() in (None, 0, 128 + signal.SIGTERM, -signal.SIGTERM), told[-2_000:]
        lines = told[: told.rfind("\n") + 1].splitlines()
        documents = [json.loads(line) for line in lines if line.startswith("{")]
        return [document for document in documents if document["name"] == name]

    def stop(self) -> None:
        """Let it end, with what it is doing."""
        self._process.terminate()
        self._process.wait(WAIT_S_MAX)

    def kill(self) -> None:
        """End it, unless it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcess]:
    """Three brokers, and a topic with three replicas."""
    try:
        KafkaTools.java("none")
    except JarsMissing as missing:
        pytest.skip(str(missing))
    made = ClusterProcess(tmp_path / "data", 3, settings=SETTINGS, log_path=tmp_path / "log")
    made.start()
    try:
        with Admin(made.bootstrap_servers) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=-1)
            admin.carry_out(await_leaders(TOPIC, PARTITIONS))
        yield made
    finally:
        made.close()


def leader(cluster: ClusterProcess) -> list[BrokerId]:
    with Admin(cluster.bootstrap_servers) as admin:
        known, _ = admin.carry_out(partition_states([TOPIC]))
    return [one.leader for one in known if one.topic_partition == FIRST]


def controller(cluster: ClusterProcess) -> list[BrokerId]:
    with Admin(cluster.bootstrap_servers) as admin:
        return [admin.describe_cluster().controller]


def every_one(cluster: ClusterProcess) -> list[BrokerId]:
    return list(cluster.broker_ids)


def is_whole(cluster: ClusterProcess) -> bool:
    """Whether each broker serves, and says that all replicas of the topic are in sync."""
    for address in cluster.addresses:
        try:
            with Admin(address) as admin:
                known, _ = admin.carry_out(partition_states([TOPIC]))
        except (OSError, OdradekError):
            return False
        if len(known) != PARTITIONS or any(one.leader < 0 or len(one.isr) < 3 for one in known):
            return False
    return True


def pid(cluster: ClusterProcess, broker_id: BrokerId) -> int | None:
    """The process of a broker; None while there is none."""
    try:
        return cluster.pid_of(broker_id)
    except FileNotFoundError:
        return None


def fail(cluster: ClusterProcess, broker_id: BrokerId, number: signal.Signals) -> None:
    """End a broker; returns when another process of it serves and everything is in sync."""
    failed = cluster.pid_of(broker_id)
    os.kill(failed, number)
    wait_until(
        lambda: pid(cluster, broker_id) not in (None, failed), f"broker {broker_id} was not started again"
    )
    wait_until(lambda: is_whole(cluster), f"the cluster is not whole after broker {broker_id} has failed")


def start(cluster: ClusterProcess, directory: Path, acks: str, codec: str) -> tuple[Tool, Tool]:
    """The producer and the consumer."""
    properties = directory / "producer.properties"
    # Without this the tool never retries, and reports each failure as one.
    retrying = "enable.idempotence=true\nretries=2147483647\n" if acks == "-1" else ""
    properties.write_text(f"compression.type={codec}\n{retrying}")
    common = ("--bootstrap-server", cluster.bootstrap_servers, "--topic", TOPIC)
    sending = ("--throughput", str(PER_SECOND), "--acks", acks, "--command-config", str(properties))
    producer = Tool("VerifiableProducer", directory, *common, *sending)
    reading = ("--group-id", "checkers", "--reset-policy", "earliest", "--verbose")
    return producer, Tool("VerifiableConsumer", directory, *common, *reading)


TARGETS = {"leader": leader, "controller": controller, "all": every_one}
FAILURES = {
    "clean-stop": (signal.SIGTERM, 1),
    "kill": (signal.SIGKILL, 1),
    "clean-bounce": (signal.SIGTERM, BOUNCES),
    "hard-bounce": (signal.SIGKILL, BOUNCES),
}


@pytest.mark.essential
@pytest.mark.three_brokers
@pytest.mark.failures(("leader", "kill", "-1", "none"), ("controller", "clean-stop", "-1", "zstd"))
@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("acks", ["-1", "1"])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("target", TARGETS)
def test_what_was_acknowledged_is_read_whatever_fails(
    cluster: ClusterProcess, tmp_path: Path, target: str, failure: str, acks: str, codec: str
) -> None:
    number, times = FAILURES[failure]
    producer, consumer = start(cluster, tmp_path, acks, codec)
    try:
        acknowledged = BEFORE
        wait_for(producer, acknowledged)
        for _ in range(times):
            for broker_id in TARGETS[target](cluster):
                fail(cluster, broker_id, number)
                acknowledged = len(producer.events("producer_send_success")) + BETWEEN
                wait_for(producer, acknowledged)
        producer.stop()
        check(producer, consumer, may_lose=acks == "1")
    finally:
        producer.kill()
        consumer.kill()


def wait_for(producer: Tool, count: int) -> None:
    """Wait until that many records were acknowledged."""
    wait_until(lambda: len(producer.events("producer_send_success")) >= count, "no more is acknowledged")


def places(consumer: Tool) -> dict[str, set[tuple[int, int]]]:
    """Where the consumer has seen each value; it may see a record again, never a value in two places."""
    found: dict[str, set[tuple[int, int]]] = {}
    for one in consumer.events("record_data"):
        found.setdefault(one["value"], set()).add((one["partition"], one["offset"]))
    return found


def check(producer: Tool, consumer: Tool, *, may_lose: bool) -> None:
    """Wait until the consumer has read what it will, and compare."""
    (summary,) = producer.events("tool_data")
    acknowledged = producer.events("producer_send_success")
    values = {one["value"] for one in acknowledged}
    # With acks=1 the last one was acknowledged after the last failure, so that it is there.
    awaited = {acknowledged[-1]["value"]} if may_lose else values
    wait_until(lambda: awaited <= places(consumer).keys(), "acknowledged records never came")
    consumer.stop()
    seen = places(consumer)
    assert not [value for value, where in seen.items() if len(where) > 1], "there twice"
    assert all(int(value) < summary["sent"] for value in seen), "a record came that was not sent"
    if may_lose:
        print(f"{len(values - seen.keys())} of {len(values)} acknowledged records were lost")
        return
    assert producer.events("producer_send_error") == [], "a producer that retries sees no error"
    for one in acknowledged:
        assert seen[one["value"]] == {(one["partition"], one["offset"])}
