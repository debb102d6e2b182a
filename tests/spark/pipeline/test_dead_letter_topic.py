"""Dead letters go to a topic once, whatever the sink is and wherever a run is killed; without Spark."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Message, TopicPartition

import odradek
from odradek.base.clock import ManualClock
from odradek.base.errors import OdradekError, SettingError
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Engine, Step, TooManyDeadLetters
from odradek.spark.pipeline.lake import LakeTable
from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.testing import Broker
from tests.spark.pipeline.fake_lakes import READERS, FakeWriter
from tests.spark.pipeline.fake_topics import FakeJob, FakeTopics, Heard
from tests.spark.pipeline.fake_topics import described as of_table

pytest.importorskip("pyspark")

from odradek.spark.pipeline.dead_letter_topic import (
    TableLetters,
    check_letters_topic,
    guarantee_of,
    letters_to_send,
)
from odradek.spark.pipeline.topic_sink import TopicTable
from tests.spark.pipeline.test_topic_sink import Killed, RecordsJob

pytestmark = [pytest.mark.integration]

FORMATS = ("parquet", "delta", "iceberg", "topic")
GOOD, GATE = b'{"n": 1}', b'{"n": 2, "gate": "B4"}'


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


class Pipeline:
    """A pipeline with a topic of its own for dead letters, and for rows if its sink is one."""

    def __init__(
        self, broker: Broker, directory: Path, form: str = "parquet", delivery: str = "exactly-once"
    ) -> None:
        self.broker = broker
        self.form = form
        self.letters_topic = broker.create_topic()
        self.name = self.letters_topic  # so that each has its own topic of notes
        self._sink = f'format = "{form}"'
        if form == "topic":
            self._sink += f'\ntopic = "{broker.create_topic()}"\ndelivery = "{delivery}"'
        self._directory = directory
        self.topics = FakeTopics(1)
        self.description = self.described()

    def described(self, fields: str = 'n = "long"', letters_topic: str = "") -> Description:
        decode = f'new_fields = "dead-letter"\nfields = {{ {fields} }}'
        found = of_table(self._directory, decode=decode, sink=self._sink, records_max=2)
        text = found.file.read_text().replace("127.0.0.1:1", self.broker.bootstrap_servers)
        text = text.replace('name = "flights"', f'name = "{self.name}"')
        text += f'topic = "{letters_topic or self.letters_topic}"\n'
        found.file.write_text(text)
        return read_description(found.file)

    def run(self, reached: Callable[[Step], None] = lambda step: None) -> Heard:
        return self._with_engine(lambda engine: engine.run_once(), reached)

    def replay(self) -> Heard:
        return self._with_engine(lambda engine: engine.replay())

    def _with_engine(
        self, work: Callable[[Engine], object], reached: Callable[[Step], None] = lambda step: None
    ) -> Heard:
        heard, described = Heard(), self.description
        job = (RecordsJob if self.form == "topic" else FakeJob)(self.topics, described)
        with ExitStack() as stack:
            table = self.table()
            stack.enter_context(table)
            table.open_for_writing()
            letters = None
            if isinstance(table, TopicTable):
                table.begin_sending()
            else:
                if isinstance(table, LakeTable):
                    table.begin(FakeWriter(described.table, self.form))
                letters = stack.enter_context(TableLetters(described, table.ledger))
                letters.begin()
            keep_up = letters.send_pending if letters else lambda: None
            engine = Engine(
                described, table, self.topics, job, ManualClock(), heard, reached, lambda commit: keep_up()
            )
            work(engine)
        return heard

    def table(self) -> Table | LakeTable:
        described = self.description
        if self.form == "topic":
            return TopicTable(described)
        if self.form == "parquet":
            return Table(described.table, described.name, synced=lambda path: None)
        return LakeTable(described.table, described.name, READERS[self.form], synced=lambda path: None)

    def letters(self, topic: str = "") -> list[tuple[bytes | None, str]]:
        """Value and origin of each committed letter, in order."""
        found = []
        for message in committed(self.broker, topic or self.letters_topic):
            headers = dict(message.headers() or [])
            assert list(headers) == ["odradek.origin", "odradek.error", "odradek.timestamp"]
            origin, value = headers["odradek.origin"], message.value()
            assert isinstance(origin, bytes)
            assert not isinstance(value, str)
            place, _, name = origin.decode().rpartition("/")
            assert name == self.name
            found.append((value, place))
        return found


def committed(broker: Broker, topic: str) -> list[Message]:
    """What a read-committed consumer of librdkafka sees of the topic, which has one partition."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(30)) is not None and not message.error():  # else its end
        found.append(message)
    consumer.close()
    return found


@pytest.fixture(params=FORMATS)
def pipeline(request: pytest.FixtureRequest, broker: Broker, tmp_path: Path) -> Pipeline:
    """A pipeline of each format, with a broken record in its first and in its last batch."""
    made = Pipeline(broker, tmp_path, request.param)
    made.topics.logs[0] = [b"broken", GOOD, GOOD, GATE]
    return made


LETTERS = [(b"broken", "flights/0/0"), (GATE, "flights/0/3")]


def test_a_letter_has_the_bytes_the_place_the_error_and_the_time_of_its_record() -> None:
    letters = pa.record_batch(
        {
            "_topic": ["flights", "flights"],
            "_partition": pa.array([0, 1], pa.int32()),
            "_offset": [17, 3],
            "_timestamp": pa.array([1_356_998_400_123_000, None], pa.timestamp("us", "UTC")),
            "_key": pa.array([b"a", None]),
            "_error": ["the value is not JSON", "it is null"],
            "_value": pa.array([b"\xff", None], pa.binary()),
        }
    )
    sent = letters_to_send(letters, "clean").to_pylist()
    assert [(one["key"], one["value"]) for one in sent] == [(b"a", b"\xff"), (None, None)]
    assert [[tuple(header.values()) for header in one["headers"]] for one in sent] == [
        [
            ("odradek.origin", b"flights/0/17/clean"),
            ("odradek.error", b"the value is not JSON"),
            ("odradek.timestamp", b"1356998400123"),
        ],
        [
            ("odradek.origin", b"flights/1/3/clean"),
            ("odradek.error", b"it is null"),
            ("odradek.timestamp", None),
        ],
    ]


@pytest.mark.parametrize("step", Step)
def test_a_run_that_ends_after_any_step_sends_each_letter_once(pipeline: Pipeline, step: Step) -> None:
    def reached(at: Step) -> None:
        if at is step:
            raise Killed(at)

    with pytest.raises(Killed):
        pipeline.run(reached)
    is_committed = step in (Step.PUBLISHED, Step.GROUP_COMMITTED)
    # The transaction of a topic has both; a table's letters are sent behind its commit, here by the next run.
    assert pipeline.letters() == (LETTERS[:1] if is_committed and pipeline.form == "topic" else [])
    pipeline.run()
    assert pipeline.letters() == LETTERS
    assert pipeline.run().commits == []
    assert pipeline.letters() == LETTERS


def test_a_replay_sends_nothing(pipeline: Pipeline) -> None:
    pipeline.run()
    pipeline.description = pipeline.described('n = "long", gate = "string"')
    pipeline.replay()
    assert pipeline.table().ledger.commit(3).is_replay
    assert pipeline.letters() == LETTERS
    pipeline.topics.logs[0].append(b"worse")
    pipeline.run()
    assert pipeline.letters() == [*LETTERS, (b"worse", "flights/0/4")]


def test_too_many_letters_stop_the_run_before_any_is_sent(broker: Broker, tmp_path: Path) -> None:
    for form in FORMATS:
        directory = tmp_path / form
        directory.mkdir()
        pipeline = Pipeline(broker, directory, form)
        text = pipeline.description.file.read_text().replace("max_per_batch = 1000", "max_per_batch = 1")
        pipeline.description.file.write_text(text)
        pipeline.description = read_description(pipeline.description.file)
        pipeline.topics.logs[0] = [b"broken", b"broken, too"]
        with pytest.raises(TooManyDeadLetters):
            pipeline.run()
        assert pipeline.letters() == []


def test_a_topic_that_is_named_later_gets_what_follows(pipeline: Pipeline) -> None:
    pipeline.run()
    later = pipeline.broker.create_topic()
    pipeline.description = pipeline.described(letters_topic=later)
    pipeline.topics.logs[0].append(b"worse")
    pipeline.run()
    assert pipeline.letters(later) == [(b"worse", "flights/0/4")]
    assert pipeline.letters() == LETTERS


def test_a_table_that_was_begun_anew_sends_its_own_letters(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path)
    pipeline.topics.logs[0] = [b"broken", GOOD, GOOD, GATE]
    pipeline.run()
    pipeline.description.table.rename(tmp_path / "old")
    pipeline.run()
    assert pipeline.letters() == [*LETTERS, *LETTERS]


def test_a_run_elsewhere_fences_the_one_before(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path)
    pipeline.topics.logs[0] = [b"broken"]

    def reached(step: Step) -> None:
        if step is Step.PUBLISHED:
            with TableLetters(pipeline.description, pipeline.table().ledger) as elsewhere:
                elsewhere.begin()

    with pytest.raises(TableRefused, match=f"has begun to write topic {pipeline.letters_topic}"):
        pipeline.run(reached)
    assert pipeline.letters() == [(b"broken", "flights/0/0")]


def test_a_letter_that_the_broker_refuses_is_sent_when_it_takes_it(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path)
    small = broker.create_topic(configs={"max.message.bytes": 80})
    pipeline.description = pipeline.described(letters_topic=small)
    pipeline.topics.logs[0] = [b"broken"]
    for _ in range(2):  # the batch is committed, and the next run says the same
        with pytest.raises(OdradekError, match=f"and topic {small} has not confirmed their"):
            pipeline.run()
    assert pipeline.table().ledger.batches() == [1]
    with odradek.Admin(broker.bootstrap_servers) as admin:
        admin.alter_configs("topic", small, {"max.message.bytes": "1000"})
    pipeline.run()
    assert pipeline.letters(small) == [(b"broken", "flights/0/0")]


def test_letters_whose_files_are_gone_are_not_passed_over(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path)
    pipeline.topics.logs[0] = [b"broken"]

    def reached(step: Step) -> None:
        if step is Step.PUBLISHED:
            raise Killed(step)

    with pytest.raises(Killed):
        pipeline.run(reached)
    (file,) = (pipeline.description.table / "batch=1" / "_dead_letters").iterdir()
    file.unlink()
    with pytest.raises(TableRefused, match="is missing or damaged"):
        pipeline.run()


def test_a_topic_that_cannot_hold_letters_is_refused(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path)
    check_letters_topic(pipeline.description)
    with pytest.raises(SettingError, match=r"there is no topic nowhere, which dead_letters\.topic names"):
        check_letters_topic(pipeline.described(letters_topic="nowhere"))
    compacted = broker.create_topic(configs={"cleanup.policy": "compact"})
    pipeline.description = pipeline.described(letters_topic=compacted)
    with pytest.raises(SettingError, match=f"topic {compacted}, .* is compacted"):
        pipeline.run()


def test_the_guarantee_is_that_of_the_sink(broker: Broker, tmp_path: Path) -> None:
    said = []
    for form in FORMATS:
        directory = tmp_path / form
        directory.mkdir()
        said.append(guarantee_of(Pipeline(broker, directory, form).description))
    repeating = Pipeline(broker, tmp_path, "topic", delivery="at-least-once").description
    assert guarantee_of(repeating) == "each at least once, before the offsets of its batch"
    assert said == 3 * ["each once, after the commit of its batch"] + [
        "each once, in the transaction of its batch"
    ]


DRIVER = """
import os, signal, sys
from pathlib import Path
from odradek.base.clock import ManualClock
from odradek.spark import marker_topic
from odradek.spark.pipeline.dead_letter_topic import TableLetters
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.ledger import Table

def killed(at):
    if at == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

class Producer(marker_topic.Producer):
    def produce_batch(self, table, **named):
        super().produce_batch(table, **named)
        self.flush()
        killed("letters")
    def commit_transaction(self):
        self.flush()
        killed("note")
        super().commit_transaction()
        killed("commit")

marker_topic.Producer = Producer
description = read_description(Path(sys.argv[1]))
with TableLetters(description, Table(description.table, description.name)) as letters:
    letters.begin()
"""


@pytest.mark.slow
def test_processes_that_are_killed_while_they_send_cost_nothing(broker: Broker, tmp_path: Path) -> None:
    """Behind the letters, behind the note, and behind the commit."""
    pipeline = Pipeline(broker, tmp_path)
    pipeline.run()  # the note of an empty table, so that all that follows is sent
    pipeline.topics.logs[0] = [b"broken"]

    def reached(step: Step) -> None:
        if step is Step.PUBLISHED:
            raise Killed(step)

    with pytest.raises(Killed):
        pipeline.run(reached)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    for at in ("letters", "note", "commit"):
        command = [sys.executable, "-c", DRIVER, str(pipeline.description.file), at]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    pipeline.run()
    assert pipeline.letters() == [(b"broken", "flights/0/0")]
