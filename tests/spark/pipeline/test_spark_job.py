"""Pipelines by a whole Spark: what it writes, and drivers that are killed with `kill -9`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from odradek.base.clock import SystemClock
from odradek.base.errors import OdradekError, SettingError
from odradek.spark.pipeline.assembly import check, replay_table, status_of, verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Engine
from odradek.spark.pipeline.ledger import Table
from odradek.spark.pipeline.topics import ClusterTopics
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import Heard

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

JSON_FORMAT = '[decode]\nformat = "json"\n'


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-pipeline")
    yield session
    session.stop()


def send(broker: Broker, topic: str, values: list[bytes], partition: int = 0) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def described(broker: Broker, topic: str, directory: Path, more: str, sink: str = "") -> Description:
    file = directory / "flights.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{topic}"]\n'
        f'group = "{topic}"\n{more}\n[sink]\npath = "table"\n{sink}'
    )
    return read_description(file)


def run(description: Description, spark: Any) -> Heard:
    from odradek.spark.pipeline.spark_job import SparkJob

    heard = Heard()
    with Table(description.table, description.name) as table:
        table.open_for_writing()
        job = SparkJob(description, spark)
        Engine(description, table, ClusterTopics(description), job, SystemClock(), heard).run_once()
    return heard


def test_topics_become_tables_and_nothing_is_lost(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=2)
    send(broker, topic, [b'{"origin": "EWR", "minutes": 227}', b"broken"])
    send(broker, topic, [b'{"origin": "JFK", "minutes": 160}'], partition=1)
    description = described(broker, topic, tmp_path, JSON_FORMAT, 'partition_by = ["origin"]')
    assert check(description)[1:] == ({"origin": "string", "minutes": "long"}, True)
    commit = run(description, spark).commits[0]
    assert (commit.records, commit.rows, commit.dead_letters) == (3, 2, 1)
    send(
        broker,
        topic,
        [b'{"origin": "EWR", "minutes": 1, "gate": "B4"}', b'{"origin": "EWR", "minutes": "x"}'],
    )
    heard = run(description, spark)
    assert heard.warnings == ["new fields are added: gate (string)"]
    table = spark.read.option("mergeSchema", True).parquet(str(description.table))
    rows = (
        table.select("batch", "origin", "minutes", "gate", "_partition", "_offset")
        .orderBy("minutes")
        .collect()
    )
    assert [tuple(row) for row in rows] == [
        (2, "EWR", 1, "B4", 0, 2),
        (1, "JFK", 160, None, 1, 0),
        (1, "EWR", 227, None, 0, 0),
    ]
    letters = spark.read.parquet(f"{description.table}/batch=*/_dead_letters").orderBy("_offset").collect()
    assert [(row._partition, row._offset, bytes(row._value)) for row in letters] == [
        (0, 1, b"broken"),
        (0, 3, b'{"origin": "EWR", "minutes": "x"}'),
    ]
    assert letters[1]._error == 'field minutes is to be a long, and has "x"'
    found = verify_table(description)
    assert (found.faults, found.compared, found.rows, found.dead_letters) == ([], 5, 3, 2)
    assert sum(status_of(description).lag.values()) == 0


def test_transforms_in_sql_and_python_and_their_errors(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, [b'{"minutes": %d}' % number for number in range(10)])
    (tmp_path / "clean.py").write_text(
        "from pyspark.sql import functions as f\n"
        "def halved(minutes):\n    return minutes // 2\n"
        "def clean(frame):\n    return frame.withColumn('half', f.udf(halved, 'long')('minutes'))\n"
    )
    stages = '[[transform]]\nsql = "select minutes from records where minutes > 6"\n'
    description = described(
        broker,
        topic,
        tmp_path,
        f'{JSON_FORMAT}[[transform]]\npython = "clean.py:clean"\n{stages}'.replace(
            "select minutes", "select minutes, half"
        ),
    )
    commit = run(description, spark).commits[0]
    assert (commit.records, commit.rows, commit.keeps_origin) == (10, 3, False)
    rows = ds.dataset(description.table).to_table().to_pylist()
    assert sorted((row["minutes"], row["half"]) for row in rows) == [(7, 3), (8, 4), (9, 4)]
    assert verify_table(description).faults == []
    send(broker, topic, [b'{"minutes": 11}'])
    wrong = described(
        broker, topic, tmp_path, f"{JSON_FORMAT}{stages}".replace("minutes from", "nothing from")
    )
    with pytest.raises(OdradekError, match=r"Spark cannot write the batch: .*nothing") as refused:
        run(wrong, spark)
    assert "\n" not in str(refused.value)


def test_raw_values_are_kept_as_they_are(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, [b"\xff\x00", b""])
    description = described(broker, topic, tmp_path, '[decode]\nformat = "raw"')
    assert run(description, spark).commits[0].rows == 2
    rows = ds.dataset(description.table).to_table().to_pylist()
    assert sorted((row["_offset"], row["value"]) for row in rows) == [(0, b"\xff\x00"), (1, b"")]


def test_a_first_batch_without_records_has_the_columns_of_partitions(
    broker: Broker, spark: Any, tmp_path: Path
) -> None:
    """As of start = "latest": the table of a lake format is made with its partitions, or never has any."""
    from odradek.spark.pipeline.spark_job import SparkJob

    sql = '[[transform]]\nsql = "select *, n % 2 as odd from records"\n'
    sink = 'format = "delta"\npartition_by = ["odd"]'
    description = described(broker, "flights", tmp_path, JSON_FORMAT + sql, sink)
    with Table(description.table, description.name) as table:
        table.open_for_writing()
        job, staging = SparkJob(description, spark, table), table.stage()
        assert job.write([], {"n": "long"}, staging).rows == 0
        columns = pq.read_schema(next(staging.glob("*.parquet"))).names
        assert columns == ["_topic", "_partition", "_offset", "_timestamp", "_key", "n", "odd"]
        no_n = description.file.with_name("b.toml")
        no_n.write_text(description.file.read_text().replace(sql, "").replace("odd", "n"))
        with pytest.raises(
            SettingError, match=r"partition_by names n, .* name it with its type in decode\.f"
        ):
            SparkJob(read_description(no_n), spark, table).write([], {}, table.stage())


DRIVER = """
import os, signal, sys
from pathlib import Path
from odradek.spark.pipeline.assembly import opened
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.formats import session_for
from tests.spark.pipeline.fake_topics import Heard

first, second = (read_description(Path(one)) for one in sys.argv[1:])
spark = session_for([first, second])

def is_sealed(step):
    if step is Step.SEALED:
        with opened(second, Heard(), is_published, spark) as engine:
            engine.run_once()

def is_published(step):
    if step is Step.PUBLISHED:
        os.kill(os.getpid(), signal.SIGKILL)

with opened(first, Heard(), is_sealed, spark) as engine:
    engine.run_once()
"""


def test_a_driver_that_is_killed_costs_nothing(broker: Broker, spark: Any, tmp_path: Path) -> None:
    """Of two pipelines, one just before its commit point and one just behind; then both run here."""
    topic = broker.create_topic(partitions=2)
    for partition in range(2):
        send(broker, topic, [b'{"n": %d}' % number for number in range(500)], partition)
    places = [tmp_path / "sealed", tmp_path / "published"]
    for one in places:
        one.mkdir()
    pipelines = [described(broker, topic, one, JSON_FORMAT, "[batch]\nrecords_max = 400") for one in places]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *(str(one.file) for one in pipelines)],
        cwd=Path(__file__).parents[3],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    tables = [Table(one.table, one.name) for one in pipelines]
    assert [one.batches() for one in tables] == [[], [1]]
    assert [len(one.staged()) for one in tables] == [1, 0]
    for pipeline in pipelines:
        run(pipeline, spark)
        found = verify_table(pipeline)
        assert (found.faults, found.compared, found.rows) == ([], 1000, 1000)


def test_dead_letters_come_back_after_a_fix(broker: Broker, spark: Any, tmp_path: Path) -> None:
    """As new rows with their old origin, through the transforms, also where a new column comes with them."""
    tmp_path = tmp_path / "a \u00fc%20 b"  # names that a URI would encode
    tmp_path.mkdir()
    topic = broker.create_topic(partitions=1)
    send(broker, topic, [b'{"minutes": 1, "gate": "B4"}', b"broken", b'{"minutes": 2}'])
    fields = f'{JSON_FORMAT}new_fields = "dead-letter"\nfields = {{ minutes = "long" }}\n'
    commit = run(described(broker, topic, tmp_path, fields), spark).commits[0]
    assert (commit.rows, commit.dead_letters) == (1, 2)
    sql = "[[transform]]\nsql = \"select *, gate || '!' as loud from records\"\n"
    mended = described(broker, topic, tmp_path, fields.replace('new_fields = "dead-letter"', "") + sql)
    heard = Heard()
    done = replay_table(mended, heard, spark)
    assert heard.warnings == ["new fields are added: gate (string)"]
    assert (done.letters, done.remaining, done.commit and done.commit.rows) == (2, 1, 1)
    rows = spark.read.option("mergeSchema", True).parquet(str(mended.table)).orderBy("_offset").collect()
    assert [(row._offset, row.batch, row.minutes, row.loud) for row in rows] == [
        (0, 2, 1, "B4!"),
        (2, 1, 2, None),
    ]
    assert verify_table(mended).faults == []
    found = verify_table(described(broker, topic, tmp_path, fields))
    assert (found.faults, found.rows, found.dead_letters) == ([], 2, 1)
    again = replay_table(mended, heard, spark)
    assert (again.letters, again.commit) == (1, None)
    assert again.first_error.startswith(f"{topic}-0 at offset 1: the value is not JSON")
