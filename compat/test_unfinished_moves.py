"""Apache Kafka is stopped while it moves a log to another directory: Odradek goes on with the move."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from peers import BrokerProcess, JarsMissing, KafkaBroker, KafkaTools, OdradekBroker
from peers.waiting import WAIT_S_MAX, wait_until

from compat.admins.confluent import ConfluentAdmin
from odradek.cli.main import run

pytestmark = pytest.mark.one_broker("starts brokers of its own, one of each kind")

TOPIC = "flights"
# A copy takes its first answer of a megabyte at once, and then as little as the throttle lets it.
VALUES = [os.urandom(100_000) for _ in range(30)]


class OdradekOnDirectories(OdradekBroker):
    """Odradek on the log directories of its settings."""

    def command(self) -> list[str]:
        """See `OdradekBroker.command`."""
        return self.serve("--port", str(self.port))


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, Path]:
    """The log directories by their paths."""
    return {str(path): path for path in (tmp_path / "first", tmp_path / "second")}


def settings_of(directories: dict[str, Path]) -> dict[str, str]:
    # Of the internal topic: fifty partitions take Kafka seconds to make and to recover.
    return {"log.dirs": ",".join(directories), "offsets.topic.num.partitions": "1"}


@pytest.fixture
def kafka(tmp_path: Path, directories: dict[str, Path]) -> KafkaBroker:
    try:
        KafkaBroker.version()
        return KafkaBroker(tmp_path / "kafka", settings_of(directories))
    except JarsMissing as missing:
        pytest.skip(str(missing))


def read_all(broker: BrokerProcess) -> Iterator[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "all"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    for _ in VALUES:
        message = consumer.poll(WAIT_S_MAX)
        assert message is not None, "a record did not come"
        assert message.error() is None, message.error()
        yield message.value() or b""
    consumer.close()


def copies(directories: dict[str, Path]) -> list[Path]:
    return [one for path in directories.values() for one in path.glob(f"{TOPIC}-0.*-future")]


def move(broker: BrokerProcess, target: Path, file: Path, *, throttle: int) -> None:
    """Let Kafka's tool begin a move, or go on with it under another throttle, in bytes per second."""
    moved = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
    file.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    KafkaTools(broker.bootstrap).on_broker(
        "reassign-partitions",
        *("--reassignment-json-file", str(file), "--execute", "--additional"),
        *("--replica-alter-log-dirs-throttle", str(throttle)),
    )


def test_a_move_that_kafka_began_is_finished_here(
    kafka: KafkaBroker, tmp_path: Path, directories: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with kafka:
        ConfluentAdmin(kafka.bootstrap).create_topic(TOPIC, partitions=1, settings={})
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for value in VALUES:
            producer.produce(TOPIC, value)
        assert producer.flush(WAIT_S_MAX) == 0
        source, target = sorted(directories.values(), key=lambda path: not (path / f"{TOPIC}-0").exists())
        assert (source / f"{TOPIC}-0").is_dir()
        move(kafka, target, tmp_path / "moves.json", throttle=1_000)
        wait_until(lambda: len(copies(directories)) == 1, "the copy was not begun")
    (copy,) = copies(directories)
    assert copy.parent == target

    assert run(["import", *directories, "--execute", "--json"]) == 0, capfd.readouterr().err
    odradek = OdradekOnDirectories(tmp_path / "odradek", settings_of(directories) | {"node.id": "1"})
    with odradek:
        assert list(read_all(odradek)) == VALUES
        move(odradek, target, tmp_path / "moves.json", throttle=1_000_000_000)
        wait_until(lambda: copies(directories) == [], "the copy was not completed")
        assert list(read_all(odradek)) == VALUES
    said = odradek.output_path.read_text()
    assert f"moving {TOPIC}-0 to {target} goes on where it was" in said
    assert "damaged" not in said
    assert (target / f"{TOPIC}-0").is_dir()
    assert not (source / f"{TOPIC}-0").exists()

    with kafka:
        assert list(read_all(kafka)) == VALUES
        assert copies(directories) == []
