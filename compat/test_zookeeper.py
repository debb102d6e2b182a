"""What Odradek writes to ZooKeeper, beside what Apache Kafka 3.9 writes for the same requests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)
from kazoo.client import KazooClient
from peers.jars import JarsMissing
from peers.kafka_on_zookeeper import KafkaOnZooKeeper, OdradekOnZooKeeper
from peers.process import BrokerProcess
from peers.waiting import WAIT_S_MAX, wait_until
from peers.zookeeper import ZooKeeperMissing, ZooKeeperServer

pytestmark = pytest.mark.one_broker("starts brokers of its own, one of each kind")

OF_KAFKA_ALONE = {
    # Odradek's brokers learn of settings by their controller's orders.
    "/config/changes/config_change_0000000000",
    "/config/changes/config_change_0000000001",
    # Versions of features, which belong to Kafka's releases.
    "/feature",
}
OF_ODRADEK_ALONE = {
    # R15: what the controller knows of each broker's log directories.
    "/odradek",
    "/odradek/brokers",
    "/odradek/brokers/1",
    # Settings of groups, which Kafka has with KRaft alone.
    "/config/groups",
}
DRAWN = {"timestamp", "topic_id", "id", "port", "endpoints"}
"""Fields of documents that differ from run to run."""


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    try:
        server = ZooKeeperServer(tmp_path / "zookeeper")
    except ZooKeeperMissing as missing:
        pytest.skip(str(missing))
    with server:
        yield server


def tree_of(address: str) -> dict[str, Any]:
    """Every node below a path: its document without what is drawn, and whether it ends with a session."""
    client = KazooClient(address)
    client.start()
    found: dict[str, Any] = {}

    def walk(path: str) -> None:
        data, stat = client.get(path)
        document = json.loads(data) if data else None
        if isinstance(document, dict):
            document = {name: value for name, value in document.items() if name not in DRAWN}
            document.pop("odradek", None)  # R15: what a broker says of its directories when it registers
        found[path] = (document, stat.ephemeralOwner != 0)
        for child in client.get_children(path):
            walk(f"{path.rstrip('/')}/{child}")

    walk("/")
    client.stop()
    client.close()
    return found


def work_on(broker: BrokerProcess) -> None:
    """Topics, partitions, settings, a deletion, records and a group."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    # Kafka answers before it has a controller, and librdkafka does not ask again for one by itself.
    wait_until(lambda: admin.list_topics(timeout=WAIT_S_MAX).controller_id >= 0, "no controller")

    def done(futures: dict[Any, Any]) -> None:
        for future in futures.values():
            future.result(WAIT_S_MAX)

    def setting(kind: str, name: str, entry: tuple[str, str]) -> ConfigResource:
        changed = ConfigEntry(*entry, incremental_operation=AlterConfigOpType.SET)
        return ConfigResource(kind, name, incremental_configs=[changed])

    topics = [NewTopic("orders", 3, 1, config={"retention.ms": "1000000"}), NewTopic("gone", 1, 1)]
    done(admin.create_topics(topics))
    done(admin.create_partitions([NewPartitions("orders", 4)]))
    done(admin.incremental_alter_configs([setting("topic", "orders", ("max.message.bytes", "2000"))]))
    done(admin.incremental_alter_configs([setting("broker", "1", ("log.cleaner.threads", "2"))]))
    done(admin.delete_topics(["gone"]))
    wait_until(lambda: "gone" not in admin.list_topics(timeout=WAIT_S_MAX).topics, "gone is there")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    producer.produce("orders", b"lamp", partition=0)
    assert producer.flush(WAIT_S_MAX) == 0
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(WAIT_S_MAX)
    assert message is not None
    assert message.value() == b"lamp"
    consumer.commit(asynchronous=False)
    consumer.close()


def trees_of(kind: type[KafkaOnZooKeeper | OdradekOnZooKeeper], directory: Path, place: str) -> list[Any]:
    """The tree after some work, and after a clean stop."""
    try:
        broker = kind(directory, 1, place)
    except JarsMissing as missing:
        pytest.skip(str(missing))
    with broker:
        work_on(broker)
        wait_until(lambda: "/admin/delete_topics/gone" not in tree_of(place), "the deletion goes on")
        running = tree_of(place)
    return [running, tree_of(place)]


def test_the_trees_are_equal_node_by_node(tmp_path: Path, zookeeper: ZooKeeperServer) -> None:
    kafkas, odradeks = (
        trees_of(kind, tmp_path / kind.name, f"{zookeeper.address}/{kind.name}")
        for kind in (KafkaOnZooKeeper, OdradekOnZooKeeper)
    )
    for kafka, odradek in zip(kafkas, odradeks, strict=True):
        assert kafka.keys() - odradek.keys() <= OF_KAFKA_ALONE
        assert odradek.keys() - kafka.keys() <= OF_ODRADEK_ALONE
        for path in kafka.keys() & odradek.keys():
            assert odradek[path] == kafka[path], path
        assert {"/controller_epoch", "/cluster/id", "/config/topics/orders"} <= kafka.keys() & odradek.keys()
