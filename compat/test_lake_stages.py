"""Stages that keep state, into Delta and Iceberg tables: each record counts once, also after kills."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.lakes import Heard, kill_in_commit, lake_spark
from odradek.spark.pipeline.assembly import opened, verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.formats import table_of
from odradek.spark.pipeline.ledger import Commit, TableRefused

pytestmark = [
    pytest.mark.one_broker("a pipeline reads a cluster as it reads one broker"),
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]

START = datetime(2013, 1, 1, tzinfo=UTC)
STAGES = """
[[transform]]
deduplicate = "id"
watermark_s = 5
[[transform]]
join = "airports"
on = "origin"
[[transform]]
sql = "select * from records where city != 'Queens'"
[[transform]]
window_s = 10
watermark_s = 5
by = "city"
aggregates = ["count(*) as n", "min(id) as first"]
"""
AIRPORTS = {"origin": ["EWR", "JFK", "LGA"], "city": ["Newark", "New York", "Queens"]}
BATCHES = (
    [(1, "EWR"), (1, "EWR"), (2, "JFK"), (3, "LGA"), (12, "EWR")],
    [(2, "JFK"), (13, "EWR"), (14, "JFK"), (24, "EWR")],
    [(1, "EWR"), (25, "JFK"), (36, "EWR"), (50, "JFK")],
)
"""Of each batch the second and the origin of each record; the second is also its id."""
WINDOWS = [
    (0, "New York", 1, 2),
    (0, "Newark", 1, 1),
    (10, "New York", 1, 14),
    (10, "Newark", 2, 12),
    (20, "New York", 1, 25),
    (20, "Newark", 1, 24),
    (30, "Newark", 1, 36),
]
"""What is in the table in the end: the window's second, its city, its flights and the first of them."""


class Killed(BaseException):
    """The process ended here."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both formats."""
    yield from lake_spark()


def described(broker: BrokerProcess, topic: str, directory: Path, form: str, more: str = "") -> Description:
    """A pipeline with stages of each kind; `more` stands in [sink]."""
    directory.mkdir(exist_ok=True)
    if not (directory / "airports").exists():
        (directory / "airports").mkdir()
        pq.write_table(pa.table(AIRPORTS), directory / "airports" / "part-0.parquet")
    file = directory / "delays.toml"
    file.write_text(
        f'name = "{form}"\n[source]\nbootstrap_servers = "{broker.bootstrap}"\ntopics = ["{topic}"]\n'
        f'[decode]\nformat = "json"\nfields = {{ id = "long", origin = "string" }}\n{STAGES}'
        f'[sink]\npath = "table"\nformat = "{form}"\n{more}'
    )
    return read_description(file)


def send(broker: BrokerProcess, topic: str, records: Sequence[tuple[int, str]]) -> None:
    """Records whose time is their id, in seconds."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for second, origin in records:
        moment = int((START + timedelta(seconds=second)).timestamp() * 1000)
        value = b'{"id": %d, "origin": "%s"}' % (second, origin.encode())
        producer.produce(topic, value, partition=0, timestamp=moment)
    assert producer.flush(60) == 0


def run(description: Description, spark: SparkSession, ends_at: Step | None = None) -> list[Commit]:
    """Bring the table up to date, or end at a step as a kill would; returns the new commits."""
    heard = Heard()

    def reached(step: Step) -> None:
        if step is ends_at:
            raise Killed(step)

    with opened(description, heard, reached, spark=spark) as engine:
        engine.run_once()
    return heard.commits


def rows_of(description: Description, spark: SparkSession) -> list[tuple[Any, ...]]:
    """The rows of the table, sorted."""
    table = spark.read.format(description.sink_format).load(str(description.table))
    found = table.selectExpr("unix_seconds(window_start) as start", "city", "n", "first").collect()
    start = int(START.timestamp())
    return sorted((row["start"] - start, row["city"], row["n"], row["first"]) for row in found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "more"),
    [("delta", 'key = ["window_start", "city"]\n'), ("iceberg", "")],
    ids=["delta", "iceberg"],
)
def test_stages_count_each_record_once_after_kills(
    form: str,
    more: str,
    broker: BrokerProcess,
    lasting_topic: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    """Killed between state and commit, behind the commit, and in the middle of the table's own commit."""
    topic = lasting_topic
    description = described(broker, topic, tmp_path, form, more)
    for records, step in zip(BATCHES[:2], (Step.SEALED, Step.PUBLISHED), strict=True):
        send(broker, topic, records)
        with pytest.raises(Killed):
            run(description, spark, step)
        assert len(run(description, spark)) == (1 if step is Step.SEALED else 0)
    send(broker, topic, BATCHES[2])
    kill_in_commit(description)
    run(description, spark)
    assert run(description, spark) == []
    assert rows_of(description, spark) == WINDOWS
    last = table_of(description).last()
    assert last is not None
    assert (last.batch, last.records_total, last.late_total, last.keeps_origin) == (3, 13, 2, False)
    assert verify_table(description, spark).faults == []
    shutil.rmtree(description.table / "_odradek" / "batch=3" / "_state")
    with pytest.raises(TableRefused, match="batch=3/_state is missing or damaged"):
        run(description, spark)
