"""Faults of `odradek serve --brokers 3 --test-faults`, with an unmodified client."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.client.admin import Admin
from odradek.client.cluster_admin import ClusterAdmin
from odradek.client.configuration import ClientConfig
from odradek.testing.cluster_process import ClusterProcess
from odradek.testing.deadline import Deadline

pytestmark = [pytest.mark.slow, pytest.mark.integration]

WAIT_S = 60
TOPIC = "orders"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcess]:
    """Three brokers with two log directories each; topics have three replicas, of which two are in sync."""
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    made = ClusterProcess(
        tmp_path / "a",
        3,
        settings={"log.dirs": directories, "default.replication.factor": "3", "min.insync.replicas": "2"},
        log_path=tmp_path / "log",
        test_faults=True,
    )
    made.start()
    try:
        yield made
    finally:
        made.close()


def produce(cluster: ClusterProcess, numbers: range) -> None:
    """Write these to all partitions, with acks=all; each is acknowledged."""
    failures: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(
            TOPIC,
            str(number).encode(),
            partition=number % 4,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    assert producer.flush(WAIT_S) == 0
    assert failures == []


def test_a_log_directory_fails_and_its_partitions_are_led_elsewhere(
    cluster: ClusterProcess, tmp_path: Path
) -> None:
    """R6, on real processes: the broker goes on with its other directory."""
    with Admin(ClientConfig(cluster.bootstrap_servers)) as admin:
        admin.create_topic(TOPIC, partitions=4, replication_factor=-1)
        admin.wait_until_known(TOPIC, 4)
    produce(cluster, range(20))
    pid = cluster.pid_of(1)
    failing = tmp_path / "b" / "broker-1"
    lost = {int(one.name.rpartition("-")[2]) for one in failing.glob(f"{TOPIC}-*")}
    assert 0 < len(lost) < 4, "partitions are spread over the directories"
    cluster.fault(1, {"fault": "full_disk", "directory": str(failing)})
    produce(cluster, range(20, 60))
    deadline = Deadline(WAIT_S)
    while not is_elsewhere(cluster, lost):
        assert not deadline.is_over()
    assert cluster.pid_of(1) == pid


def is_elsewhere(cluster: ClusterProcess, lost: set[int]) -> bool:
    """Whether broker 1 is out of the ISRs of these partitions, leads none of them, and keeps the others."""
    with ClusterAdmin(ClientConfig(cluster.bootstrap_servers)) as admin:
        known, _ = admin.partitions([TOPIC])
    return all(
        one.leader > 0 and (1 in one.isr) == (one.topic_partition.partition not in lost) for one in known
    )
