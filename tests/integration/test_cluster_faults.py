"""Faults of `odradek serve --brokers 3 --test-faults`, with an unmodified client."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from odradek import Admin
from odradek.base.errors import FaultRefused
from odradek.client.core.admin.cluster_states import partition_states
from odradek.client.core.admin.topics import await_leaders
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
        settings={
            "log.dirs": directories,
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "replica.lag.time.max.ms": "1000",
        },
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
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=4, replication_factor=-1)
        admin.carry_out(await_leaders(TOPIC, 4))
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


def is_elsewhere(cluster: ClusterProcess, lost: set[int], seen_by: int = 2, broker_id: int = 1) -> bool:
    """Whether a broker is out of the ISRs of these partitions, leads none of them, and keeps the others."""
    with Admin(cluster.addresses[seen_by - 1]) as admin:
        known, _ = admin.carry_out(partition_states([TOPIC]))
    return all(
        one.leader > 0 and (broker_id in one.isr) == (one.topic_partition.partition not in lost)
        for one in known
    )


def controller_of(cluster: ClusterProcess) -> int:
    """The broker that has become the controller: whichever was the first."""
    with Admin(cluster.bootstrap_servers) as admin:
        return admin.describe_cluster().controller


def led_by(cluster: ClusterProcess, broker_id: int) -> None:
    """Make a topic of four partitions that one broker leads."""
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=4, replication_factor=-1)
        admin.carry_out(await_leaders(TOPIC, 4))
    for partition in range(4):
        moved = {"fault": "move_leader", "topic": TOPIC, "partition": partition, "to": broker_id}
        assert cluster.fault(1, moved) == {"leader": broker_id}


def test_a_group_is_waited_for_over_http(cluster: ClusterProcess) -> None:
    """What docs/testing.md says from any language: a record that is written then is read from the latest."""
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=4, replication_factor=-1)
        admin.carry_out(await_leaders(TOPIC, 4))
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "billing",
            "client.id": "billing-1",
            "auto.offset.reset": "latest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(consumer.consume, 8, WAIT_S)
        stable = cluster.fault(2, {"fault": "wait_stable", "group": "billing", "members": 1})
        assert (stable["state"], len(stable["members"][0]["partitions"])) == ("Stable", 4)
        for broker_id in cluster.broker_ids:
            document = {"fault": "wait_position_resolved", "group": "billing"}
            assert cluster.fault(broker_id, document)["group"] == "billing"
        produce(cluster, range(8))
        assert sorted(int(one.value() or b"") for one in reading.result()) == list(range(8))
    with pytest.raises(FaultRefused, match=f"group billing is behind: .*{TOPIC}-0 by 2.*; waited 1 s"):
        cluster.fault(1, {"fault": "wait_lag_zero", "group": "billing", "topic": TOPIC, "timeout_s": 1})
    consumer.commit(asynchronous=False)
    rows = cluster.fault(3, {"fault": "wait_lag_zero", "group": "billing"})
    assert sorted(row["committed"] for row in rows) == [2, 2, 2, 2]
    consumer.close()
    with pytest.raises(FaultRefused, match="wait_stable takes no topic"):
        cluster.fault(1, {"fault": "wait_stable", "group": "billing", "topic": TOPIC})
    with pytest.raises(FaultRefused, match="timeout_s is a number from 1 to 3600, not 0"):
        cluster.fault(1, {"fault": "wait_lag_zero", "group": "billing", "timeout_s": 0})
    with pytest.raises(FaultRefused, match="group is a text, not None"):
        cluster.fault(1, {"fault": "wait_position_resolved"})


def test_brokers_are_isolated_and_leaders_moved_over_http(cluster: ClusterProcess) -> None:
    """Design 5, from any language: the documents of docs/testing.md."""
    led_by(cluster, 2)
    (coordinator,) = cluster.fault(3, {"fault": "move_coordinator", "group": "billing", "to": 2}).values()
    assert coordinator == 2
    with pytest.raises(FaultRefused, match="INVALID_REPLICA_ASSIGNMENT: broker 9 has no replica of orders-0"):
        cluster.fault(2, {"fault": "move_leader", "topic": TOPIC, "to": 9})
    with pytest.raises(FaultRefused, match="either a group or a transactional_id"):
        cluster.fault(2, {"fault": "move_coordinator", "to": 2})
    with pytest.raises(FaultRefused, match="move_leader takes no group"):
        cluster.fault(2, {"fault": "move_leader", "topic": TOPIC, "group": "billing"})
    with pytest.raises(FaultRefused, match="topic is a text, not None"):
        cluster.fault(2, {"fault": "move_leader"})
    # The controller would tell nobody of the new ISR: the next test.
    away = 1 if controller_of(cluster) != 1 else 3
    cut = cluster.fault(away, {"fault": "isolate", "from": "brokers", "way": "out"})
    produce(cluster, range(20))
    deadline = Deadline(WAIT_S)
    while not is_elsewhere(cluster, set(range(4)), broker_id=away):
        assert not deadline.is_over()
    cluster.fault(away, {"fault": "remove", **cut})
    while not is_elsewhere(cluster, set(), broker_id=away):
        assert not deadline.is_over()


def test_a_controller_that_reaches_the_store_alone_stays_and_tells_nobody(cluster: ClusterProcess) -> None:
    """R2, R4: the leader shrinks the ISR in the store, and goes on; the others hear of it after the cut.

    So does Kafka with ZooKeeper: its controller is the one with a session, whoever else hears it.
    """
    controller = controller_of(cluster)
    leader, third = (one for one in (1, 2, 3) if one != controller)
    led_by(cluster, leader)
    cut = cluster.fault(controller, {"fault": "isolate", "from": "brokers", "way": "out"})
    produce(cluster, range(20))
    deadline = Deadline(WAIT_S)
    while not is_elsewhere(cluster, set(range(4)), seen_by=controller, broker_id=controller):
        assert not deadline.is_over()
    for told_nothing in (leader, third):
        assert is_elsewhere(cluster, set(), seen_by=told_nothing, broker_id=controller)
    assert controller_of(cluster) == controller
    cluster.fault(controller, {"fault": "remove", **cut})
    for one in (leader, third, controller):
        while not is_elsewhere(cluster, set(), seen_by=one, broker_id=controller):
            assert not deadline.is_over()
    produce(cluster, range(20, 40))


def test_the_stop_of_the_cluster_waits_for_no_replica_that_has_stopped(cluster: ClusterProcess) -> None:
    """The brokers stop one after another: who shares a partition with an earlier one cannot hand it over."""
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=6, replication_factor=2)
        admin.carry_out(await_leaders(TOPIC, 6))
    assert cluster.stop() == 0
    log = cluster.log_path.read_text()
    assert "stops although not all its leaderships have moved" in log
    assert "the next attempt is in" not in log
    cluster.start()
    assert not (cluster.sockets / "stopping").exists()
