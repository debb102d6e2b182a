"""What real topics may do to a pipeline: transactions, gaps, lost records, topics and partitions that change.

The engine and its topics are those of a run; rows are decoded and written without Spark.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek import Admin
from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.client.cluster import Offsets
from odradek.records.columnar.varints import Longs
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.planning import LogChanged, View
from odradek.spark.pipeline.topics import ClusterTopics, batch_options, source_options
from odradek.spark.range_reader import PAUSES_S, read_range
from odradek.spark.source_options import parse_options
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import FakeTopics, Heard, rows_of, run, verified
from tests.spark.pipeline.fake_topics import described as of_file

pytest.importorskip("pyspark")

from odradek.spark.pipeline.assembly import check

pytestmark = [pytest.mark.integration]

FIELDS = 'fields = { n = "long" }'
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "60000",
    "message.timestamp.type": "LogAppendTime",
}
WAIT_S_MAX = 30.0


class BrokerTopics(FakeTopics):
    """The topics of a broker, which the job without Spark reads, too."""

    def __init__(self, description: Description) -> None:
        super().__init__(0)
        self._cluster = ClusterTopics(description)
        topics = {"subscribe": ",".join(description.topics), "failOnDataLoss": "false"}
        self._reading = parse_options(source_options(description) | topics).reading
        self.sample = self._cluster.sample  # type: ignore[method-assign]

    def view(self) -> View:
        return self._cluster.view()

    def commit_to_group(self, offsets: Offsets) -> None:
        self._cluster.commit_to_group(offsets)

    def records(self, wanted: OffsetRange) -> Iterator[tuple[int, bytes | None]]:
        for rows in read_range(wanted, self._reading):
            yield from zip(rows["offset"].to_pylist(), rows["value"].to_pylist(), strict=True)

    def offsets(self, wanted: OffsetRange) -> Iterator[Longs]:
        for rows in read_range(wanted, self._reading):
            yield rows.column("offset").to_numpy()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("topics")


@pytest.fixture(scope="module")
def broker(data_dir: Path) -> Iterator[Broker]:
    with Broker(settings={"log.cleaner.backoff.ms": "1000"}, data_dir=data_dir) as running:
        yield running


def described(
    broker: Broker, topic: str, directory: Path, source: str = "", decode: str = FIELDS
) -> Description:
    """A pipeline of batches of two offsets."""
    file = of_file(directory, source=f'group = "{topic}"\n{source}', decode=decode, records_max=2).file
    text = file.read_text().replace("127.0.0.1:1", broker.bootstrap_servers)
    file.write_text(text.replace('topics = ["flights"]', f'topics = ["{topic}"]'))
    return read_description(file)


def ran(description: Description, reached: Callable[[Step], None] = lambda step: None) -> Heard:
    return run(description, BrokerTopics(description), reached)


def numbers(description: Description) -> list[object]:
    return sorted(row["n"] for row in rows_of(description))  # type: ignore[type-var]


def is_whole(description: Description, records: int) -> None:
    """Each visible record of the topic is in the table once, by `verify`."""
    found = verified(description, BrokerTopics(description))
    assert (found.faults, found.compared, found.records) == ([], records, records)


def send(broker: Broker, topic: str, *found: int, partition: int = 0, key: str = "") -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in found:
        producer.produce(topic, b'{"n": %d}' % number, key or f"k{number}", partition)
    assert producer.flush(WAIT_S_MAX) == 0


def begun(broker: Broker, topic: str, *found: int) -> Producer:
    """A transaction with these records, which is open."""
    name = f"{topic}-{found[0]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(WAIT_S_MAX)
    producer.begin_transaction()
    for number in found:
        producer.produce(topic, b'{"n": %d}' % number, partition=0)
    assert producer.flush(WAIT_S_MAX) == 0
    return producer


def test_aborted_records_are_no_rows_and_open_ones_are_waited_for(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    send(broker, topic, 1)
    begun(broker, topic, 101, 102, 103).abort_transaction(WAIT_S_MAX)
    begun(broker, topic, 2, 3).commit_transaction(WAIT_S_MAX)
    still_open = begun(broker, topic, 4)
    send(broker, topic, 5)
    description = described(broker, topic, tmp_path)
    ran(description)
    assert numbers(description) == [1, 2, 3]
    is_whole(description, 3)
    still_open.commit_transaction(WAIT_S_MAX)
    ran(description)
    assert numbers(description) == [1, 2, 3, 4, 5]
    is_whole(description, 5)


def test_aborted_records_are_rows_where_uncommitted_ones_are_read(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    begun(broker, topic, 101).abort_transaction(WAIT_S_MAX)
    description = described(broker, topic, tmp_path, 'isolation = "read_uncommitted"')
    ran(description)
    assert numbers(description) == [101]
    is_whole(description, 1)


def test_a_topic_that_is_empty_makes_no_batch_until_there_are_records(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=2)
    description = described(broker, topic, tmp_path, decode="")
    view, fields, is_inferred = check(description)
    assert (set(view.latest.values()), fields, is_inferred) == ({0}, {}, True)
    assert ran(description).commits == []
    is_whole(description, 0)
    send(broker, topic, 1, partition=1)
    assert [one.fields for one in ran(description).commits] == [{"n": "long"}]
    is_whole(description, 1)


def test_gaps_of_a_compacted_topic_are_no_loss(broker: Broker, data_dir: Path, tmp_path: Path) -> None:
    topic = broker.create_topic(configs=COMPACTED)
    for number in range(8):
        send(broker, topic, number, key=f"k{number % 2}")
    broker.clock.advance(seconds=61)
    send(broker, topic, 8, key="k2")
    checkpoint = data_dir / "cleaner-offset-checkpoint"
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not (checkpoint.exists() and f"{topic} 0 8\n" in checkpoint.read_text()):
        assert time.monotonic() < deadline_s, "the topic was not compacted"
        broker.clock.advance(seconds=1)
    description = described(broker, topic, tmp_path)
    commits = ran(description).commits
    # Batches are of two offsets each, also where none of these has a record.
    assert (len(commits), sum(one.records for one in commits)) == (5, 3)
    assert numbers(description) == [6, 7, 8]
    is_whole(description, 3)


def test_records_that_are_lost_fail_the_run_or_leave_a_hole(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    send(broker, topic, 0, 1)
    description = described(broker, topic, tmp_path)
    ran(description)
    send(broker, topic, 2, 3, 4)
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 4})
    with pytest.raises(LogChanged, match=f"{topic}-0 has lost its records from 2 to 3 before they were read"):
        ran(description)
    description = described(broker, topic, tmp_path, 'on_lost_offsets = "continue"')
    assert ran(description).commits[0].holes == {topic: {"0": (2, 4)}}
    assert numbers(description) == [0, 1, 4]
    found = verified(description, BrokerTopics(description))
    assert (found.faults, found.holes, found.compared, found.no_longer_there) == ([], 2, 1, 2)


def test_a_topic_that_is_deleted_or_made_anew_is_refused(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    send(broker, topic, 1)
    description = described(broker, topic, tmp_path)
    ran(description)
    broker.delete_topic(topic)
    with pytest.raises(SettingError, match=f"there is no topic {topic}"):
        ran(description)
    broker.create_topic(topic)
    send(broker, topic, 1, 2)
    with pytest.raises(LogChanged, match=f"topic {topic} was deleted and made anew: begin anew with another"):
        ran(description)
    assert numbers(description) == [1]


def test_partitions_that_are_added_in_a_run_are_read_from_their_start(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    send(broker, topic, 0, 1, 2)
    description = described(broker, topic, tmp_path)

    def reached(step: Step) -> None:
        if step is Step.SEALED and 3 not in sent:
            sent.append(3)
            with Admin(broker.bootstrap_servers) as admin:
                admin.create_partitions({topic: 2})
            send(broker, topic, 3, 4, partition=1)

    sent: list[int] = []
    ran(description, reached)
    ran(description)
    assert numbers(description) == [0, 1, 2, 3, 4]
    is_whole(description, 5)


def test_the_offsets_are_those_of_a_consumer_group(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    send(broker, topic, 0, 1, 2)
    description = described(broker, topic, tmp_path)
    ran(description)
    with Admin(broker.bootstrap_servers) as admin:
        offsets = admin.list_group_offsets(topic)
    assert offsets == {TopicPartition(topic, 0): 3}


def test_the_plan_of_a_batch_waits_for_a_broker_as_long_as_its_reading(tmp_path: Path) -> None:
    """A broker that restarts when a batch has begun ends neither."""
    described = of_file(tmp_path)
    options = parse_options(batch_options(described) | {"subscribe": ",".join(described.topics)})
    assert (options.offset_attempts - 1) * options.offset_retry_ms >= 1000 * sum(PAUSES_S)
