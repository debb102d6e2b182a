"""A replica moves between the log directories of its broker under load, by Kafka's own tools (KIP-113)."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from peers import BrokerProcess, JarsMissing, KafkaBroker, KafkaTools
from peers.waiting import WAIT_S_MAX, wait_until

from compat.admins.confluent import ConfluentAdmin
from compat.test_unfinished_moves import OdradekOnDirectories, settings_of
from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

pytestmark = pytest.mark.one_broker("starts brokers of its own, one of each kind")

TOPIC = "flights"
BEFORE, RECORD_BYTES = 4_000, 1_000
"""The records before the move."""


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, Path]:
    """The log directories by their paths."""
    return {str(path): path for path in (tmp_path / "first", tmp_path / "second")}


@pytest.fixture(params=["odradek", "kafka"])
def broker_on_directories(
    request: pytest.FixtureRequest, tmp_path: Path, directories: dict[str, Path]
) -> Iterator[BrokerProcess]:
    """A broker with two log directories."""
    settings = settings_of(directories)
    try:
        KafkaBroker.version()  # its tools are needed in either case
        broker: BrokerProcess
        if request.param == "kafka":
            broker = KafkaBroker(tmp_path / "kafka", settings)
        else:
            broker = OdradekOnDirectories(tmp_path / "odradek", settings | {"node.id": "1"})
    except JarsMissing as missing:
        pytest.skip(str(missing))
    with broker:
        yield broker


class Load:
    """Records that are produced one after another, until `end`; all of them are acknowledged then."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1}
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0

    def produce(self, count: int) -> None:
        for _ in range(count):
            self._producer.produce(TOPIC, b"%d:" % self.sent + bytes(RECORD_BYTES))
            self._producer.poll(0)
            self.sent += 1

    def begin(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(0.002):
            self.produce(5)

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(WAIT_S_MAX) == 0


def read(broker: BrokerProcess, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "all"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[int] = []
    while len(found) < count:
        messages = consumer.consume(500, WAIT_S_MAX)
        assert messages, f"record {len(found)} of {count} did not come"
        for message in messages:
            assert message.error() is None, message.error()
            found.append(int((message.value() or b"").partition(b":")[0]))
    consumer.close()
    return found


def homes(broker: BrokerProcess) -> dict[str, tuple[bool, int]]:
    """Where the log of the topic is, by DescribeLogDirs: by directory, whether it is a copy, and its lag."""
    with BrokerConnection("127.0.0.1", broker.port) as connection:
        answer = connection.call(DescribeLogDirsRequest(None), DescribeLogDirsResponse, 4)
    return {
        directory.log_dir: (part.is_future_key, part.offset_lag)
        for directory in answer.results
        for topic in directory.topics
        if topic.name == TOPIC
        for part in topic.partitions
    }


def home(broker: BrokerProcess) -> str:
    """The directory of the log, which a new topic may not have yet."""
    wait_until(lambda: len(homes(broker)) == 1, "the topic has no log")
    (found,) = homes(broker)
    return found


def alter(broker: BrokerProcess, path: str, topic: str, partition: int) -> ErrorCode:
    request = AlterReplicaLogDirsRequest(
        [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [partition])])]
    )
    with BrokerConnection("127.0.0.1", broker.port) as connection:
        (result,) = connection.call(request, AlterReplicaLogDirsResponse, 2).results
    (part,) = result.partitions
    assert (result.topic_name, part.partition_index) == (topic, partition)
    return ErrorCode(part.error_code)


def reassign(broker: BrokerProcess, target: str, file: Path, *arguments: str) -> str:
    moved = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [target]}
    file.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    return KafkaTools(broker.bootstrap).on_broker(
        "reassign-partitions", "--reassignment-json-file", str(file), *arguments
    )


def test_a_replica_moves_under_load(
    broker_on_directories: BrokerProcess, tmp_path: Path, directories: dict[str, Path]
) -> None:
    broker, file = broker_on_directories, tmp_path / "moves.json"
    ConfluentAdmin(broker.bootstrap).create_topic(TOPIC, partitions=1, settings={"segment.bytes": "1048576"})
    load = Load(broker.bootstrap)
    load.produce(BEFORE)
    source = home(broker)
    (target,) = set(directories) - {source}
    load.begin()
    for place in (target, source, target):
        done = reassign(broker, place, file, "--execute")
        assert "Successfully started moving log directory to" in done
        wait_until(lambda place=place: homes(broker) == {place: (False, 0)}, f"it is not in {place}")  # type: ignore[misc]
        assert "completed successfully" in reassign(broker, place, file, "--verify")
    load.end()
    assert read(broker, load.sent) == list(range(load.sent))
    shown = KafkaTools(broker.bootstrap).on_broker("log-dirs", "--describe", "--topic-list", TOPIC)
    described = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
    (one,) = [
        (directory["logDir"], part)
        for directory in described["brokers"][0]["logDirs"]
        for part in directory["partitions"]
    ]
    assert one[0] == target
    assert (one[1]["partition"], one[1]["isFuture"], one[1]["offsetLag"]) == ("flights-0", False, 0)
    assert [path.parent for each in directories.values() for path in each.glob("flights-0")] == [
        directories[target]
    ]


def test_a_throttled_move_is_shown_cancelled_and_survives_a_kill(
    broker_on_directories: BrokerProcess, tmp_path: Path, directories: dict[str, Path]
) -> None:
    broker, file = broker_on_directories, tmp_path / "moves.json"
    ConfluentAdmin(broker.bootstrap).create_topic(TOPIC, partitions=1, settings={})
    load = Load(broker.bootstrap)
    load.produce(BEFORE)
    load.begin()
    load.end()
    source = home(broker)
    (target,) = set(directories) - {source}
    slowly = ("--execute", "--replica-alter-log-dirs-throttle", "1000")
    reassign(broker, target, file, *slowly)
    wait_until(lambda: target in homes(broker), "the copy was not begun")
    found = homes(broker)
    assert found[source] == (False, 0)
    assert found[target][0]
    assert found[target][1] > 0
    assert "still in progress" in reassign(broker, target, file, "--verify", "--preserve-throttles")
    reassign(broker, source, file, "--execute", "--additional")
    wait_until(lambda: set(homes(broker)) == {source}, "it was not cancelled")
    reassign(broker, target, file, *slowly)
    wait_until(lambda: target in homes(broker), "the copy was not begun")
    broker.kill()
    broker.start()
    assert homes(broker)[source][0] is False
    assert read(broker, load.sent) == list(range(load.sent))
    without_limit = ("--execute", "--additional", "--replica-alter-log-dirs-throttle", "1000000000")
    reassign(broker, target, file, *without_limit)
    wait_until(lambda: homes(broker) == {target: (False, 0)}, "it did not move")
    assert read(broker, load.sent) == list(range(load.sent))


def test_what_is_refused(broker_on_directories: BrokerProcess, directories: dict[str, Path]) -> None:
    broker, (one, *_) = broker_on_directories, list(directories)
    ConfluentAdmin(broker.bootstrap).create_topic(TOPIC, partitions=1, settings={})
    assert alter(broker, f"{one}-other", TOPIC, 0) is ErrorCode.LOG_DIR_NOT_FOUND
    assert alter(broker, "relative", TOPIC, 0) is ErrorCode.LOG_DIR_NOT_FOUND
    assert alter(broker, "", TOPIC, 0) is ErrorCode.LOG_DIR_NOT_FOUND
    assert alter(broker, one, "unknown", 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(broker, one, TOPIC, 7) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(broker, one, "a" * 240, 0) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert alter(broker, f"{one}-other", "unknown", 0) is ErrorCode.LOG_DIR_NOT_FOUND
    place = home(broker)
    assert alter(broker, place, TOPIC, 0) is ErrorCode.NONE
    assert set(homes(broker)) == {place}


def test_a_directory_chosen_before_the_topic_is_there(
    broker_on_directories: BrokerProcess, directories: dict[str, Path]
) -> None:
    broker = broker_on_directories
    for number, path in enumerate((*directories, *directories)):
        topic = f"later-{number}"
        assert alter(broker, path, topic, 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ConfluentAdmin(broker.bootstrap).create_topic(topic, partitions=1, settings={})
        wait_until((directories[path] / f"{topic}-0").is_dir, f"{topic} is not in {path}")
