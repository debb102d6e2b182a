"""Compaction of Delta and Iceberg tables by the formats' own jars: pipelines go on exactly."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.lakes import FORMATS, described, heard_of_run, lake_spark, run, send
from odradek.spark.pipeline.assembly import compact_table, status_of, verify_table
from odradek.spark.pipeline.compaction import Compacted, Rewritten
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.formats import LAKES
from odradek.spark.pipeline.lake import LakeTable

pytestmark = [
    pytest.mark.one_broker("a pipeline reads a cluster as it reads one broker"),
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both formats."""
    yield from lake_spark()


@pytest.mark.parametrize("form", FORMATS)
def test_a_pipeline_goes_on_exactly_after_compaction_and_expiry(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    description = described(broker, topic, tmp_path, form, "[compact]\nkeep_hours = 0\n")
    for number in range(3):
        send(broker, topic, [b'{"n": %d}' % number, b"broken"])
        run(description, spark)
    assert compact_table(description, spark) == Compacted(Rewritten(3, 1), files_removed=3)
    last = status_of(description).last
    assert last is not None
    assert (last.batch, last.following) == (3, {topic: {"0": 6}})
    assert run(description, spark) == []
    send(broker, topic, [b'{"n": 3}'])
    assert [one.batch for one in run(description, spark)] == [4]
    compact_table(description, spark)
    commit_as_someone_else(form, description, spark)
    assert compact_table(description, spark).rewritten == Rewritten()
    assert run(description, spark) == []
    found = verify_table(description, spark)
    assert (found.faults, found.compared, found.rows, found.dead_letters) == ([], 7, 4, 3)
    table = spark.read.format(form).load(str(description.table))
    assert sorted(row.n for row in table.collect()) == [0, 1, 2, 3]


def commit_as_someone_else(form: str, description: Description, spark: SparkSession) -> None:
    """Make the newest commit of the table one without marker, that leaves nothing to rewrite."""
    table = description.table
    if form == "delta":
        spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('team' = 'others')")
    else:
        empty = spark.read.format(form).load(str(table)).limit(0)
        empty.write.format(form).mode("append").save(str(table))
    read = LakeTable(table, description.name, LAKES[form].read_state)
    marker = read.newest_marker()
    assert marker is not None
    assert not read.ends_with(marker)


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_compacts_after_some_commits(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    send(broker, topic, [b'{"n": %d}' % number for number in range(3)])
    more = "[batch]\nrecords_max = 1\n[compact]\nafter_commits = 3\n"
    description = described(broker, topic, tmp_path, form, more)
    heard = heard_of_run(description, spark)
    assert [one.batch for one in heard.commits] == [1, 2, 3]
    assert heard.compactions == [Compacted(Rewritten(3, 1), files_removed=0)]
    assert verify_table(description, spark).faults == []
