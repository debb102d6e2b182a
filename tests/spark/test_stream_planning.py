"""Batches of a stream against a broker: positions, and what happens when the topic changes under it."""

import asyncio
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer

from odradek import Admin
from odradek.base.errors import SettingError
from odradek.spark.range_reader import DataLost
from odradek.spark.source_options import SourceOptions, parse_options
from odradek.spark.stream_planning import first_position, latest_position, not_after, ranges_between
from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def send(broker: Broker, topic: str, counts: dict[int, int]) -> None:
    """So many records to each partition."""

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        await producer.start()
        try:
            for partition, count in counts.items():
                for number in range(count):
                    await producer.send_and_wait(topic, b"%d" % number, partition=partition)
        finally:
            await producer.stop()

    asyncio.run(run())


def options(broker: Broker, topic: str, **given: str) -> SourceOptions:
    base = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "subscribe": topic,
        "fetchOffset.retryIntervalMs": "0",
    }
    return parse_options(base | given, is_stream=True)


def ranges(
    how: SourceOptions, start: dict[str, int], end: dict[str, int], topic: str
) -> list[tuple[int, ...]]:
    found = ranges_between(how, {topic: start}, {topic: end})
    return [(one.topic_partition.partition, one.start, one.end) for one in found]


def test_positions_are_the_json_of_spark_s_checkpoints(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    send(broker, topic, {0: 3})
    assert latest_position(options(broker, topic)) == {topic: {"0": 3, "1": 0}}
    assert first_position(options(broker, topic)) == {topic: {"0": 3, "1": 0}}
    assert first_position(options(broker, topic, startingOffsets="earliest")) == {topic: {"0": 0, "1": 0}}


def test_a_stream_does_not_begin_after_what_spark_asked_for_before() -> None:
    assert not_after({"t": {"0": 5, "1": 1}}, {"t": {"0": 3, "1": 4}}) == {"t": {"0": 3, "1": 1}}
    assert not_after({"t": {"0": 5}}, None) == {"t": {"0": 5}}


def test_a_partition_that_was_added_is_read_from_its_first_record(broker: Broker) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, {0: 2})
    before = latest_position(options(broker, topic))
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_partitions({topic: 2})
    send(broker, topic, {1: 4})
    after = latest_position(options(broker, topic))
    assert ranges(options(broker, topic), before[topic], after[topic], topic) == [(1, 0, 4)]


def test_a_topic_that_was_made_anew_is_data_loss_or_read_from_its_start(broker: Broker) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, {0: 5})
    before = latest_position(options(broker, topic))
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_topics([topic])
        with pytest.raises(SettingError, match=f"there is no topic {topic}"):
            latest_position(options(broker, topic))
        assert latest_position(options(broker, topic, failOnDataLoss="false")) == {}
        admin.create_topic(topic)
    send(broker, topic, {0: 2})
    after = latest_position(options(broker, topic))
    with pytest.raises(
        DataLost, match="was read up to offset 5 and ends at 2: its topic was deleted and made"
    ):
        ranges(options(broker, topic), before[topic], after[topic], topic)
    allowed = options(broker, topic, failOnDataLoss="false")
    assert ranges(allowed, before[topic], after[topic], topic) == [(0, 0, 2)]


def test_a_partition_that_is_gone_is_data_loss_unless_allowed(broker: Broker) -> None:
    topic = broker.create_topic(partitions=1)
    with pytest.raises(DataLost, match=f"{topic}-1, which the stream has read, is gone"):
        ranges(options(broker, topic), {"0": 0, "1": 4}, {"0": 0}, topic)
    assert ranges(options(broker, topic, failOnDataLoss="false"), {"0": 0, "1": 4}, {"0": 3}, topic) == [
        (0, 0, 3)
    ]
