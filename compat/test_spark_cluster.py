"""Pipelines on a cluster of Spark's: a master and two workers, which know nothing of Odradek."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from confluent_kafka import Producer
from peers.spark_cluster import SparkCluster, driver_settings
from peers.waiting import WAIT_S_MAX, wait_until

from compat.committed import committed_records
from odradek.spark.java_home import find_java_home
from odradek.spark.lake_jars import JarsMissing
from odradek.spark.pipeline.assembly import verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.formats import session_settings
from odradek.spark.session import cache_directory
from odradek.testing import Broker

pytestmark = pytest.mark.timeout(1200)  # the first batch of a session is slow on a busy machine

PARTITIONS = 2
RECORDS = 400
RUN_TIMEOUT_S = 900
MODULE = "def half(number):\n    return number // 2\n"
TRANSFORM = """\
from halves_of import half
from pyspark.sql import functions as f


def halved_of(number):
    return half(number)


def halved(rows):
    return rows.withColumn("half", f.udf(halved_of, "bigint")("n"))
"""
SINKS = {
    "raw": ('format = "raw"', ""),
    "clean": (
        'format = "json"\nfields = { n = "long" }',
        'format = "delta"\n[[transform]]\nsql = "select * from records where n % 10 != 0"\n'
        '[[transform]]\npython = "halves.py:halved"\n',
    ),
    "numbers": ('format = "json"\nfields = { n = "long" }', 'format = "topic"\ntopic = "numbers"\n'),
}
"""Of each pipeline: how it decodes, and what stands behind its path."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Two workers of one core each."""
    try:
        session_settings(("delta",))
    except JarsMissing as error:
        pytest.skip(str(error))
    with SparkCluster(tmp_path_factory.mktemp("spark"), find_java_home(cache_directory())) as running:
        yield running


@pytest.fixture
def source() -> Iterator[Broker]:
    """A broker with the records, compressed, and with the topic that is written."""
    with Broker(process=True) as running:
        running.create_topic("flights", partitions=PARTITIONS)
        running.create_topic("numbers")
        producer = Producer({"bootstrap.servers": running.bootstrap_servers, "compression.type": "zstd"})
        for number in range(RECORDS):
            producer.produce("flights", b'{"n": %d}' % number, partition=number % PARTITIONS)
        assert producer.flush(WAIT_S_MAX) == 0
        yield running


@pytest.fixture
def descriptions(source: Broker, tmp_path: Path) -> list[Description]:
    """A pipeline of each main kind, all of one topic."""
    (tmp_path / "halves.py").write_text(TRANSFORM)
    module = tmp_path / "elsewhere" / "halves_of.py"
    module.parent.mkdir()
    module.write_text(MODULE)
    given = driver_settings() | {"spark.submit.pyFiles": str(module)}
    settings = "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in given.items())
    found = []
    for name, (decode, more) in SINKS.items():
        file = tmp_path / f"{name}.toml"
        file.write_text(
            f'[source]\nbootstrap_servers = "{source.bootstrap_servers}"\ntopics = ["flights"]\n'
            f"[decode]\n{decode}\n[batch]\nrecords_max = {RECORDS // 2}\n[spark.settings]\n{settings}"
            f'[sink]\npath = "{name}_table"\n{more}'
        )
        found.append(read_description(file))
    return found


def started(verb: str, descriptions: list[Description], log: Path, *more: str) -> subprocess.Popen[bytes]:
    """A command of `odradek pipeline`, in a process of its own."""
    command = [sys.executable, "-m", "odradek", "pipeline", verb, *(one.file.name for one in descriptions)]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*command, *more],
            cwd=descriptions[0].file.parent,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def is_there_once(source: Broker, descriptions: list[Description]) -> None:
    """Each sink has each record once, by `verify` and by a look at its rows."""
    raw, clean, numbers = descriptions
    for one in (raw, numbers):
        found = verify_table(one)
        assert (found.faults, found.compared, found.rows) == ([], RECORDS, RECORDS)
    values = ds.dataset(raw.table).to_table(["value"])["value"].to_pylist()
    assert sorted(json.loads(value)["n"] for value in values) == list(range(RECORDS))
    sent = [value for _, value in committed_records(source.bootstrap_servers, "numbers")]
    assert sorted(json.loads(value)["n"] for value in sent if value) == list(range(RECORDS))
    # All files of a Delta table to which rows were only added are of its newest version.
    rows = ds.dataset([str(one) for one in clean.table.glob("*.parquet")]).to_table(["n", "half"]).to_pylist()
    wanted = [{"n": n, "half": n // 2} for n in range(RECORDS) if n % 10]
    assert sorted(rows, key=lambda row: row["n"]) == wanted


def test_pipelines_of_each_kind_on_a_cluster(
    cluster: SparkCluster, source: Broker, descriptions: list[Description], tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    run = started("run", descriptions, log, "--once", "--master", cluster.url)
    assert run.wait(RUN_TIMEOUT_S) == 0, log.read_text()
    is_there_once(source, descriptions)
    verified = started("verify", [descriptions[1]], log, "--master", cluster.url)
    assert verified.wait(RUN_TIMEOUT_S) == 0, log.read_text()


def test_a_worker_that_is_killed_costs_no_record(
    cluster: SparkCluster, source: Broker, descriptions: list[Description], tmp_path: Path
) -> None:
    """Kill -9 of a worker and its executor when the first of several batches is committed."""
    log = tmp_path / "run.log"
    run = started("run", descriptions, log, "--once", "--master", cluster.url)
    wait_until(lambda: "batch 1" in log.read_text(), "no batch is committed", timeout_s=RUN_TIMEOUT_S)
    cluster.kill_worker(1)
    if run.wait(RUN_TIMEOUT_S) != 0:
        (sentence,) = (line for line in log.read_text().splitlines() if line.startswith("odradek: "))
        again = started("run", descriptions, log, "--once", "--master", cluster.url)
        assert again.wait(RUN_TIMEOUT_S) == 0, (sentence, log.read_text())
    is_there_once(source, descriptions)
