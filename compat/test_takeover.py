"""Odradek takes over what Apache Kafka wrote, and Kafka takes it back."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from peers import BrokerProcess, JarsMissing, KafkaBroker, OdradekBroker
from peers.waiting import WAIT_S_MAX

from compat.admins.confluent import ConfluentAdmin
from odradek import Admin
from odradek.cli.main import run

pytestmark = pytest.mark.one_broker("starts brokers of its own, one of each kind")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Of the internal topics: fifty take Kafka seconds to make and to recover.
PARTITION_COUNTS = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
SETTINGS = {"retention.ms": "86400000", "segment.bytes": str(1 << 20), "cleanup.policy": "delete"}


@pytest.fixture
def kafka(tmp_path: Path) -> KafkaBroker:
    try:
        KafkaBroker.version()
        return KafkaBroker(tmp_path / "kafka", dict.fromkeys(PARTITION_COUNTS, "3"))
    except JarsMissing as missing:
        pytest.skip(str(missing))


def write(broker: BrokerProcess, topic: str, codec: str, values: list[bytes]) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "enable.idempotence": True}
    )
    for value in values:
        producer.produce(topic, value, key=value)
    assert producer.flush(WAIT_S_MAX) == 0


def transact(broker: BrokerProcess, topic: str, value: bytes, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "payments"})
    producer.init_transactions(WAIT_S_MAX)
    producer.begin_transaction()
    producer.produce(topic, value)
    assert producer.flush(WAIT_S_MAX) == 0
    if commit:
        producer.commit_transaction(WAIT_S_MAX)
    else:
        producer.abort_transaction(WAIT_S_MAX)


def read(broker: BrokerProcess, topic: str, count: int) -> list[bytes]:
    """Read as a group's member from the committed offsets; commits."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(WAIT_S_MAX)
        assert message is not None, f"only {len(values)} of {count} records came"
        assert message.error() is None, message.error()
        values.append(message.value() or b"")
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(values)


def topic_ids(broker: BrokerProcess) -> dict[str, str]:
    with Admin(broker.bootstrap) as admin:
        return {topic.name: topic.topic_id for topic in admin.describe_topics()}


def imported(capfd: pytest.CaptureFixture[str], directory: Path, *options: str) -> dict[str, Any]:
    capfd.readouterr()
    assert run(["import", str(directory), "--json", *options]) == 0, capfd.readouterr().err
    document: dict[str, Any] = json.loads(capfd.readouterr().out)
    return document


def tree_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_a_kafka_is_taken_over_and_taken_back(
    kafka: KafkaBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with kafka:
        ConfluentAdmin(kafka.bootstrap).create_topic("flights", partitions=2, settings=SETTINGS)
        ConfluentAdmin(kafka.bootstrap).create_topic("gone", partitions=1, settings={})
        ConfluentAdmin(kafka.bootstrap).delete_topic("gone")
        for codec in CODECS:
            write(kafka, "flights", codec, [b"%s %d" % (codec.encode(), number) for number in range(20)])
        assert len(read(kafka, "flights", 100)) == 100
        transact(kafka, "flights", b"aborted", commit=False)
        transact(kafka, "flights", b"committed", commit=True)
        ids = topic_ids(kafka)
        assert run(["import", str(kafka.data_directory)]) == 2
        assert "is in use by a running broker" in capfd.readouterr().err

    before = tree_of(kafka.data_directory)
    planned = imported(capfd, kafka.data_directory)
    assert tree_of(kafka.data_directory) == before
    (flights,) = [one for one in planned["topics"] if one["topic"] == "flights"]
    assert (flights["partitions"], flights["settings"], flights["topic_id"]) == (2, SETTINGS, ids["flights"])
    assert planned["notes"] == []
    imported(capfd, kafka.data_directory, "--execute")
    after = tree_of(kafka.data_directory)
    assert {name for name in after if after[name] != before.get(name)} == {"metadata.db"}
    assert run(["import", str(kafka.data_directory), "--execute"]) == 2
    assert "is Odradek's already" in capfd.readouterr().err

    odradek = OdradekBroker(tmp_path / "odradek", {"node.id": "1"})
    odradek.directory.mkdir()
    odradek.data_directory.symlink_to(kafka.data_directory)
    with odradek:
        assert topic_ids(odradek) == ids
        with Admin(odradek.bootstrap) as admin:
            found = admin.describe_configs("topic", "flights")
        own = {one.name: one.value for one in found if one.source and one.source.name == "DYNAMIC_TOPIC"}
        assert own == SETTINGS
        assert read(odradek, "flights", 1) == [b"committed"]
        write(odradek, "flights", "zstd", [b"odradek %d" % number for number in range(20)])
        transact(odradek, "flights", b"by odradek", commit=True)
        assert len(read(odradek, "flights", 10)) >= 10

    with kafka:
        assert topic_ids(kafka)["flights"] == ids["flights"]
        everything = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": "all",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        everything.assign([TopicPartition("flights", number, 0) for number in (0, 1)])
        values: set[bytes | None] = set()
        while len(values) < 122:
            message = everything.poll(WAIT_S_MAX)
            assert message is not None, f"only {len(values)} records came"
            values.add(message.value())
        everything.close()
        assert {b"committed", b"by odradek", b"odradek 19"} <= values
        assert b"aborted" not in values
        with Admin(kafka.bootstrap) as admin:
            committed = admin.list_group_offsets("readers")
        assert sum(committed.values()) > 100
        write(kafka, "flights", "none", [b"kafka again"])
        transact(kafka, "flights", b"kafka again", commit=True)


def test_a_kafka_without_meta_properties_is_taken_over(
    kafka: KafkaBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with kafka:
        ConfluentAdmin(kafka.bootstrap).create_topic("flights", partitions=2, settings=SETTINGS)
        write(kafka, "flights", "lz4", [b"%d" % number for number in range(20)])
        ids = topic_ids(kafka)
    (kafka.data_directory / "meta.properties").unlink()
    assert imported(capfd, kafka.data_directory, "--execute")["node_id"] == 1
    odradek = OdradekBroker(tmp_path / "odradek", {"node.id": "1"})
    odradek.directory.mkdir()
    odradek.data_directory.symlink_to(kafka.data_directory)
    with odradek:
        assert topic_ids(odradek)["flights"] == ids["flights"]
        assert len(read(odradek, "flights", 20)) == 20
