"""Plans against a broker: what times, numbers and words become, and what is refused."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer

from odradek.base.errors import OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.spark.batch_planning import plan_batch
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.source_options import parse_options
from odradek.testing import Broker

pytestmark = [pytest.mark.integration]

NOON_MS = 1_700_000_000_000
"""The time of the first record; each following one is a second later."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    """Ten records in partition 0, a second apart, three in partition 1, none in partition 2."""
    name = broker.create_topic(partitions=3)

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        await producer.start()
        try:
            for partition, count in ((0, 10), (1, 3)):
                for number in range(count):
                    at = NOON_MS + 1000 * number
                    await producer.send_and_wait(name, b"%d" % number, partition=partition, timestamp_ms=at)
        finally:
            await producer.stop()

    asyncio.run(send())
    return name


def planned(broker: Broker, topic: str, partitions: list[int], **options: str) -> list[tuple[int, int, int]]:
    """The ranges as (partition, start, end)."""
    base = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "assign": json.dumps({topic: partitions}),
        "fetchOffset.retryIntervalMs": "0",
    }
    ranges = plan_batch(parse_options(base | options))
    return [(one.topic_partition.partition, one.start, one.end) for one in ranges]


def test_times_become_the_offsets_of_the_first_records_of_that_time_or_later(
    broker: Broker, topic: str
) -> None:
    window = {"startingTimestamp": str(NOON_MS + 1500), "endingTimestamp": str(NOON_MS + 5000)}
    assert planned(broker, topic, [0], **window) == [(0, 2, 5)]
    each = {
        "startingOffsetsByTimestamp": json.dumps({topic: {"0": NOON_MS + 9000, "1": NOON_MS}}),
        "endingOffsetsByTimestamp": json.dumps({topic: {"0": NOON_MS + 99_000, "1": NOON_MS + 1000}}),
    }
    assert planned(broker, topic, [0, 1], **each) == [(0, 9, 10), (1, 0, 1)]


def test_a_time_after_the_last_record_ends_at_the_end(broker: Broker, topic: str) -> None:
    assert planned(broker, topic, [0, 1, 2], endingTimestamp=str(NOON_MS + 5000)) == [(0, 0, 5), (1, 0, 3)]


def test_a_start_after_the_last_record_is_refused_unless_the_strategy_is_latest(
    broker: Broker, topic: str
) -> None:
    late = {"startingTimestamp": str(NOON_MS + 5000)}
    with pytest.raises(SettingError, match=f"{topic}-1 has no record of that time or later"):
        planned(broker, topic, [0, 1], **late)
    assert planned(broker, topic, [0, 1], **late, startingOffsetsByTimestampStrategy="latest") == [(0, 5, 10)]


@pytest.mark.parametrize("option", ["startingOffsets", "endingOffsets"])
def test_a_number_beyond_the_end_is_refused(broker: Broker, topic: str, option: str) -> None:
    with pytest.raises(SettingError, match=f"{option} 11 of {topic}-0 is beyond the end of its log, 10"):
        planned(broker, topic, [0], **{option: json.dumps({topic: {"0": 11}})})


def test_a_start_at_the_end_reads_nothing(broker: Broker, topic: str) -> None:
    assert planned(broker, topic, [0], startingOffsets=json.dumps({topic: {"0": 10}})) == []


def test_tasks_are_bounded(broker: Broker, topic: str) -> None:
    assert planned(broker, topic, [0, 1], maxRecordsPerPartition="5") == [(0, 0, 5), (0, 5, 10), (1, 0, 3)]
    assert len(planned(broker, topic, [0, 1], minPartitions="6")) >= 6


def test_offsets_are_asked_for_as_often_as_told(broker: Broker, topic: str) -> None:
    with broker.faults.error("ListOffsets", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2):
        assert planned(broker, topic, [0]) == [(0, 0, 10)]
    with (
        broker.faults.error("ListOffsets", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2),
        pytest.raises(OdradekError, match="NOT_LEADER_OR_FOLLOWER"),
    ):
        planned(broker, topic, [0], **{"fetchOffset.numRetries": "2"})


def test_a_pattern_is_matched_against_all_topics(broker: Broker, topic: str) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribePattern": topic[:-1] + "."}
    assert OffsetRange(TopicPartition(topic, 1), 0, 3) in plan_batch(parse_options(options))
