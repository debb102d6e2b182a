"""Kafka Connect and MirrorMaker 2 keep their state in the broker, and write each record once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from peers import BrokerProcess, KafkaBroker, OdradekBroker
from peers.waiting import wait_until

from compat.admins.confluent import ConfluentAdmin
from compat.clients import Client, Record
from compat.committed import committed_records
from compat.connect import MirrorMaker, Worker
from compat.connect.java_process import JavaProcess

pytestmark = [
    pytest.mark.needs_api("JoinGroup", "InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"),
    pytest.mark.skipif(bool(JavaProcess.missing()), reason=JavaProcess.missing()),
]


LINES = 500
"""So many are in the file at first, and so many come later."""
RECORDS = 200


@pytest.fixture(autouse=True)
def _is_wanted(request: pytest.FixtureRequest, broker: BrokerProcess) -> None:
    """Apache Kafka shows only that the tests are right, and takes a minute for it."""
    if broker.name == KafkaBroker.name and not request.config.getoption("--target"):
        pytest.skip("runs with --target kafka")


def write_lines(file: Path, numbers: range) -> None:
    with file.open("a") as appended:
        appended.writelines(f"line {number}\n" for number in numbers)


def test_a_source_and_a_sink_go_on_when_their_worker_is_killed(
    broker: BrokerProcess, fresh_name: Callable[[], str], tmp_path: Path
) -> None:
    """Of two workers one is killed; the other one has all tasks then, and fences what the first had begun."""
    topic, group = fresh_name(), fresh_name()
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    write_lines(source, range(LINES))

    def are_written(count: int) -> bool:
        return len(committed_records(broker.bootstrap, topic)) >= count

    def are_read(count: int) -> bool:
        return sink.exists() and len(set(sink.read_text().splitlines())) >= count

    with (
        Worker(broker.bootstrap, group, "first", tmp_path) as first,
        Worker(broker.bootstrap, group, "second", tmp_path) as second,
    ):
        first.configure(
            "source",
            connector_class="FileStreamSource",
            file=str(source),
            topic=topic,
            topic_creation_default_partitions="1",
            topic_creation_default_replication_factor="-1",
        )
        second.configure(
            "sink",
            connector_class="FileStreamSink",
            file=str(sink),
            topics=topic,
            consumer_override_isolation_level="read_committed",
            consumer_override_session_timeout_ms="6000",
        )
        wait_until(lambda: are_read(LINES), f"lines are missing in the sink: {second.output()}")
        first.kill()
        write_lines(source, range(LINES, 2 * LINES))
        wait_until(lambda: are_written(2 * LINES), f"lines are missing in the topic: {second.output()}")
        wait_until(lambda: are_read(2 * LINES), f"lines are missing in the sink: {second.output()}")
        lines = [value for _, value in committed_records(broker.bootstrap, topic)]
        assert lines == [b"line %d" % number for number in range(2 * LINES)]
        second.ask("PUT", "/connectors/source/stop")
        second.ask("DELETE", "/connectors/source/offsets")
        assert second.ask("GET", "/connectors/source/offsets") == {"offsets": []}


def test_a_mirror_has_the_records_the_settings_and_the_offsets_of_groups(
    broker: BrokerProcess,
    new_topic: Callable[..., str],
    all_clients: dict[str, Client],
    tmp_path: Path,
) -> None:
    """From the broker under test to another one of ours."""
    topic = new_topic(retention_ms=123_456_789)
    mirrored = f"a.{topic}"
    records = [Record(b"%d" % number, key=b"k", headers=(("h", b"x"),)) for number in range(RECORDS)]
    all_clients["confluent-kafka"].write(topic, records)
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    with (
        OdradekBroker(tmp_path / "target", {}) as target,
        MirrorMaker(broker.bootstrap, target.bootstrap, topic, tmp_path) as mirror,
    ):
        admin = ConfluentAdmin(target.bootstrap, 1)
        wait_until(lambda: mirrored in admin.topics(), f"the topic is missing: {mirror.output()}")
        wait_until(
            lambda: len(committed_records(target.bootstrap, mirrored)) >= RECORDS,
            f"records are missing: {mirror.output()}",
        )
        found = committed_records(target.bootstrap, mirrored)
        assert found == [(record.key, record.value) for record in records]
        assert admin.topic_settings(mirrored)["retention.ms"].value == "123456789"
        follower = Consumer({"bootstrap.servers": target.bootstrap, "group.id": topic})
        # MirrorMaker translates offsets behind those that it has mirrored since it began.
        reader.commit(offsets=[TopicPartition(topic, 0, RECORDS)], asynchronous=False)
        wait_until(
            lambda: follower.committed([TopicPartition(mirrored, 0)], 10)[0].offset == RECORDS,
            f"the group's offsets are missing: {mirror.output()}",
        )
        follower.close()
    reader.close()
