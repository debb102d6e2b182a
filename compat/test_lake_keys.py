"""Pipelines that keep one row for each key, in Delta and Iceberg tables, by the formats' own jars."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.lakes import FORMATS, PARTITIONS, described, kill_in_commit, lake_spark, run
from odradek.spark.pipeline.assembly import verify_table
from odradek.spark.pipeline.description import Description, read_description

pytestmark = [
    pytest.mark.one_broker("a pipeline reads a cluster as it reads one broker"),
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]

KEYED = 'key = "n"\ntombstones = "delete"\n'


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both formats."""
    yield from lake_spark()


def keyed(broker: BrokerProcess, topic: str, directory: Path, form: str, more: str = "") -> Description:
    return described(broker, topic, directory, form, KEYED + more, 'key_format = "text"\n')


def send(
    broker: BrokerProcess, topic: str, records: Sequence[tuple[str | None, str | None]], partition: int = 0
) -> None:
    """Send records of (key, value)."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for key, value in records:
        producer.produce(topic, value, key, partition)
    assert producer.flush(60) == 0


def flight(n: int, **more: object) -> tuple[str, str]:
    fields = ", ".join(f'"{name}": {value}' for name, value in more.items())
    return str(n), f'{{"n": {n}, {fields}}}'


def rows(description: Description, spark: SparkSession, *names: str) -> list[tuple[Any, ...]]:
    table = spark.read.format(description.sink_format).load(str(description.table))
    return sorted(tuple(row) for row in table.select(*names).collect())


@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_replaced_added_and_deleted_by_one_commit_of_each_batch(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """The first batch makes the table, the second has a new column, too, the third changes nothing."""
    topic = new_topic()
    description = keyed(broker, topic, tmp_path, form, 'partition_by = ["late"]\n')
    first = [flight(1, late=0), flight(2, late=0), flight(1, late=5), flight(3, late=0), ("4", None)]
    send(broker, topic, [*first, (None, '{"late": 1}'), (None, None)])
    (one,) = run(description, spark)
    assert (one.records, one.rows, one.deletes, one.superseded, one.dead_letters) == (7, 3, 1, 1, 2)
    assert rows(description, spark, "n", "late", "_offset") == [(1, 5, 2), (2, 0, 1), (3, 0, 3)]
    second = [("2", None), flight(3, late=7, gate='"B4"'), flight(4, late=9), ("5", None), ("x", None)]
    send(broker, topic, second)
    (two,) = run(description, spark)
    assert (two.records, two.rows, two.deletes, two.superseded, two.dead_letters) == (5, 2, 2, 0, 1)
    assert rows(description, spark, "n", "late", "gate") == [(1, 5, None), (3, 7, "B4"), (4, 9, None)]
    send(broker, topic, [("99", None)])
    assert [three.batch for three in run(description, spark)] == [3]
    found = verify_table(description, spark)
    assert (found.faults, found.keys, found.compared) == ([], 3, 13)
    table = spark.read.format(form).load(str(description.table))
    table.where("n = 4").write.format(form).mode("append").save(str(description.table))
    (fault,) = [one for one in verify_table(description, spark).faults if "several" in one]
    assert fault == "the table has several rows of 1 keys, the first n 4"


@pytest.mark.parametrize("form", FORMATS)
def test_the_record_of_a_later_time_wins_between_partitions(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """Also where the earlier one is read by a later batch; the table was begun without rows."""
    topic = new_topic(partitions=2)
    description = keyed(broker, topic, tmp_path, form)
    description.file.write_text(
        description.file.read_text().replace("topics =", 'start = "latest"\ntopics =')
    )
    description = read_description(description.file)
    assert [one.records for one in run(description, spark)] == [0]
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    now_ms = time.time_ns() // 1_000_000  # retention would soon delete records of long ago

    def put(partition: int, timestamp: int, n: int, late: int) -> None:
        value = f'{{"n": {n}, "late": {late}}}'
        producer.produce(topic, value, str(n), partition, timestamp=now_ms + timestamp)

    put(0, 2000, 1, 10)
    put(1, 1000, 1, 20)
    put(1, 3000, 2, 30)
    assert producer.flush(60) == 0
    run(description, spark)
    assert rows(description, spark, "n", "late") == [(1, 10), (2, 30)]
    put(0, 2500, 2, 40)  # older than the row
    put(1, 1500, 1, 50)
    put(1, 2900, 2, 60)  # older by its time, and later in the partition of the row
    assert producer.flush(60) == 0
    run(description, spark)
    partition = PARTITIONS[form]
    assert rows(description, spark, "n", "late", partition) == [(1, 10, 0), (2, 60, 1)]
    found = verify_table(description, spark)
    assert (found.faults, found.keys) == ([], 2)


@pytest.mark.parametrize("form", FORMATS)
def test_drivers_that_are_killed_cost_nothing(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """One is killed in the middle of the MERGE, which its Java process may go on with."""
    topic = new_topic()
    description = keyed(broker, topic, tmp_path, form)
    send(broker, topic, [flight(n, late=0) for n in range(300)])
    run(description, spark)
    send(broker, topic, [flight(n, late=1) if n % 3 else (str(n), None) for n in range(100, 500)])
    kill_in_commit(description)
    run(description, spark)
    found = verify_table(description, spark)
    kept = 100 + sum(1 for n in range(100, 500) if n % 3)
    assert (found.faults, found.compared, found.keys) == ([], 700, kept)
