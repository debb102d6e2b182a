"""Declared stages by a whole Spark: what they give over several batches, what is late, kills, lost state."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from odradek.base.errors import OdradekError, SettingError
from odradek.spark.pipeline.assembly import opened, verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.spark.pipeline.transforms import Deduplication, TableJoin, Windows
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import Heard, rows_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

START = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-stages")
    yield session
    session.stop()


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Run:
    """Batches of rows through one stage, each with the state that the one before left."""

    def __init__(self, stage: Windows | Deduplication, directory: Path, spark: Any) -> None:
        self._stage = stage
        self._directory = directory
        self._spark = spark
        self.batches = 0

    def batch(self, rows: Sequence[tuple[Any, ...]], schema: str) -> tuple[list[tuple[Any, ...]], int]:
        """The rows that the stage gives, in order, and how many came too late."""
        from odradek.spark.pipeline.stage_state import checkpoint_of
        from odradek.spark.pipeline.stages import StatefulStages

        self.batches += 1
        directory = self._directory / f"batch={self.batches}"
        directory.mkdir()
        before = checkpoint_of(self._directory / f"batch={self.batches - 1}", 1)
        if before.is_dir():
            shutil.copytree(before, checkpoint_of(directory, 1))
        stages = StatefulStages(directory, self.batches)
        done = stages.run(self._stage, self._spark.createDataFrame(list(rows), schema))
        found = sorted(tuple(row) for row in done.rows.collect())
        stages.close()
        assert {one.name for one in directory.iterdir()} <= {"_state", "_late"}
        return found, done.late

    def late(self) -> list[dict[str, Any]]:
        """The late rows of the last batch."""
        files = sorted((self._directory / f"batch={self.batches}" / "_late").rglob("*.parquet"))
        return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def wall(seconds: float) -> datetime:
    """A moment as Spark gives it to Python, in the machine's zone and without it."""
    return datetime.fromtimestamp(at(seconds).timestamp())


def test_a_window_is_given_once_when_the_watermark_has_passed_it(spark: Any, tmp_path: Path) -> None:
    stage = Windows(60, 60, "at", 30, ("origin",), ("count(*) as n", "sum(minutes) as minutes"))
    run = Run(stage, tmp_path, spark)
    schema = "at timestamp, origin string, minutes bigint"
    rows = [(at(0), "EWR", 1), (at(59.5), "EWR", 2), (at(61), "JFK", 4)]
    assert run.batch(rows, schema) == ([], 0)
    # The watermark is 0:31. A row of 0:40 is in time; that of 1:31 closes the first window.
    rows = [(at(40), "EWR", 8), (at(91), "EWR", 16)]
    assert run.batch(rows, schema) == ([(wall(0), wall(60), "EWR", 3, 11)], 0)
    assert run.batch([(at(59), "EWR", 32), (at(60), "JFK", 64)], schema) == ([], 1)
    assert [(row["minutes"], row["_window_end"].replace(tzinfo=UTC)) for row in run.late()] == [(32, at(60))]
    assert run.batch([(at(500), "LGA", 0)], schema) == (
        [(wall(60), wall(120), "EWR", 1, 16), (wall(60), wall(120), "JFK", 2, 68)],
        0,
    )


def test_a_row_may_be_late_for_some_of_its_windows(spark: Any, tmp_path: Path) -> None:
    run = Run(Windows(60, 30, "at", 0, (), ("count(*) as n",)), tmp_path, spark)
    schema = "at timestamp, tags array<string>"
    given, late = run.batch([(at(40), ["a"]), (at(65), None)], schema)
    assert (given, late) == ([(wall(0), wall(60), 1)], 0)
    # 0:40 is in the windows 0:00 to 1:00, which is closed, and 0:30 to 1:30; 0:20 in none that is open.
    given, late = run.batch([(at(40), ["b"]), (at(20), ["c"]), (at(95), [])], schema)
    assert (given, late) == ([(wall(30), wall(90), 3)], 3)
    found = {(tuple(row["tags"]), row["_window_end"].replace(tzinfo=UTC)) for row in run.late()}
    assert found == {(("b",), at(60)), (("c",), at(30)), (("c",), at(60))}


def test_of_duplicates_the_first_stays_as_long_as_it_is_known(spark: Any, tmp_path: Path) -> None:
    run = Run(Deduplication(("id",), "at", 60), tmp_path, spark)
    schema = "at timestamp, id string, minutes bigint"
    given, late = run.batch([(at(5), "a", 2), (at(1), "a", 1), (at(9), None, 3)], schema)
    assert ({row[2] for row in given}, late) == ({1, 3}, 0)
    given, late = run.batch([(at(7), "a", 4), (at(90), "b", 5)], schema)
    assert ([row[2] for row in given], late) == ([5], 0)
    # The watermark is 0:30. The key of `a`, seen at 0:01, is forgotten when it has passed 1:01.
    assert run.batch([(at(30), "c", 6), (at(150), "b", 7)], schema) == ([], 1)
    assert [row["minutes"] for row in run.late()] == [6]
    given, late = run.batch([(at(91), "a", 8)], schema)
    assert ([row[2] for row in given], late) == ([8], 0)


def test_what_a_stage_cannot_work_with_is_a_sentence(spark: Any, tmp_path: Path) -> None:
    from odradek.spark.pipeline.stages import joined

    run = Run(Deduplication(("id",), "at", 60), tmp_path, spark)
    for schema, row, sentence in (
        ("at timestamp, n bigint", (at(0), 1), "a stage needs the column id, and the rows have at, n"),
        ("at string, id string", ("x", "a"), "at is the time of a stage, and is a string, not a timestamp"),
        ("at timestamp, id string", (None, "a"), "1 rows have no value in at, the time of a stage: drop"),
    ):
        with pytest.raises(OdradekError) as refused:
            run.batch([row], schema)
        assert sentence in str(refused.value)
    table = tmp_path / "airports"
    spark.createDataFrame([("EWR", "Newark")], "origin string, city string").write.parquet(str(table))
    rows = spark.createDataFrame([("EWR", 1), ("JFK", 2)], "origin string, n bigint")
    stage = TableJoin(table, "parquet", ("origin",), "left")
    assert sorted(tuple(row) for row in joined(stage, rows).collect()) == [
        ("EWR", 1, "Newark"),
        ("JFK", 2, None),
    ]
    assert [tuple(row) for row in joined(replace(stage, how="inner"), rows).collect()] == [
        ("EWR", 1, "Newark")
    ]
    with pytest.raises(SettingError, match="a transform joins on gate, and the rows have origin, n"):
        joined(replace(stage, on=("gate",)), rows)
    with pytest.raises(SettingError, match="both have the column city, which is not in on"):
        joined(stage, rows.selectExpr("*", "'x' as city"))


class Killed(BaseException):
    """The process ended here."""


def send(broker: Broker, topic: str, seconds: Sequence[int]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for one in seconds:
        moment = int(at(one).timestamp() * 1000)
        producer.produce(topic, b'{"n": %d}' % one, partition=0, timestamp=moment)
    assert producer.flush(30) == 0


def described(broker: Broker, topic: str, directory: Path, more: str = "") -> Description:
    directory.mkdir(exist_ok=True)
    file = directory / "delays.toml"
    file.write_text(
        f"""
[source]
bootstrap_servers = "{broker.bootstrap_servers}"
topics = ["{topic}"]
[decode]
format = "json"
fields = {{ n = "long" }}
[[transform]]
window_s = 10
watermark_s = 0
aggregates = ["count(*) as n", "min(n) as first"]
[sink]
path = "table"
{more}
"""
    )
    return read_description(file)


def test_a_batch_that_is_written_again_after_a_kill_gives_the_same_table(spark: Any, tmp_path: Path) -> None:
    """Killed between state and commit, and behind the commit; then without the state."""
    with Broker(process=True) as broker:
        topic = broker.create_topic(partitions=1, configs={"retention.ms": -1})
        whole, killed = (described(broker, topic, tmp_path / name) for name in ("whole", "killed"))

        def run(description: Description, ends_at: Step | None = None) -> Heard:
            def reached(step: Step) -> None:
                if step is ends_at:
                    raise Killed(step)

            heard = Heard()
            with opened(description, heard, reached, spark=spark) as engine:
                engine.run_once()
            return heard

        for seconds, step in (((1, 2, 12), Step.SEALED), ((3, 14, 25), Step.PUBLISHED)):
            send(broker, topic, seconds)
            run(whole)
            with pytest.raises(Killed):
                run(killed, step)
            run(killed)
        last = Table(killed.table, killed.name).last()
        assert last is not None
        assert (last.batch, last.late, last.late_total, last.keeps_origin) == (2, 1, 1, False)
        rows = [(row["n"], row["first"]) for row in rows_of(killed)]
        assert rows == [(row["n"], row["first"]) for row in rows_of(whole)] == [(2, 1), (2, 12)]
        assert verify_table(killed).faults == []
        assert not (killed.table / "batch=1" / "_state").exists()
        shutil.rmtree(killed.table / "batch=2" / "_state")
        with pytest.raises(TableRefused, match="batch=2/_state is missing or damaged"):
            run(killed)
