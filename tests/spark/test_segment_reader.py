"""Reads of segment files, compared with what the broker that wrote them answers."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.base.errors import CorruptRecord, OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.client.bootstrap import parse_bootstrap_servers
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.range_reader import DataLost, read_range
from odradek.spark.segment_options import parse_segment_options
from odradek.spark.segment_reader import plan_segments, read_segments
from odradek.spark.source_options import ReadOptions
from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]

Rows = list[dict[str, Any]]
CODECS = {"plain": "none", "packed": "zstd"}
COMMITTED, OPEN = 40, 10


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[tuple[str, str], Rows]]:
    """The directory of a stopped broker, and the rows that it answered, by topic and isolation."""
    directory = tmp_path_factory.mktemp("data")
    settings = {"log.segment.bytes": 1 << 20}
    with Broker(data_dir=directory, settings=settings) as broker:
        write(broker)
        answers = {
            (topic, isolation): fetched(broker, topic, isolation)
            for topic in CODECS
            for isolation in ("read_uncommitted", "read_committed")
        }
    return str(directory), answers


def write(broker: Broker) -> None:
    """Plain records, a transaction that is committed, one that is aborted, and one that stays open."""
    common = {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0}
    for topic, codec in CODECS.items():
        broker.create_topic(topic)
        plain = Producer({**common, "compression.type": codec, "batch.num.messages": 10})
        for number in range(60):
            noise = random.Random(number).randbytes(2000 * number)
            plain.produce(topic, noise, b"k%d" % number, headers={"h": b"%d" % number})
        assert plain.flush(10) == 0
    for kind, count in (("commit", COMMITTED), ("abort", 20), ("open", OPEN)):
        producer = Producer({**common, "compression.type": "lz4", "transactional.id": kind})
        producer.init_transactions(10)
        producer.begin_transaction()
        for number in range(count):
            for topic in CODECS:
                producer.produce(topic, f"{kind} {number}".encode())
            if number % 5 == 0:
                producer.flush(10)
        producer.flush(10)
        if kind == "commit":
            producer.commit_transaction(10)
        elif kind == "abort":
            producer.abort_transaction(10)


def fetched(broker: Broker, topic: str, isolation: str) -> Rows:
    how = ReadOptions(tuple(parse_bootstrap_servers(broker.bootstrap_servers)), isolation, with_headers=True)
    end = 60 + COMMITTED + 1 + 20 + 1 + (OPEN if isolation == "read_uncommitted" else 0)
    whole = OffsetRange(TopicPartition(topic, 0), 0, end)
    return [row for rows in read_range(whole, how) for row in rows.to_pylist()]


def read(directory: str, **options: str) -> Rows:
    """All rows of a read, task after task."""
    how = parse_segment_options({"path": directory, "includeHeaders": "true", **options})
    return [row for one in plan_segments(how) for rows in read_segments(one, how) for row in rows.to_pylist()]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("topic", CODECS)
def test_files_hold_the_rows_that_the_broker_answered(
    written: tuple[str, dict[tuple[str, str], Rows]], topic: str, isolation: str
) -> None:
    directory, answers = written
    rows = read(directory, subscribe=topic, **{"kafka.isolation.level": isolation})
    assert rows == answers[topic, isolation]
    assert len(rows) == 60 + COMMITTED + (0 if isolation == "read_committed" else 20 + OPEN)


def test_there_is_a_task_for_each_segment_and_they_can_be_read_alone(
    written: tuple[str, dict[tuple[str, str], Rows]],
) -> None:
    directory, answers = written
    how = parse_segment_options({"path": directory, "assign": '{"plain": [0]}'})
    how = replace(how, is_committed=True)
    tasks = plan_segments(how)
    assert len(tasks) > 2
    rows = [row for one in reversed(tasks) for rows in read_segments(one, how) for row in rows.to_pylist()]
    expected = {row["offset"]: row["value"] for row in answers["plain", "read_committed"]}
    assert {row["offset"]: row["value"] for row in rows} == expected
    assert len(rows) == len(expected)


def test_offsets_bound_the_read(written: tuple[str, dict[tuple[str, str], Rows]]) -> None:
    bounds = {"startingOffsets": json.dumps({"plain": {"0": 7}}), "endingOffsets": '{"plain": {"0": 30}}'}
    rows = read(written[0], subscribe="plain", **bounds)
    assert [row["offset"] for row in rows] == list(range(7, 30))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "exactly one of the options subscribe"),
        ({"subscribe": "nowhere"}, "there is no topic nowhere"),
        ({"assign": '{"plain": [4]}'}, "no partition 4 of topic plain"),
        ({"subscribe": "plain", "minPartitions": "3"}, "no option minpartitions"),
        ({"subscribe": "plain", "endingOffset": "1"}, "did you mean endingOffsets"),
        ({"subscribe": "plain", "endingOffsets": '{"plain": {"0": 999}}'}, "999 of plain-0 is beyond"),
        ({"subscribe": "plain", "kafka.isolation.level": "serial"}, "must be one of"),
        ({"subscribe": "plain", "path": ""}, "name the log directory"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(
    written: tuple[str, dict[tuple[str, str], Rows]], options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        read(options.pop("path", written[0]), **options)


def test_a_directory_that_is_not_there_is_refused() -> None:
    with pytest.raises(OdradekError, match="cannot read /no/such/place: No such file"):
        read("/no/such/place", subscribe="plain")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Broker, str]]:
    settings = {"replica.high.watermark.checkpoint.interval.ms": 3_600_000}
    with Broker(data_dir=tmp_path, settings=settings) as broker:
        broker.create_topic("live")
        yield broker, str(tmp_path)


def test_a_running_broker_s_files_are_read_up_to_its_checkpointed_high_watermark(
    running: tuple[Broker, str],
) -> None:
    broker, directory = running
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("live", b"first")
    assert producer.flush(10) == 0
    broker.restart()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("live", b"second")
    assert producer.flush(10) == 0
    assert [row["value"] for row in read(directory, subscribe="live")] == [b"first"]
    with pytest.raises(SettingError, match="beyond what can be read, 1, up to which a running broker"):
        read(directory, subscribe="live", endingOffsets='{"live": {"0": 2}}')
    broker.stop()
    assert [row["value"] for row in read(directory, subscribe="live")] == [b"first", b"second"]


def test_damage_and_loss_while_a_read_goes_on_are_errors(running: tuple[Broker, str]) -> None:
    broker, directory = running
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("live", b"a value to damage")
    assert producer.flush(10) == 0
    broker.stop()
    how = parse_segment_options({"path": directory, "subscribe": "live"})
    (task,) = plan_segments(how)
    log = next(Path(directory, "live-0").glob("*.log"))
    content = bytearray(log.read_bytes())
    content[-3] ^= 1
    log.write_bytes(content)
    with pytest.raises(CorruptRecord, match="CRC"):
        list(read_segments(task, how))
    log.unlink()
    log.with_name(f"{5:020}.log").touch()
    with pytest.raises(DataLost, match="no longer has offset 0; its log begins at 5"):
        list(read_segments(task, how))
