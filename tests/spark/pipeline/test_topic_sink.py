"""A topic as a sink, on a broker and without Spark: kills at every step, fencing, changed topics."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.base.clock import ManualClock
from odradek.base.errors import OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.client.blocking.delivery import Delivery
from odradek.client.blocking.producer import Producer
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline import topic_sink
from odradek.spark.pipeline.description import DELIVERIES, Description, read_description
from odradek.spark.pipeline.engine import Engine, Step, Written
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.lake import LEDGER, Marker
from odradek.spark.pipeline.ledger import DEAD_LETTERS, TableRefused
from odradek.spark.pipeline.topic_counting import sink_offsets, verify_topic
from odradek.spark.pipeline.topic_sink import MarkerLog, RepeatingWriter, TopicTable, check_sink_topic
from odradek.spark.pipeline.verifying import Findings
from odradek.spark.sink_options import AT_LEAST_ONCE
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import FLIGHTS, FakeJob, FakeTopics, Heard
from tests.spark.pipeline.fake_topics import described as of_table

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.integration]


OFFSETS = "_odradek-pipeline-"


class Killed(BaseException):
    """The process ended here."""


class RecordsJob(FakeJob):
    """Stages records, with the column `n` as their value."""

    def write(self, ranges: Sequence[OffsetRange], fields: Fields, directory: Path) -> Written:
        written = super().write(ranges, fields, directory)
        _make_records(directory)
        return written

    def replay(self, letters: Sequence[Path], fields: Fields, directory: Path) -> Written:
        written = super().replay(letters, fields, directory)
        _make_records(directory)
        return written


def _make_records(directory: Path) -> None:
    for file in directory.glob("*.parquet"):
        rows = pq.ParquetFile(file).read()
        values = pa.array([b"%d" % n for n in rows["n"].to_pylist()], pa.binary())
        keys = pa.array([b"a"] * len(values), pa.binary())
        pq.write_table(rows.append_column("key", keys).append_column("value", values), file)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def described(
    broker: Broker, directory: Path, sink: str, name: str = "", delivery: str = "exactly-once"
) -> Description:
    """A pipeline into the topic `sink`, and named like it unless a name is given."""
    written = f'format = "topic"\ntopic = "{sink}"\ndelivery = "{delivery}"'
    found = of_table(directory, decode='fields = { n = "long" }', sink=written, records_max=2)
    text = found.file.read_text().replace("127.0.0.1:1", broker.bootstrap_servers)
    found.file.write_text(text.replace('name = "flights"', f'name = "{name or sink}"'))
    return read_description(found.file)


def source(count: int = 3) -> FakeTopics:
    """One partition of so many records, and a broken one behind them."""
    topics = FakeTopics(1)
    topics.logs[0] = [*(json.dumps({"n": n}).encode() for n in range(count)), b"broken"]
    return topics


def run(
    description: Description, topics: FakeTopics, reached: Callable[[Step], None] = lambda step: None
) -> Heard:
    heard = Heard()
    with TopicTable(description) as table:
        table.open_for_writing()
        table.begin_sending()
        job = RecordsJob(topics, description)
        Engine(description, table, topics, job, ManualClock(), heard, reached).run_once()
    return heard


def verified(description: Description, topics: FakeTopics) -> Findings:
    return verify_topic(description, TopicTable(description), topics.view(), topics.offsets)


def values(broker: Broker, topic: str) -> list[int]:
    """What a read-committed consumer of librdkafka sees."""
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": f"{topic}-reader"}
    settings |= {"auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    consumer.subscribe([topic])
    found = []
    while (message := consumer.poll(30)) is not None:
        if message.error():  # the end of the only partition
            break
        value = message.value()
        assert isinstance(value, bytes)
        found.append(int(value))
    consumer.close()
    return found


@pytest.mark.parametrize("step", Step)
def test_a_batch_is_whole_or_absent_after_each_step(step: Step, broker: Broker, tmp_path: Path) -> None:
    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()

    def reached(at: Step) -> None:
        if at is step:
            raise Killed(at)

    with pytest.raises(Killed):
        run(description, topics, reached)
    is_visible = step in (Step.PUBLISHED, Step.GROUP_COMMITTED)
    assert values(broker, sink) == ([0, 1] if is_visible else [])
    assert len(run(description, topics).commits) == (1 if is_visible else 2)
    found = verified(description, topics)
    assert (found.faults, found.compared, found.rows, found.dead_letters) == ([], 4, 3, 1)
    assert sink_offsets(description).rows == 3


DRIVER = """
import os, signal, sys
from pathlib import Path
from odradek.spark import marker_topic
from odradek.spark.pipeline.description import read_description
from tests.spark.pipeline.test_topic_sink import run, source

def killed(at):
    if at == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

class Producer(marker_topic.Producer):
    def produce_batch(self, table, **named):
        super().produce_batch(table, **named)
        self.flush()
        killed("rows")
    def commit_transaction(self):
        self.flush()
        killed("marker")
        super().commit_transaction()
        killed("commit")

marker_topic.Producer = Producer
run(read_description(Path(sys.argv[1])), source())
"""


@pytest.mark.slow
def test_processes_that_are_killed_in_the_transaction_cost_nothing(broker: Broker, tmp_path: Path) -> None:
    """Behind the rows, behind the marker, and behind the commit, before the ledger has it."""
    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    # The last one finishes batch 1 of the one before, and is killed behind batch 2.
    for at, batches in (("rows", None), ("marker", None), ("commit", 1), ("commit", 2)):
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, str(description.file), at],
            cwd=root,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        marker = MarkerLog(description).state().marker
        # The broker ends a committed transaction in its own time, and the next run waits for it.
        assert marker is None or marker.commit.batch <= (batches or 0)
    assert run(description, topics).commits == []
    assert values(broker, sink) == [0, 1, 2]
    found = verified(description, topics)
    assert (found.faults, found.batches, found.compared, found.rows) == ([], 2, 4, 3)
    ledger = TopicTable(description).ledger
    assert ledger.batches() == [1, 2]
    assert list((ledger.directory_of(2) / DEAD_LETTERS).iterdir())
    assert not list((description.table / LEDGER).glob("_staging-*"))


@pytest.mark.parametrize("step", Step)
def test_at_least_once_loses_nothing_and_is_counted(step: Step, broker: Broker, tmp_path: Path) -> None:
    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink, delivery=AT_LEAST_ONCE), source()

    def reached(at: Step) -> None:
        if at is step:
            raise Killed(at)

    with pytest.raises(Killed):
        run(description, topics, reached)
    is_visible = step in (Step.PUBLISHED, Step.GROUP_COMMITTED)
    assert values(broker, sink) == ([0, 1] if is_visible else [])
    assert len(run(description, topics).commits) == (1 if is_visible else 2)
    assert values(broker, sink) == [0, 1, 2]
    found = verified(description, topics)
    assert (found.faults, found.compared, found.rows, found.repeated) == ([], 4, 3, 0)


class Unanswered(RepeatingWriter):
    """Is killed when the rows are in the topic, and the marker is not."""

    def _send_marker(self, producer: Producer, marker: Marker) -> Delivery:
        raise Killed(marker.commit.batch)


def test_rows_that_at_least_once_repeats_are_no_fault(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink, delivery=AT_LEAST_ONCE), source()
    with monkeypatch.context() as patched:
        patched.setattr(topic_sink, "RepeatingWriter", Unanswered)
        with pytest.raises(Killed):
            run(description, topics)
    assert values(broker, sink) == [0, 1]
    assert [one.batch for one in run(description, topics).commits] == [1, 2]
    topics.logs[0].append(b'{"n": 3}')
    with monkeypatch.context() as patched:
        patched.setattr(topic_sink, "RepeatingWriter", Unanswered)
        with pytest.raises(Killed):
            run(description, topics)
    assert values(broker, sink) == [0, 1, 0, 1, 2, 3]
    found = verified(description, topics)
    assert (found.faults, found.rows, found.repeated) == ([], 3, 3)
    # Also when the description goes back to exactly once: the commits remember.
    description = described(broker, tmp_path, sink)
    run(description, topics)
    assert values(broker, sink) == [0, 1, 0, 1, 2, 3, 3]
    found = verified(description, topics)
    assert (found.faults, found.rows, found.repeated) == ([], 4, 3)


class Overtaken(RepeatingWriter):
    """Another run sends the same batch behind its marker."""

    def _send_marker(self, producer: Producer, marker: Marker) -> Delivery:
        super()._send_marker(producer, marker)
        return super()._send_marker(producer, Marker("elsewhere", marker.commit))


def test_a_run_elsewhere_that_at_least_once_cannot_fence_is_said(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = broker.create_topic()
    description = described(broker, tmp_path, sink, delivery=AT_LEAST_ONCE)
    monkeypatch.setattr(topic_sink, "RepeatingWriter", Overtaken)
    with pytest.raises(TableRefused, match=f"another run of pipeline {sink} writes topic {sink}, too"):
        run(description, source())


def test_at_least_once_goes_on_behind_a_transaction_that_was_left_open(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an exactly-once run that was killed: it is not fenced, and holds the marker back until it ends."""
    from confluent_kafka import Producer as Other

    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink, delivery=AT_LEAST_ONCE), source()
    broker.create_topic(description.marker_topic, configs={"cleanup.policy": "compact"})
    other = Other({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"left-{sink}"})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(description.marker_topic, b"left", sink.encode())
    assert other.flush(30) == 0
    with monkeypatch.context() as patched:
        patched.setattr(RepeatingWriter, "_seen_max_s", 0)
        with pytest.raises(
            OdradekError, match=f"batch 1 is committed, and cannot be read in {OFFSETS}{sink}"
        ):
            run(description, topics)
    broker.clock.advance(seconds=120)
    assert [one.batch for one in run(description, topics).commits] == [2]
    assert values(broker, sink) == [0, 1, 2]
    assert verified(description, topics).faults == []


def test_a_run_elsewhere_fences_the_one_before(broker: Broker, tmp_path: Path) -> None:
    """Its lock is on another machine; the transactional id is the lock of both."""
    sink = broker.create_topic()
    topics = source()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = described(broker, tmp_path / "a", sink), described(broker, tmp_path / "b", sink)

    def reached(step: Step) -> None:
        if step is Step.SEALED:
            run(second, topics)

    with pytest.raises(TableRefused, match=f"another run of pipeline {sink} has begun to write topic {sink}"):
        run(first, topics, reached)
    assert values(broker, sink) == [0, 1, 2]
    assert verified(second, topics).faults == []


def test_offsets_are_found_again_without_the_directory(broker: Broker, tmp_path: Path) -> None:
    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()
    run(description, topics)
    shutil.rmtree(description.table)
    topics.logs[0].append(b'{"n": 9}')
    assert [one.batch for one in run(description, topics).commits] == [3]
    assert values(broker, sink) == [0, 1, 2, 9]
    # The ledger of the first batch is gone, and with it what it read.
    assert "lacks batch=1" in verified(description, topics).faults[0]


def test_offsets_that_someone_set_back_are_not_read_again(broker: Broker, tmp_path: Path) -> None:
    from confluent_kafka import Producer

    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()
    run(description, topics)
    older = Marker("older", TopicTable(description).ledger.commit(1))
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(description.marker_topic, older.text().encode(), sink.encode())
    assert producer.flush(30) == 0
    with pytest.raises(TableRefused, match=r"has the offsets of batch 1, .* ledger up to batch 2"):
        run(description, topics)


def test_two_pipelines_may_write_one_topic(broker: Broker, tmp_path: Path) -> None:
    sink = broker.create_topic()
    topics = source()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run(described(broker, tmp_path / name, sink, f"{name}-{sink}"), topics)
    assert values(broker, sink) == [0, 1, 2, 0, 1, 2]
    for name in ("one", "two"):
        found = verified(described(broker, tmp_path / name, sink, f"{name}-{sink}"), topics)
        assert (found.faults, found.rows) == ([], 3)


def test_the_topic_may_be_on_other_brokers(broker: Broker, tmp_path: Path) -> None:
    """Nothing of it asks those of the source, which do not answer here."""
    sink = broker.create_topic()
    there = f'format = "topic"\ntopic = "{sink}"\nbootstrap_servers = "{broker.bootstrap_servers}"'
    description = of_table(tmp_path, decode='fields = { n = "long" }', sink=there, records_max=2)
    topics = source()
    run(description, topics)
    assert values(broker, sink) == [0, 1, 2]
    assert verified(description, topics).faults == []


def test_a_topic_that_is_read_from_the_same_cluster_is_refused(broker: Broker, tmp_path: Path) -> None:
    there = f'format = "topic"\ntopic = "{FLIGHTS}"\nbootstrap_servers = "{broker.bootstrap_servers}"'
    file = of_table(tmp_path, sink=there).file
    file.write_text(file.read_text().replace('"127.0.0.1:1"', f'"{broker.bootstrap_servers}"'))
    with pytest.raises(SettingError, match=f"brokers of the source's cluster, and {FLIGHTS} is one of"):
        check_sink_topic(read_description(file))


def test_a_record_that_someone_doubled_is_found(broker: Broker, tmp_path: Path) -> None:
    from confluent_kafka import Producer

    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()
    run(description, topics)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    origin = f"{FLIGHTS}/0/1/{sink}".encode()
    producer.produce(sink, b"1", headers=[("odradek.origin", origin)])
    producer.produce(sink, b"not of this pipeline")
    assert producer.flush(30) == 0
    (fault,) = verified(description, topics).faults
    assert fault == "batch=1 has records of flights-0 more than once: offset 1"


def test_topics_that_cannot_be_written_or_counted_are_refused(broker: Broker, tmp_path: Path) -> None:
    description, topics = described(broker, tmp_path, "nowhere"), source()
    with pytest.raises(SettingError, match="there is no topic nowhere, which"):
        check_sink_topic(description)
    with pytest.raises(SettingError, match="there is no topic nowhere"):
        run(description, topics)
    shutil.rmtree(description.table)
    sink = broker.create_topic(configs={"cleanup.policy": "compact"})
    compacted = described(broker, tmp_path, sink)
    run(compacted, topics)
    with pytest.raises(TableRefused, match=f"{sink} is compacted, and only"):
        sink_offsets(compacted)
    other = described(broker, tmp_path, broker.create_topic(), sink)
    with pytest.raises(TableRefused, match=r"ledger up to batch 2, and .* has no offsets for topic"):
        run(other, topics)


def test_a_topic_that_lost_its_first_records_is_not_counted(broker: Broker, tmp_path: Path) -> None:
    from odradek import Admin

    sink = broker.create_topic()
    description, topics = described(broker, tmp_path, sink), source()
    run(description, topics)
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(sink, 0): 1})
    with pytest.raises(TableRefused, match=f"{sink}-0 begins after its first record"):
        sink_offsets(description)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_record_that_the_broker_refuses_leaves_no_batch(
    delivery: str, broker: Broker, tmp_path: Path
) -> None:
    sink = broker.create_topic(configs={"max.message.bytes": 80})
    description, topics = described(broker, tmp_path, sink, delivery=delivery), source()
    with pytest.raises(OdradekError, match=f"topic {sink} has not confirmed the batch"):
        run(description, topics)
    assert MarkerLog(description).state().marker is None
    assert values(broker, sink) == []
