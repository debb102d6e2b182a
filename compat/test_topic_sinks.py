"""Pipelines whose sink is a topic, and the topic of their dead letters: exactly once, also after kills."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from peers import BrokerProcess, OdradekCluster
from peers.process import HOST
from peers.waiting import WAIT_S_MAX
from pyspark.sql import SparkSession

from compat.clients import Record
from compat.clients.confluent import ConfluentClient
from compat.lakes import Heard, kill_in_commit
from compat.spark_sessions import session_with
from odradek import Admin
from odradek.client.core.admin.cluster_states import partition_states
from odradek.spark.pipeline.assembly import (
    check,
    diagnose,
    opened,
    replay_table,
    status_of,
    verify_table,
)
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Step

pytestmark = [
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]

PARTITIONS = 3
RECORDS = 300
BROKEN_EVERY = 10


class Killed(BaseException):
    """The process ended here."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session, which needs no jars."""
    yield from session_with()


class Pipeline:
    """A pipeline of numbers, of which some cannot be read, into a topic or a table of Parquet files."""

    def __init__(
        self, broker: BrokerProcess, new_topic: Callable[..., str], directory: Path, sink: str = "topic"
    ) -> None:
        # All brokers, because any of them may be killed.
        self.servers = ",".join(f"{HOST}:{port}" for port in broker.ports)
        self.source, self.letters = new_topic(partitions=PARTITIONS), new_topic()
        self.rows = new_topic(partitions=PARTITIONS)
        self.file = directory / f"{self.source}.toml"
        self._sink = f'format = "topic"\ntopic = "{self.rows}"\n' if sink == "topic" else ""
        self.description = self.described('n = "long"')

    def described(self, fields: str) -> Description:
        """Its description, with these fields."""
        self.file.write_text(
            f'[source]\nbootstrap_servers = "{self.servers}"\ntopics = ["{self.source}"]\n'
            f'[decode]\nformat = "json"\nnew_fields = "dead-letter"\nfields = {{ {fields} }}\n'
            f'[sink]\npath = "{self.source}"\n{self._sink}'
            f'[batch]\nrecords_max = {RECORDS // 3}\n[dead_letters]\ntopic = "{self.letters}"\n'
        )
        return read_description(self.file)

    def send(self, first: int = 0) -> None:
        """Send the numbers from `first` on; each tenth has a field that is not known."""
        records = []
        for number in range(first, first + RECORDS):
            value = {"n": number} | ({} if number % BROKEN_EVERY else {"gate": "B4"})
            records.append(
                Record(key=b"%d" % number, value=json.dumps(value).encode(), partition=number % PARTITIONS)
            )
        ConfluentClient(self.servers).write(self.source, records, codec="zstd")

    def run(self, spark: SparkSession, reached: Callable[[Step], None] = lambda step: None) -> Heard:
        """Bring the sink up to date."""
        heard = Heard()
        with opened(self.description, heard, reached, spark=spark) as engine:
            engine.run_once()
        return heard

    def numbers(self, topic: str) -> list[int]:
        """The numbers of the committed records of a topic, sorted."""
        found = []
        for message in committed(self.servers, topic):
            value = message.value()
            assert isinstance(value, bytes)
            found.append(int(json.loads(value)["n"]))
        return sorted(found)


def committed(servers: str, topic: str) -> list[Message]:
    """What a read-committed consumer finds in all partitions of a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer({**settings, "auto.offset.reset": "error", "enable.partition.eof": True})
    known = consumer.list_topics(topic, WAIT_S_MAX).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in known])
    found, ended = [], 0
    try:
        while ended < len(known):
            message = consumer.poll(WAIT_S_MAX)
            assert message is not None, f"the ends of {topic} were not reached in {WAIT_S_MAX} s"
            if message.error():
                ended += 1
            else:
                found.append(message)
        return found
    finally:
        consumer.close()


def good(first: int = 0) -> list[int]:
    """The numbers that can be read."""
    return [number for number in range(first, first + RECORDS) if number % BROKEN_EVERY]


def broken(first: int = 0) -> list[int]:
    """Those that cannot."""
    return [number for number in range(first, first + RECORDS) if number % BROKEN_EVERY == 0]


def test_rows_and_dead_letters_are_there_once_after_kills(
    broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(broker, new_topic, tmp_path)
    pipeline.send()
    _, fields, _ = check(pipeline.description)
    assert fields == {"n": "long"}
    for step in (Step.SEALED, Step.PUBLISHED):

        def reached(at: Step, step: Step = step) -> None:
            if at is step:
                raise Killed

        with pytest.raises(Killed):
            pipeline.run(spark, reached)
    # Of the first batch, of three, the first run committed nothing, and the second one all.
    rows, letters = pipeline.numbers(pipeline.rows), pipeline.numbers(pipeline.letters)
    assert 0 < len(rows) + len(letters) < RECORDS
    kill_in_commit(pipeline.description)
    pipeline.run(spark)
    assert pipeline.numbers(pipeline.rows) == good()
    assert pipeline.numbers(pipeline.letters) == broken()
    found = verify_table(pipeline.description)
    assert (found.faults, found.compared, found.dead_letters) == ([], RECORDS, len(broken()))
    assert found.letters_sent == len(broken())
    assert sum(status_of(pipeline.description).lag.values()) == 0
    assert [one.sentence for one in diagnose(pipeline.description) if not one.is_good] == []
    mended = pipeline.described('n = "long", gate = "string"')
    done = replay_table(mended, Heard(), spark)
    assert (done.letters, done.remaining) == (len(broken()), 0)
    assert pipeline.numbers(pipeline.rows) == list(range(RECORDS))
    assert pipeline.numbers(pipeline.letters) == broken()
    found = verify_table(mended)
    assert (found.faults, found.rows, found.dead_letters) == ([], RECORDS, 0)


def test_the_dead_letters_of_a_table_are_in_their_topic_once_after_a_kill(
    broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(broker, new_topic, tmp_path, "parquet")
    pipeline.send()

    def reached(at: Step) -> None:
        if at is Step.PUBLISHED:
            raise Killed

    with pytest.raises(Killed):
        pipeline.run(spark, reached)
    assert pipeline.numbers(pipeline.letters) == []
    pipeline.run(spark)
    assert pipeline.numbers(pipeline.letters) == broken()
    found = verify_table(pipeline.description)
    assert (found.faults, found.compared, found.dead_letters) == ([], RECORDS, len(broken()))
    assert found.letters_sent == len(broken())


@pytest.mark.three_brokers
def test_a_broker_that_is_killed_in_a_batch_costs_nothing(
    broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    """The leader of a partition of rows ends when a batch is about to be sent; others lead on."""
    assert isinstance(broker, OdradekCluster)
    pipeline = Pipeline(broker, new_topic, tmp_path)
    pipeline.send()
    killed: list[int] = []

    def reached(at: Step) -> None:
        if at is Step.SEALED and not killed:
            with Admin(broker.bootstrap) as admin:
                known, _ = admin.carry_out(partition_states([pipeline.rows]))
            killed.append(known[0].leader)
            os.kill(broker.pid_of(known[0].leader), signal.SIGKILL)

    pipeline.run(spark, reached)
    assert killed
    assert pipeline.numbers(pipeline.rows) == good()
    assert pipeline.numbers(pipeline.letters) == broken()
    assert verify_table(pipeline.description).faults == []
