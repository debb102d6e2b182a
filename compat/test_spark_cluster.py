"""Pipelines on a cluster of Spark's: a master and two workers, which know nothing of Odradek."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from campaigns.pipelines.moments import is_in_query
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
LETTERS = 20
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
FIRSTS = f"""
[[transform]]
sql = "select *, n % {RECORDS // 2} as id from records"
[[transform]]
deduplicate = "id"
watermark_s = 3600
"""
"""One row of two with the same id: that of the first batch, or the earlier one."""


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


def described(
    source: Broker, directory: Path, name: str, decode: str, sink: str = "", **given: str
) -> Description:
    """A pipeline of the records into `<name>_table`, in two batches; `given` are settings of Spark's."""
    settings = "".join(
        f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in (driver_settings() | given).items()
    )
    file = directory / f"{name}.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{source.bootstrap_servers}"\ntopics = ["flights"]\n'
        f"[decode]\n{decode}\n[batch]\nrecords_max = {RECORDS // 2}\n[spark.settings]\n{settings}"
        f'[sink]\npath = "{name}_table"\n{sink}'
    )
    return read_description(file)


@pytest.fixture
def descriptions(source: Broker, tmp_path: Path) -> list[Description]:
    """A pipeline of each main kind, all of one topic."""
    (tmp_path / "halves.py").write_text(TRANSFORM)
    module = tmp_path / "elsewhere" / "halves_of.py"
    module.parent.mkdir()
    module.write_text(MODULE)
    files = {"spark.submit.pyFiles": str(module)}
    return [described(source, tmp_path, name, *SINKS[name], **files) for name in SINKS]


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


@pytest.mark.long
def test_an_executor_that_is_killed_within_a_stage_costs_no_record(
    cluster: SparkCluster, source: Broker, tmp_path: Path
) -> None:
    """Kill -9 when the stage of the second batch has begun on what the first has left."""
    log = tmp_path / "run.log"
    firsts = described(source, tmp_path, "firsts", 'format = "json"\nfields = { n = "long" }', FIRSTS)
    run = started("run", [firsts], log, "--once", "--master", cluster.url)

    def is_in_second_stage() -> bool:
        assert run.poll() is None, log.read_text()
        return (firsts.table / "batch=1").is_dir() and is_in_query(firsts.table)

    wait_until(is_in_second_stage, "no stage begins", timeout_s=RUN_TIMEOUT_S)
    for number in (1, 2):
        cluster.kill_executors(number)
    assert run.wait(RUN_TIMEOUT_S) == 0, log.read_text()
    assert verify_table(firsts).faults == []
    found = ds.dataset(firsts.table).to_table(["n"])["n"].to_pylist()
    assert sorted(found) == list(range(RECORDS // 2))


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


@pytest.mark.long
def test_dead_letters_come_back_and_files_are_compacted_on_a_cluster(
    cluster: SparkCluster, source: Broker, tmp_path: Path
) -> None:
    """The last records have a field that is not known at first; each batch leaves small files."""
    log = tmp_path / "commands.log"
    strict = 'format = "json"\nnew_fields = "dead-letter"\nfields = {{ {} }}'
    sink = 'format = "delta"\n[compact]\nkeep_hours = 0\n'
    producer = Producer({"bootstrap.servers": source.bootstrap_servers})
    for number in range(LETTERS):
        producer.produce("flights", b'{"n": %d, "gate": "B4"}' % (RECORDS + number), partition=0)
    assert producer.flush(WAIT_S_MAX) == 0

    def done(verb: str, fields: str, *more: str) -> Description:
        description = described(source, tmp_path, "gates", strict.format(fields), sink)
        command = started(verb, [description], log, *more, "--master", cluster.url)
        assert command.wait(RUN_TIMEOUT_S) == 0, log.read_text()
        return description

    done("run", 'n = "long"', "--once")
    mended = 'n = "long", gate = "string"'
    done("replay", mended)
    assert f"{LETTERS} dead letters taken back, {LETTERS} rows." in log.read_text()
    table = done("compact", mended).table
    assert "small files became 1" in log.read_text()
    (left,) = table.glob("*.parquet")
    rows = ds.dataset(str(left)).to_table(["n", "gate"]).to_pylist()
    wanted = [{"n": n, "gate": None if n < RECORDS else "B4"} for n in range(RECORDS + LETTERS)]
    assert sorted(rows, key=lambda row: row["n"]) == wanted
    done("verify", mended)
    assert (
        f"{RECORDS + LETTERS} records of the topics compared: each is in the table once." in log.read_text()
    )
