"""What tests of pipelines into Delta and Iceberg tables share: the session, the description, a run."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Producer
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.spark_sessions import Jars, session_with
from odradek.spark.pipeline.assembly import opened
from odradek.spark.pipeline.compaction import Compacted
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.iceberg import PARTITION
from odradek.spark.pipeline.ledger import Commit

FORMATS = ("delta", "iceberg")
PARTITIONS = {"delta": "_partition", "iceberg": PARTITION}
_ROOT = Path(__file__).parent.parent


class Heard:
    """What a run tells."""

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self.compactions: list[Compacted] = []

    def committed(self, commit: Commit, records_behind: int) -> None:
        """Keep the commit."""
        self.commits.append(commit)

    def warned(self, sentence: str) -> None:
        """Not looked at here."""


def lake_spark() -> Iterator[SparkSession]:
    """One session with both formats, for a fixture; skips tests where the jars cannot be had."""
    yield from session_with(Jars.LAKES)


def described(
    broker: BrokerProcess, topic: str, directory: Path, form: str, more: str = "", decode: str = ""
) -> Description:
    """A pipeline of that topic into `directory / "table"`; `more` stands in [sink], `decode` in [decode]."""
    file = directory / "flights.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{broker.bootstrap}"\ntopics = ["{topic}"]\n'
        f'[decode]\nformat = "json"\n{decode}[sink]\npath = "table"\nformat = "{form}"\n{more}'
    )
    return read_description(file)


def send(broker: BrokerProcess, topic: str, values: list[bytes]) -> None:
    """Write to the topic's first partition."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def run(description: Description, spark: SparkSession) -> list[Commit]:
    """Bring the table up to date; returns the new commits."""
    return heard_of_run(description, spark).commits


def heard_of_run(description: Description, spark: SparkSession) -> Heard:
    """Bring the table up to date; returns what the run told."""
    heard = Heard()
    with opened(description, heard, spark=spark, compacted=heard.compactions.append) as engine:
        engine.run_once()
    return heard


def kill_in_commit(description: Description) -> None:
    """A run in a process of its own that is killed in the middle of the table's commit."""
    done = subprocess.run(
        [sys.executable, "-m", "campaigns.pipelines.driver", description.file, "SEALED", "400"],
        cwd=_ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
