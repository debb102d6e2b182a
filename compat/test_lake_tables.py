"""Pipelines into Delta and Iceberg tables, from each broker, by a whole Spark and the formats' own jars."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.lakes import FORMATS, PARTITIONS, described, kill_in_commit, lake_spark, run, send
from odradek.base.errors import OdradekError
from odradek.spark.pipeline.assembly import status_of, verify_table
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.lake import LEDGER

pytestmark = [
    pytest.mark.one_broker("a pipeline reads a cluster as it reads one broker"),
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both formats."""
    yield from lake_spark()


@pytest.mark.parametrize("form", FORMATS)
def test_rows_offsets_dead_letters_and_new_columns(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    description = described(broker, topic, tmp_path, form, 'partition_by = ["origin"]\n')
    send(broker, topic, [b'{"origin": "EWR", "minutes": 227}', b"broken"])
    assert [(one.rows, one.dead_letters) for one in run(description, spark)] == [(1, 1)]
    send(broker, topic, [b'{"origin": "JFK", "minutes": 160, "gate": "B4"}'])
    assert [one.batch for one in run(description, spark)] == [2]
    table = spark.read.format(form).load(str(description.table))
    rows = table.select("origin", "minutes", "gate", PARTITIONS[form], "_offset").orderBy("_offset").collect()
    assert [tuple(row) for row in rows] == [("EWR", 227, None, 0, 0), ("JFK", 160, "B4", 0, 2)]
    letters = spark.read.parquet(f"{description.table}/{LEDGER}/batch=*/_dead_letters").collect()
    assert [bytes(row["_value"]) for row in letters] == [b"broken"]
    assert sum(status_of(description).lag.values()) == 0
    found = verify_table(description, spark)
    assert (found.faults, found.compared, found.rows, found.dead_letters) == ([], 3, 2, 1)
    table.limit(1).write.format(form).mode("append").save(str(description.table))
    (fault,) = verify_table(description, spark).faults
    assert f"has records of {topic}-0 more than once: offset" in fault


@pytest.mark.parametrize("form", FORMATS)
def test_batches_without_rows_move_the_offsets(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    send(broker, topic, [b'{"n": 1}'])
    description = described(broker, topic, tmp_path, form)
    text = description.file.read_text().replace("topics =", 'start = "latest"\ntopics =')
    description.file.write_text(text)
    description = read_description(description.file)
    assert [one.records for one in run(description, spark)] == [0]
    send(broker, topic, [b'{"n": 2}'])
    assert [one.rows for one in run(description, spark)] == [1]
    send(broker, topic, [b"broken"])
    assert [one.dead_letters for one in run(description, spark)] == [1]
    assert [row.n for row in spark.read.format(form).load(str(description.table)).collect()] == [2]


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_of_another_type_is_refused_in_one_sentence(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    send(broker, topic, [b'{"n": 1}'])
    run(described(broker, topic, tmp_path, form), spark)
    send(broker, topic, [b'{"n": 2}'])
    sql = "[[transform]]\nsql = \"select map('a', n) as n, _topic, _partition, _offset from records\"\n"
    changed = described(broker, topic, tmp_path, form, sql)
    with pytest.raises(OdradekError, match="the table refuses the batch: ") as refused:
        run(changed, spark)
    assert "\n" not in str(refused.value)
    assert [one.rows for one in run(described(broker, topic, tmp_path, form), spark)] == [1]


@pytest.mark.parametrize("form", FORMATS)
def test_drivers_that_are_killed_cost_nothing(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """One is killed in the middle of the table's commit, which its Java process may go on with."""
    topic = new_topic()
    send(broker, topic, [b'{"n": %d}' % number for number in range(500)])
    description = described(broker, topic, tmp_path, form)
    kill_in_commit(description)
    run(description, spark)
    found = verify_table(description, spark)
    assert (found.faults, found.compared, found.rows) == ([], 500, 500)


def test_a_name_that_iceberg_keeps_for_itself_is_refused(
    broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """Iceberg would write the table, and could not read it afterwards."""
    topic = new_topic()
    send(broker, topic, [b'{"n": 1}'])
    sql = '[[transform]]\nsql = "select n as _pos from records"\n'
    with pytest.raises(OdradekError, match="have a column _pos, a name that Iceberg keeps for itself"):
        run(described(broker, topic, tmp_path, "iceberg", sql), spark)
    assert status_of(described(broker, topic, tmp_path, "iceberg")).last is None
