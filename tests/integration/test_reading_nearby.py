"""librdkafka's consumers with `client.rack`, on brokers in three processes and three racks (KIP-392)."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.base.settings import RACK_AWARE_SELECTOR
from odradek.testing.broker_process import BrokerProcess
from odradek.testing.store_thread import StoreThread
from tests.integration.plain_clients import WAIT_S
from tests.integration.processes import NewProcess

pytestmark = [pytest.mark.slow, pytest.mark.integration]

RACKS = {1: "a", 2: "b", 3: "c"}
COUNT = 200


@pytest.fixture
def brokers(tmp_path: Path, new_process: NewProcess) -> Iterator[dict[int, BrokerProcess]]:
    """Brokers 1, 2 and 3."""
    store = StoreThread(tmp_path / "metadata.db")
    store.start()
    made = {
        broker_id: new_process(
            tmp_path / f"data-{broker_id}",
            node_id=str(broker_id),
            broker_rack=rack,
            replica_selector_class=RACK_AWARE_SELECTOR,
            odradek_cluster_directory=store.directory,
            odradek_cluster_brokers="3",
        )
        for broker_id, rack in RACKS.items()
    }
    with ThreadPoolExecutor(len(made)) as threads:
        for started in [threads.submit(one.start) for one in made.values()]:
            started.result(WAIT_S)
    yield made
    for one in made.values():
        if one.is_running:
            one.kill()
    store.stop()


def read(servers: str, topic: str, rack: str) -> tuple[list[bytes], set[int]]:
    """All values of a topic, and the brokers that they came from."""
    came_from: set[int] = set()

    def on_statistics(text: str) -> None:
        partition = json.loads(text)["topics"].get(topic, {}).get("partitions", {}).get("0", {})
        if partition.get("fetch_state") == "active" and partition.get("rxmsgs"):
            came_from.add(partition["broker"])

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"in {rack}",
            "auto.offset.reset": "earliest",
            "client.rack": rack,
            "statistics.interval.ms": 50,
            "stats_cb": on_statistics,
        }
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < COUNT or not came_from:
        message = consumer.poll(WAIT_S if len(values) < COUNT else 0.05)
        if message is None:
            assert len(values) == COUNT, f"{len(values)} records came"
            continue
        assert message.error() is None, message.error()
        values.append(message.value() or b"")
    consumer.close()
    return values, came_from


def test_each_consumer_reads_from_the_replica_in_its_rack(brokers: dict[int, BrokerProcess]) -> None:
    """R13."""
    servers = ",".join(one.bootstrap_servers for one in brokers.values())
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("near", 1, len(brokers))])["near"].result(WAIT_S)
    leader = admin.list_topics("near", timeout=WAIT_S).topics["near"].partitions[0].leader
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    sent = [b"record %d" % number for number in range(COUNT)]
    for value in sent:
        producer.produce("near", value, partition=0)
    assert producer.flush(WAIT_S) == 0
    for broker_id, rack in RACKS.items():
        values, came_from = read(servers, "near", rack)
        assert (values, came_from) == (sent, {broker_id})
    values, came_from = read(servers, "near", "elsewhere")
    assert (values, came_from) == (sent, {leader})
