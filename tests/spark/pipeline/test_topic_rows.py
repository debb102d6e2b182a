"""Rows as records of a topic: what Spark makes of them, from a topic to a topic and back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from odradek.base.errors import OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.assembly import (
    check,
    compact_table,
    diagnose,
    opened,
    replay_table,
    status_of,
    verify_table,
)
from odradek.spark.pipeline.description import Description, read_description
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import Heard

pytest.importorskip("pyspark")

from odradek.spark.pipeline.topic_rows import origins_in, table_to_send

integration = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]


def with_marks(test: Any) -> Any:
    for mark in integration:
        test = mark(test)
    return test


def test_a_record_says_where_it_comes_from_and_is_counted_by_that() -> None:
    staged = pa.record_batch(
        {
            "_topic": ["flights", "flights", None],
            "_partition": pa.array([0, 1, 0], pa.int32()),
            "_offset": [17, 3, 5],
            "key": pa.array([b"a", None, b"b"]),
            "value": pa.array([b"1", b"2", None]),
        }
    )
    sent = table_to_send(staged, "clean")
    assert sent.column_names == ["key", "value", "headers"]
    assert sent["headers"].to_pylist()[:2] == [
        [{"key": "odradek.origin", "value": b"flights/0/17/clean"}],
        [{"key": "odradek.origin", "value": b"flights/1/3/clean"}],
    ]
    found = origins_in(sent.to_batches(), "clean")
    assert found.rows == 2
    assert {one: list(offsets) for one, offsets in found.offsets.items()} == {
        TopicPartition("flights", 0): [17],
        TopicPartition("flights", 1): [3],
    }
    assert found.offsets[TopicPartition("flights", 0)].dtype == np.int64
    assert origins_in(sent.to_batches(), "other").rows == 0


def test_rows_without_their_origin_have_no_header() -> None:
    staged = pa.record_batch({"key": pa.array([b"a"]), "value": pa.array([b"1"])})
    assert table_to_send(staged, "clean").column_names == ["key", "value"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-topics")
    yield session
    session.stop()


def described(broker: Broker, directory: Path, topic: str, more: str, sink: str = "") -> Description:
    """A pipeline from `topic` to a topic of that name with `-clean`."""
    file = directory / f"{topic}.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{topic}"]\n'
        f'{more}\n[sink]\npath = "{topic}"\nformat = "topic"\ntopic = "{topic}-clean"\n{sink}'
    )
    return read_description(file)


def send(broker: Broker, topic: str, records: list[tuple[bytes | None, bytes | None]]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def received(spark: Any, broker: Broker, topic: str) -> list[tuple[Any, Any]]:
    rows = (
        spark.read.format("odradek")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", topic)
        .option("kafka.isolation.level", "read_committed")
        .load()
        .orderBy("partition", "offset")
        .collect()
    )
    return [(one.key and bytes(one.key), None if one.value is None else bytes(one.value)) for one in rows]


def run(description: Description, spark: Any) -> Heard:
    heard = Heard()
    with opened(description, heard, spark=spark) as engine:
        engine.run_once()
    return heard


@with_marks
def test_decoded_records_become_objects_and_lose_no_value(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic()
    broker.create_topic(f"{topic}-clean")
    letters = f'[dead_letters]\ntopic = "{broker.create_topic()}"\n'
    fields = 'fields = { n = "long", at = "timestamp", more = "json" }\nnew_fields = "dead-letter"\n'
    description = described(broker, tmp_path, topic, f'[decode]\nformat = "json"\n{fields}', letters)
    send(
        broker,
        topic,
        [
            (b"a", b'{"n": 1, "at": "2013-01-01T05:15:00.000001Z", "more": {"b": [1, null]}}'),
            (None, b'{"n": null}'),
            (b"c", b"broken"),
            (b"d", b'{"n": 4, "gate": "B4"}'),
        ],
    )
    assert check(description)[2] is False
    commit = run(description, spark).commits[0]
    assert (commit.records, commit.rows, commit.dead_letters) == (4, 2, 2)
    first, second = received(spark, broker, f"{topic}-clean")
    assert (first[0], json.loads(first[1])) == (
        b"a",
        {"n": 1, "at": "2013-01-01T05:15:00.000001Z", "more": {"b": [1, None]}},
    )
    assert (second[0], json.loads(second[1])) == (None, {"n": None, "at": None, "more": None})
    assert sum(status_of(description).lag.values()) == 0
    found = verify_table(description)
    assert (found.faults, found.compared, found.rows, found.dead_letters) == ([], 4, 2, 2)
    assert all(one.is_good for one in diagnose(description))
    with pytest.raises(SettingError, match=f"{topic}-clean is not compacted by a pipeline"):
        compact_table(description)
    broken = [(b"c", b"broken"), (b"d", b'{"n": 4, "gate": "B4"}')]
    assert received(spark, broker, description.letters_topic) == broken
    mended = described(
        broker, tmp_path, topic, f'[decode]\nformat = "json"\n{fields}'.replace("dead-letter", "add"), letters
    )
    done = replay_table(mended, Heard(), spark)
    assert (done.letters, done.remaining) == (2, 1)
    assert json.loads(received(spark, broker, f"{topic}-clean")[2][1])["gate"] == "B4"
    found = verify_table(mended)
    assert (found.faults, found.rows, found.dead_letters) == ([], 3, 1)
    assert received(spark, broker, description.letters_topic) == broken


@with_marks
def test_the_dead_letters_of_a_table_go_to_a_topic(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic, letters = broker.create_topic(), broker.create_topic()
    send(broker, topic, [(b"a", b'{"n": 1}'), (b"b", b"broken")])
    file = described(broker, tmp_path, topic, '[decode]\nformat = "json"').file
    text = file.read_text().replace(f'format = "topic"\ntopic = "{topic}-clean"\n', "")
    file.write_text(f'{text}[dead_letters]\ntopic = "{letters}"\n')
    description = read_description(file)
    for _ in range(2):
        run(description, spark)
        assert received(spark, broker, letters) == [(b"b", b"broken")]
    found = verify_table(description)
    assert (found.faults, found.rows, found.letters_sent) == ([], 1, 1)


@with_marks
def test_bytes_pass_as_they_are_and_transforms_may_choose(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic()
    broker.create_topic(f"{topic}-clean")
    raw = '[decode]\nformat = "raw"\n'
    send(broker, topic, [(b"a", b"\xff\x00"), (None, None)])
    run(described(broker, tmp_path, topic, raw, 'delivery = "at-least-once"'), spark)
    assert received(spark, broker, f"{topic}-clean") == [(b"a", b"\xff\x00"), (None, None)]
    send(broker, topic, [(b"b", b"x"), (b"c", b"y")])
    sql = "select 'k' as _key, upper(cast(value as string)) as value from records where _key = 'b'"
    stage = f'[[transform]]\nsql = "{sql}"\n'
    chosen = described(broker, tmp_path, topic, raw + stage)
    run(chosen, spark)
    assert received(spark, broker, f"{topic}-clean")[2:] == [(b"k", b"X")]
    assert verify_table(chosen).faults == []
    for columns, sentence in (
        ("1 as value", "the column value is to be bytes or text in a topic, and is a int"),
        ("2 as _key, value", "the column _key is to be bytes or text in a topic, and is a int"),
        ("1 as n", 'sink.value_format = "raw" sends the column value, and the rows have n'),
    ):
        send(broker, topic, [(b"d", b"z")])
        wrong = described(
            broker, tmp_path, topic, f'{raw}[[transform]]\nsql = "select {columns} from records"\n'
        )
        with pytest.raises(OdradekError, match=sentence):
            run(wrong, spark)
    nothing = f'{raw}[[transform]]\nsql = "select _key from records"\n'
    with pytest.raises(OdradekError, match="and no column for the values of the topic"):
        run(described(broker, tmp_path, topic, nothing, 'value_format = "json"'), spark)
