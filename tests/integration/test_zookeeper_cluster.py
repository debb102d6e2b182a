"""Brokers in processes of their own around a real ZooKeeper: it is killed and comes back, and so are they."""

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata
from peers.waiting import wait_until
from peers.zookeeper import ZooKeeperMissing, ZooKeeperServer

from odradek.testing.broker_process import BrokerProcess
from tests.integration.plain_clients import WAIT_S
from tests.integration.processes import NewProcess, Serve
from tests.integration.test_refused_starts import assert_refused

pytestmark = [pytest.mark.slow, pytest.mark.integration]

Brokers: TypeAlias = dict[int, BrokerProcess]
NewBroker: TypeAlias = Callable[..., BrokerProcess]

SESSION_MS = 6_000
"""Long enough for a busy machine, short enough for a test that waits for its end."""
END_S = 60.0
LISTENERS = (
    *("--set", "listeners=CLIENTS://127.0.0.1:0,BROKERS://127.0.0.1:0"),
    *("--set", "listener.security.protocol.map=CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT"),
    *("--set", "inter.broker.listener.name=BROKERS"),
)


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    try:
        server = ZooKeeperServer(tmp_path / "zookeeper")
    except ZooKeeperMissing as missing:
        pytest.skip(str(missing))
    with server:
        yield server


@pytest.fixture
def new_broker(tmp_path: Path, new_process: NewProcess, zookeeper: ZooKeeperServer) -> NewBroker:
    """Make a broker of a cluster below `chroot`, not yet started."""

    def make(broker_id: int, chroot: str = "", **settings: str) -> BrokerProcess:
        given = {
            "node_id": str(broker_id),
            "zookeeper_connect": zookeeper.address + chroot,
            "zookeeper_session_timeout_ms": str(SESSION_MS),
            "listeners": "CLIENTS://127.0.0.1:0,BROKERS://127.0.0.1:0",
            "listener_security_protocol_map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
            "inter_broker_listener_name": "BROKERS",
            "min_insync_replicas": "2",
            "group_initial_rebalance_delay_ms": "0",
            **settings,
        }
        return new_process(tmp_path / f"data{chroot.replace('/', '-')}-{broker_id}", **given)

    return make


@pytest.fixture
def brokers(new_broker: NewBroker) -> Brokers:
    """Brokers 1, 2 and 3 of one cluster."""
    made = {broker_id: new_broker(broker_id) for broker_id in (1, 2, 3)}
    start(made.values())
    return made


def start(brokers: Iterable[BrokerProcess]) -> None:
    """Start several at once."""
    some = list(brokers)
    with ThreadPoolExecutor(len(some)) as threads:
        for started in [threads.submit(one.start) for one in some]:
            started.result(WAIT_S)


def servers_of(brokers: Brokers) -> str:
    return ",".join(one.bootstrap_servers for one in brokers.values() if one.is_running)


@cache
def admin_of(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


def partition(brokers: Brokers, topic: str = "orders") -> PartitionMetadata:
    """Partition 0 of a topic, as some broker knows it."""
    admin = admin_of(servers_of(brokers))
    return admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions[0]


def create(brokers: Brokers, topic: str = "orders", partitions: int = 1) -> None:
    admin = admin_of(servers_of(brokers))
    admin.create_topics([NewTopic(topic, partitions, len(brokers))])[topic].result(END_S)


def new_producer(brokers: Brokers) -> Producer:
    return Producer({"bootstrap.servers": servers_of(brokers), "enable.idempotence": True})


def produce(brokers: Brokers, values: range, producer: Producer | None = None) -> None:
    """Write records that all replicas in sync must have; fails if one is not acknowledged."""
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    writer = producer or new_producer(brokers)
    for number in values:
        writer.produce("orders", str(number), partition=0, on_delivery=on_delivery)
    assert writer.flush(END_S) == 0
    assert failed == []


def consume(brokers: Brokers, count: int, group: str = "readers") -> list[int]:
    """The first `count` values that a group reads."""
    consumer = Consumer(
        {"bootstrap.servers": servers_of(brokers), "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    values: list[int] = []
    while len(values) < count:
        message = consumer.poll(END_S)
        assert message is not None, f"{len(values)} of {count} records came"
        assert message.error() is None, message.error()
        values.append(int(message.value() or b""))
    consumer.close()
    return values


def await_isr(brokers: Brokers) -> None:
    wait_until(lambda: len(partition(brokers).isrs) == 3, "a replica is not in sync")


def test_a_leader_that_is_killed_is_followed_by_another(brokers: Brokers) -> None:
    """R14: its session ends; nothing that was acknowledged is lost, and it comes back into the ISR."""
    create(brokers)
    produce(brokers, range(100))
    assert consume(brokers, 100) == list(range(100))
    leader = partition(brokers).leader
    brokers[leader].kill()
    wait_until(lambda: partition(brokers).leader not in (leader, -1), "nobody leads")
    produce(brokers, range(100, 200))
    assert consume(brokers, 100) == list(range(100, 200)), "the group's offsets have moved with it"
    brokers[leader].start()
    await_isr(brokers)
    assert consume(brokers, 200, "others") == list(range(200))


def test_produce_goes_on_while_zookeeper_is_away(brokers: Brokers, zookeeper: ZooKeeperServer) -> None:
    """R7: no in-sync replica is lost for it, and the cluster changes again when ZooKeeper is back."""
    create(brokers)
    producer = new_producer(brokers)  # one that begins later would find no producer ids
    produce(brokers, range(50), producer)
    assert consume(brokers, 50) == list(range(50))
    before = partition(brokers)
    zookeeper.kill()
    for begin in range(50, 300, 50):
        produce(brokers, range(begin, begin + 50), producer)
    assert consume(brokers, 250) == list(range(50, 300))
    away = partition(brokers)
    assert (away.leader, sorted(away.isrs)) == (before.leader, sorted(before.isrs))
    zookeeper.start()
    create(brokers, "later")
    produce(brokers, range(300, 310))
    after = partition(brokers)
    assert (after.leader, sorted(after.isrs)) == (before.leader, sorted(before.isrs))


def test_a_broker_whose_session_has_expired_registers_again(brokers: Brokers) -> None:
    """R14: it stands still for longer than its session, others lead meanwhile, and it follows them."""
    create(brokers)
    produce(brokers, range(10))
    leader = partition(brokers).leader
    others = {broker_id: one for broker_id, one in brokers.items() if broker_id != leader}
    os.kill(brokers[leader].pid, signal.SIGSTOP)
    try:
        wait_until(lambda: partition(others).leader in others, "nobody leads")
        produce(others, range(10, 20))
    finally:
        os.kill(brokers[leader].pid, signal.SIGCONT)
    await_isr(others)
    assert consume(brokers, 20) == list(range(20))


def test_a_rolling_restart_moves_leaders_and_loses_nothing(brokers: Brokers) -> None:
    create(brokers)
    written = 0
    for broker in brokers.values():
        assert broker.stop() == 0
        produce(brokers, range(written, written + 20))
        written += 20
        broker.start()
        await_isr(brokers)
    assert consume(brokers, written) == list(range(written))


def test_paths_are_clusters_apart(new_broker: NewBroker) -> None:
    """The node of the path is made where it is missing, with those above it."""
    one = {1: new_broker(1, "/prod/logs", offsets_topic_replication_factor="1", min_insync_replicas="1")}
    other = {1: new_broker(1, "/prod/tests")}
    start([*one.values(), *other.values()])
    create(one)
    produce(one, range(3))
    assert consume(one, 3) == [0, 1, 2]
    admin = admin_of(servers_of(other))
    assert admin.list_topics(timeout=WAIT_S).topics == {}
    assert one[1].stop() == other[1].stop() == 0
    one[1].start()
    produce(one, range(3, 5))
    assert consume(one, 5, "again") == [0, 1, 2, 3, 4]


def test_a_topic_of_thousands_of_partitions_is_made_in_several_requests(brokers: Brokers) -> None:
    """A request to ZooKeeper holds 2,000 writes and a megabyte at most."""
    create(brokers, "wide", partitions=2_500)
    admin = admin_of(servers_of(brokers))

    def leaders() -> set[int]:
        found = admin.list_topics("wide", timeout=WAIT_S).topics["wide"].partitions
        assert len(found) == 2_500
        return {one.leader for one in found.values()}

    wait_until(lambda: leaders() == {1, 2, 3}, "a partition has no leader")


def test_a_directory_of_another_cluster_is_refused(
    serve: Serve, new_broker: NewBroker, zookeeper: ZooKeeperServer
) -> None:
    broker = new_broker(1)
    broker.start()
    assert broker.stop() == 0
    given = ("--data-dir", broker.data_dir, "--set", "node.id=1", *LISTENERS)
    found = serve(*given, "--set", f"zookeeper.connect={zookeeper.address}/other")
    assert found.returncode == 2
    assert re.fullmatch(
        rf"odradek: {broker.data_dir} belongs to cluster \S+, but ZooKeeper at {zookeeper.address}/other is "
        r"empty: does zookeeper.connect name the path of that cluster\?\n",
        found.stderr,
    )
    zookeeper.kill()
    found = serve(
        *given,
        *("--set", f"zookeeper.connect={zookeeper.address}"),
        *("--set", "zookeeper.connection.timeout.ms=300"),
    )
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == (
        f"odradek: ZooKeeper at {zookeeper.address} cannot be reached: no session within 300 ms"
    )


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            "zookeeper.set.acl=true",
            "zookeeper.set.acl cannot be set: access control lists are not served yet, and everybody could"
            " change what ZooKeeper holds; remove it to start without",
        ),
        (
            "zookeeper.connect=a b",
            "zookeeper.connect=a b: 'a b' is no host:port",
        ),
        (
            "odradek.metadata.file=metadata.db",
            "odradek.metadata.file cannot be set together with zookeeper.connect, which names the metadata"
            " store",
        ),
    ],
)
def test_settings_that_cannot_be_kept_are_refused(
    serve: Serve, tmp_path: Path, setting: str, sentence: str
) -> None:
    found = serve(
        *("--data-dir", tmp_path / "new", "--set", "zookeeper.connect=127.0.0.1:1"),
        *LISTENERS,
        *("--set", setting),
    )
    assert_refused(found, sentence)
    assert not (tmp_path / "new").exists()
