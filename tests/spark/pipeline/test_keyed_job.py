"""What the job of a batch stages for a table with keys, by a whole Spark, without the table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.ledger import DELETES
from odradek.testing import Broker

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

Records = list[tuple[str | None, str | None]]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-keyed-job")
    yield session
    session.stop()


def staged(broker: Broker, spark: Any, directory: Path, records: Records, decode: str, sink: str) -> Any:
    """What one batch of these records, (key, value), writes below `directory / "staged"`."""
    from confluent_kafka import Producer

    from odradek.spark.pipeline.spark_job import SparkJob

    topic = broker.create_topic(partitions=1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key, 0)
    assert producer.flush(60) == 0
    file = directory / "flights.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{topic}"]\n'
        f'[decode]\n{decode}\n[sink]\npath = "table"\nformat = "delta"\n{sink}\n'
    )
    description = read_description(file)
    (directory / "staged").mkdir()
    ranges = [OffsetRange(TopicPartition(topic, 0), 0, len(records))]
    fields = {"n": "long", "late": "long"} if description.format == "json" else {}
    return SparkJob(description, spark).write(ranges, fields, directory / "staged")


def rows(directory: Path, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in ds.dataset(directory).to_table().to_pylist())


def test_changes_in_envelopes_become_rows_and_deletions(broker: Broker, spark: Any, tmp_path: Path) -> None:
    changes = [
        '{"op": "c", "after": {"n": 1, "late": 0}}',
        '{"op": "c", "after": {"n": 2, "late": 0}}',
        '{"op": "u", "before": {"n": 1, "late": 0}, "after": {"n": 1, "late": 9}}',
        '{"op": "d", "before": {"n": 2, "late": 0}}',
        None,
        '{"op": "t"}',
    ]
    written = staged(
        broker,
        spark,
        tmp_path,
        [(None, change) for change in changes],
        'format = "json"\ncdc = {}',
        'key = "n"\ntombstones = "ignore"',
    )
    assert (written.records, written.rows, written.deletes, written.superseded) == (6, 1, 1, 2)
    assert (written.ignored, written.dead_letters) == (1, 1)
    assert rows(tmp_path / "staged", "n", "late", "_offset") == [(1, 9, 2)]
    assert rows(tmp_path / "staged" / DELETES, "n", "_offset") == [(2, 3)]
    assert written.first_error.endswith('the operation op is "t", not one of c, r, u, d')


def test_raw_values_are_kept_by_the_records_key(broker: Broker, spark: Any, tmp_path: Path) -> None:
    records: Records = [("a", "1"), ("b", "2"), ("a", "3"), ("b", None), (None, "4")]
    raw = staged(broker, spark, tmp_path, records, 'format = "raw"', 'key = "_key"\ntombstones = "delete"')
    assert (raw.rows, raw.deletes, raw.superseded, raw.dead_letters) == (1, 1, 2, 1)
    assert rows(tmp_path / "staged", "_key", "value") == [(b"a", b"3")]
    assert rows(tmp_path / "staged" / DELETES, "_key") == [(b"b",)]
    assert raw.first_error.endswith("the record has no key, and _key is part of the table's key")


def test_a_null_that_a_transform_makes_of_a_key_is_refused(
    broker: Broker, spark: Any, tmp_path: Path
) -> None:
    stage = (
        '\n[[transform]]\nsql = "select nullif(n, 1) as hour, late, _topic, _partition, _offset, _timestamp'
    )
    with pytest.raises(OdradekError, match="1 rows have no value in hour, which is part of the table's key"):
        staged(
            broker,
            spark,
            tmp_path,
            [(None, '{"n": 1, "late": 0}'), (None, '{"n": 2, "late": 0}')],
            f'format = "json"{stage} from records"',
            'key = "hour"',
        )
