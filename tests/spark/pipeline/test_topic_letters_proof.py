"""The topic of dead letters is compared with the ledger, for each kind of sink; without Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek import Admin
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.verifying import Findings
from odradek.testing import Broker

pytest.importorskip("pyspark")

from odradek.spark.pipeline.topic_letters_proof import check_letters
from tests.spark.pipeline.test_dead_letter_topic import FORMATS, GATE, GOOD, Pipeline
from tests.spark.pipeline.test_topic_sink import Killed

pytestmark = [pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=FORMATS)
def pipeline(request: pytest.FixtureRequest, broker: Broker, tmp_path: Path) -> Pipeline:
    """A pipeline of each format, with a broken record in its first and in its last batch."""
    made = Pipeline(broker, tmp_path, request.param)
    made.topics.logs[0] = [b"broken", GOOD, GOOD, GATE]
    return made


def checked(pipeline: Pipeline) -> Findings:
    found = Findings()
    check_letters(found, pipeline.description, pipeline.table().ledger)
    return found


def counts(pipeline: Pipeline) -> tuple[int, int, int]:
    """Letters that were sent, are to be sent, and are gone; nothing else is wrong."""
    found = checked(pipeline)
    assert found.faults == []
    return found.letters_sent, found.letters_pending, found.letters_gone


def send(broker: Broker, topic: str, *origins: str) -> None:
    """Letters that no run has sent."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for origin in origins:
        producer.produce(topic, b"broken", headers=[("odradek.origin", origin.encode())])
    assert producer.flush(30) == 0


def test_each_letter_is_in_its_topic_once_or_is_still_to_be_sent(pipeline: Pipeline) -> None:
    assert counts(pipeline) == (0, 0, 0)

    def reached(step: Step) -> None:
        if step is Step.PUBLISHED:
            raise Killed(step)

    with pytest.raises(Killed):
        pipeline.run(reached)
    assert counts(pipeline) == ((1, 0, 0) if pipeline.form == "topic" else (0, 1, 0))
    pipeline.run()
    assert counts(pipeline) == (2, 0, 0)
    pipeline.description = pipeline.described('n = "long", gate = "string"')
    pipeline.replay()
    assert counts(pipeline) == (2, 0, 0)


def test_letters_that_others_sent_are_found(pipeline: Pipeline) -> None:
    pipeline.run()
    name, topic = pipeline.name, pipeline.letters_topic
    send(pipeline.broker, topic, f"flights/0/3/{name}", f"flights/0/1/{name}", "flights/0/0/other")
    assert checked(pipeline).faults == [
        f"topic {topic} has dead letters that the ledger does not have, flights-0: offset 1",
        f"topic {topic} has dead letters more than once, flights-0: offset 3",
    ]


def test_letters_that_are_gone_are_counted_or_missed(pipeline: Pipeline) -> None:
    pipeline.run()
    topic = pipeline.letters_topic
    with Admin(pipeline.broker.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 1})
        assert counts(pipeline) == (1, 0, 1)
        admin.delete_topics([topic])
    pipeline.broker.create_topic(topic)
    assert checked(pipeline).faults == [
        f"topic {topic} lacks dead letters, flights-0: 2 offsets, the first 0, 3"
    ]


def test_batches_before_the_topic_was_named_need_not_be_there(pipeline: Pipeline) -> None:
    pipeline.run()
    pipeline.description = pipeline.described(letters_topic=pipeline.broker.create_topic())
    pipeline.topics.logs[0].append(b"worse")
    pipeline.run()
    assert counts(pipeline) == (1, 0, 0)


def test_a_table_that_was_begun_anew_is_not_compared_with_the_one_before(
    broker: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(broker, tmp_path)
    pipeline.topics.logs[0] = [b"broken", GOOD, GOOD, GATE]
    pipeline.run()
    pipeline.description.table.rename(tmp_path / "old")
    pipeline.run()
    assert len(pipeline.letters()) == 4
    assert counts(pipeline) == (2, 0, 0)


def test_letters_may_be_there_again_where_the_sink_repeats(broker: Broker, tmp_path: Path) -> None:
    pipeline = Pipeline(broker, tmp_path, "topic", delivery="at-least-once")
    pipeline.topics.logs[0] = [b"broken", GOOD, GOOD, GATE]
    pipeline.run()
    send(broker, pipeline.letters_topic, f"flights/0/3/{pipeline.name}")
    assert counts(pipeline) == (2, 0, 0)
