"""Micro-batches as transactions, on a broker and without Spark: kills at every step, replays, fencing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from odradek.base.errors import OdradekError
from odradek.client.blocking.delivery import TableDelivery
from odradek.client.blocking.producer import Producer
from odradek.client.core.admin.topics import delete_topics
from odradek.spark import marker_topic as notes
from odradek.spark.brokers import Brokers
from odradek.spark.sink_options import SinkOptions
from odradek.spark.staging import Staged, StageLost, Staging
from odradek.spark.transactional_sink import (
    CheckpointDeleted,
    CheckpointSetBack,
    commit_stream_batch,
    commit_write,
    marker_topic,
)
from odradek.testing import Broker
from tests.spark.committed import committed_values

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def options(servers: str, directory: Path | str, topic: str) -> SinkOptions:
    return SinkOptions(topic, {"bootstrap.servers": servers}, True, str(directory))


def staged(location: SinkOptions, query: str, *tasks: Sequence[int]) -> list[Staged]:
    """The rows of a batch, those of each task."""
    staging = Staging(location.staging_location, query)
    return [
        staging.write(
            [pa.record_batch([pa.array([b"%d" % n for n in rows])], names=["value"])] if rows else []
        )
        for rows in tasks
    ]


def new_query(broker: Broker, directory: Path) -> tuple[str, SinkOptions]:
    topic = broker.create_topic(partitions=2)
    return str(uuid4()), options(broker.bootstrap_servers, directory, topic)


def values(broker: Broker, query: str, how: SinkOptions) -> list[int]:
    """What is visible once the transaction that a driver left has ended, as a new driver ends it."""
    notes.transactional_producer(how.brokers, marker_topic(query), f"odradek-spark/{query}").close()
    assert how.topic is not None
    return committed_values(broker, how.topic)


def test_a_batch_that_is_repeated_is_sent_once(broker: Broker, tmp_path: Path) -> None:
    query, how = new_query(broker, tmp_path)
    assert commit_stream_batch(how, 0, staged(how, query, [1, 2], [], [3]))
    assert not commit_stream_batch(how, 0, staged(how, query, [1, 2], [3]))
    assert list(tmp_path.iterdir()) == []
    assert commit_stream_batch(how, 1, staged(how, query, [4]))
    assert not commit_stream_batch(how, 2, [])
    assert not commit_stream_batch(how, 3, staged(how, query, []))
    assert commit_stream_batch(how, 4, staged(how, query, [5]))
    assert values(broker, query, how) == [1, 2, 3, 4, 5]


def test_a_new_checkpoint_is_a_new_query_and_an_older_one_is_refused(broker: Broker, tmp_path: Path) -> None:
    query, how = new_query(broker, tmp_path)
    commit_stream_batch(how, 7, staged(how, query, [1]))
    with pytest.raises(CheckpointSetBack, match=f"{query} was set back to batch 6, and batch 7 had been"):
        commit_stream_batch(how, 6, staged(how, query, [2]))
    other = str(uuid4())
    assert commit_stream_batch(how, 0, staged(how, other, [3]))
    assert values(broker, query, how) == [1, 3]


def test_a_checkpoint_that_was_deleted_writes_nothing_twice(broker: Broker, tmp_path: Path) -> None:
    """Spark begins a new query in the same place, which would read all again."""
    query, how = new_query(broker, tmp_path)
    how = replace(how, checkpoint="s3://queries/copies")
    commit_stream_batch(how, 0, staged(how, query, [1]))
    commit_stream_batch(how, 1, staged(how, query, [2]))
    second = str(uuid4())
    for _ in range(2):
        with pytest.raises(CheckpointDeleted) as refused:
            commit_stream_batch(how, 0, staged(how, second, [1, 2]))
    assert str(refused.value) == (
        f"the checkpoint in s3://queries/copies is a new one, and query {query}, whose checkpoint was there"
        f" before, has written topic {how.topic} up to batch 1: this query would write that again. Bring the"
        f" old checkpoint back; or delete topic {marker_topic(query)} if it is to be written again"
    )
    assert commit_stream_batch(how, 2, staged(how, query, [3]))  # it was brought back
    assert values(broker, query, how) == [1, 2, 3]
    # Another place, another topic, or a place that is not known: other queries.
    for other in (
        replace(how, checkpoint="s3://queries/others"),
        replace(how, topic=broker.create_topic()),
        replace(how, checkpoint=""),
    ):
        assert commit_stream_batch(other, 0, staged(other, str(uuid4()), [4]))
    with Brokers(broker.bootstrap_servers, "test").admin() as admin:
        admin.carry_out(delete_topics([marker_topic(query)]))
    assert commit_stream_batch(how, 0, staged(how, second, [1, 2]))
    assert commit_stream_batch(how, 1, staged(how, second, [3]))


DRIVER = """
import os, signal, sys
from odradek.spark import marker_topic
from odradek.spark.transactional_sink import commit_stream_batch
from tests.spark.test_transactional_sink import options, staged

servers, directory, topic, query, at = sys.argv[1:]

def killed(step):
    if step == at:
        os.kill(os.getpid(), signal.SIGKILL)

class Producer(marker_topic.Producer):
    def init_transactions(self):
        killed("stage")
        super().init_transactions()
    def produce_batch(self, table, **named):
        delivery = super().produce_batch(table, **named)
        self.flush()
        killed("rows")
        return delivery
    def send(self, *given, **named):
        delivery = super().send(*given, **named)
        self.flush()
        killed("note")
        return delivery
    def transaction(self):
        block = super().transaction()
        class Watched:
            def __enter__(self):
                return block.__enter__()
            def __exit__(self, *error):
                block.__exit__(*error)
                killed("commit")
        return Watched()

marker_topic.Producer = Producer
how = options(servers, directory, topic)
commit_stream_batch(how, 0, staged(how, query, [1, 2], [3]))
"""


@pytest.mark.slow
def test_drivers_that_are_killed_cost_nothing(broker: Broker, tmp_path: Path) -> None:
    """Between stage and commit, behind the rows, behind the note, and behind the commit."""
    query, how = new_query(broker, tmp_path)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    for at, visible in (("stage", []), ("rows", []), ("note", []), ("commit", [1, 2, 3])):
        given = [broker.bootstrap_servers, str(tmp_path), str(how.topic), query, at]
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, *given],
            cwd=root,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert list((tmp_path / query).iterdir())
        assert values(broker, query, how) == visible
    # Spark had not noted batch 0, and repeats it.
    assert not commit_stream_batch(how, 0, staged(how, query, [1, 2], [3]))
    assert list(tmp_path.iterdir()) == []
    assert commit_stream_batch(how, 1, staged(how, query, [4]))
    assert values(broker, query, how) == [1, 2, 3, 4]


def test_a_driver_elsewhere_fences_this_one(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, how = new_query(broker, tmp_path)
    there = options(broker.bootstrap_servers, tmp_path / "there", str(how.topic))

    class Overtaken(Producer):
        def produce_batch(self, table: Any, *, topic: str | None = None) -> TableDelivery:
            delivery = super().produce_batch(table, topic=topic)
            self.flush()
            monkeypatch.undo()
            commit_stream_batch(there, 0, staged(there, query, [1, 2]))
            return delivery

    monkeypatch.setattr(notes, "Producer", Overtaken)
    with pytest.raises(OdradekError, match=f"another driver has begun to write for batch 0 of query {query}"):
        commit_stream_batch(how, 0, staged(how, query, [1, 2]))
    assert values(broker, query, how) == [1, 2]


def test_rows_that_the_driver_does_not_see_are_not_forgotten(broker: Broker, tmp_path: Path) -> None:
    query, how = new_query(broker, tmp_path / "driver")
    of_tasks = options(broker.bootstrap_servers, tmp_path / "executor", str(how.topic))
    some = staged(how, query, [1]) + staged(of_tasks, query, [2])
    with pytest.raises(StageLost, match="stagingLocation must be a directory"):
        commit_stream_batch(how, 0, some)
    assert values(broker, query, how) == []
    assert commit_stream_batch(how, 0, staged(how, query, [1], [2]))
    assert values(broker, query, how) == [1, 2]


def test_a_record_that_the_broker_refuses_leaves_nothing(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic(configs={"max.message.bytes": 100})
    query, how = str(uuid4()), options(broker.bootstrap_servers, tmp_path, topic)
    with pytest.raises(OdradekError, match=f"brokers have not confirmed batch 0 of query {query}"):
        commit_stream_batch(how, 0, staged(how, query, [1], [10**200]))
    assert values(broker, query, how) == []


def test_a_batch_write_is_whole_or_absent(broker: Broker, tmp_path: Path) -> None:
    _, how = new_query(broker, tmp_path)
    some = staged(how, "write-1", [1, 2], [3])
    with pytest.raises(StageLost):
        commit_write(how, "write-1", [*some, Staged("write-1", "missing.arrow", 1)])
    assert committed_values(broker, str(how.topic)) == []
    commit_write(how, "write-2", staged(how, "write-2", []))
    commit_write(how, "write-1", some)
    assert committed_values(broker, str(how.topic), 3) == [1, 2, 3]
    assert list(tmp_path.iterdir()) == []
