import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from odradek import Admin
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.bootstrap import connect_any, parse_bootstrap_servers
from odradek.client.cluster import fetch_leaders, list_offsets
from odradek.spark import range_reader
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.range_reader import DataLost, read_range
from odradek.spark.source_options import ReadOptions
from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]

Sent = list[tuple[bytes | None, bytes | None]]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_reader, "PAUSES_S", tuple(0.0 for _ in range_reader.PAUSES_S))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def send(broker: Broker, topic: str, rows: Sent, codec: str | None = None) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, compression_type=codec, linger_ms=2
        )
        await producer.start()
        try:
            pending = [
                await producer.send(topic, value, key, headers=[("n", b"%d" % number)] if number % 3 else [])
                for number, (key, value) in enumerate(rows)
            ]
            await asyncio.gather(*pending)
        finally:
            await producer.stop()

    asyncio.run(run())


def options(broker: Broker) -> ReadOptions:
    return ReadOptions(tuple(parse_bootstrap_servers(broker.bootstrap_servers)))


def rows_of(wanted: OffsetRange, how: ReadOptions) -> list[dict[str, Any]]:
    return [row for batch in read_range(wanted, how) for row in batch.to_pylist()]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_reads_what_a_client_sent_under_every_codec(broker: Broker, codec: str | None) -> None:
    topic = broker.create_topic()
    sent: Sent = [(None if n % 7 == 1 else b"k%d" % n, None if n % 7 == 2 else b"v" * n) for n in range(500)]
    send(broker, topic, sent, codec)
    rows = rows_of(OffsetRange(TopicPartition(topic, 0), 0, 500), replace(options(broker), with_headers=True))
    assert [(row["key"], row["value"]) for row in rows] == sent
    assert [row["offset"] for row in rows] == list(range(500))
    assert rows[1]["headers"] == [{"key": "n", "value": b"1"}]
    assert rows[0]["headers"] is None
    assert {row["topic"] for row in rows} == {topic}
    assert {row["timestampType"] for row in rows} == {0}


def test_a_range_begins_and_ends_inside_batches(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"%d" % n) for n in range(200)], "lz4")
    rows = rows_of(OffsetRange(TopicPartition(topic, 0), 37, 142), options(broker))
    assert [row["value"] for row in rows] == [b"%d" % n for n in range(37, 142)]


def test_offsets_of_the_words_are_those_of_the_log(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    part, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    send_to_first = [(None, b"x")] * 3

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        await producer.start()
        for key, value in send_to_first:
            await producer.send_and_wait(topic, value, key, partition=0)
        await producer.stop()

    asyncio.run(run())
    with connect_any(parse_bootstrap_servers(broker.bootstrap_servers)) as connection:
        leaders = fetch_leaders(connection, [topic, "no-such-topic"])
    assert leaders.counts == {topic: 2}
    assert list_offsets(leaders, LATEST, [part, empty], "read_uncommitted") == {part: 3, empty: 0}
    assert list_offsets(leaders, EARLIEST, [part], "read_committed") == {part: 0}
    with pytest.raises(OdradekError, match="has no leader"):
        list_offsets(leaders, LATEST, [TopicPartition(topic, 2)], "read_uncommitted")


def test_records_that_are_gone_are_an_error_unless_that_is_allowed(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"%d" % n) for n in range(50)])
    delete_before(broker, topic, 20)
    wanted = OffsetRange(TopicPartition(topic, 0), 0, 50)
    with pytest.raises(DataLost, match="it starts at 20"):
        rows_of(wanted, options(broker))
    rows = rows_of(wanted, replace(options(broker), fail_on_data_loss=False))
    assert [row["offset"] for row in rows] == list(range(20, 50))


def test_a_range_beyond_the_log_s_end_is_an_error_and_no_endless_wait(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"x")] * 3)
    part = TopicPartition(topic, 0)
    with pytest.raises(DataLost, match="ends before offset 5"):
        rows_of(OffsetRange(part, 5, 9), options(broker))
    with pytest.raises(OdradekError, match="the high watermark is 3"):
        rows_of(OffsetRange(part, 0, 9), options(broker))


@pytest.mark.parametrize("error", ["OFFSET_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER"])
def test_what_every_client_asks_again_after_is_asked_again(broker: Broker, error: str) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"x")] * 3)
    with broker.faults.error("Fetch", error, topic=topic, times=2):
        rows = rows_of(OffsetRange(TopicPartition(topic, 0), 0, 3), options(broker))
    assert [row["offset"] for row in rows] == [0, 1, 2]


def test_an_election_of_some_seconds_is_waited_for(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"x")])
    slept: list[float] = []
    monkeypatch.setattr(range_reader, "PAUSES_S", tuple(range(1, 1 + len(range_reader.PAUSES_S))))
    monkeypatch.setattr("odradek.spark.range_reader.time.sleep", slept.append)
    wanted = OffsetRange(TopicPartition(topic, 0), 0, 1)
    with broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=7):
        assert len(rows_of(wanted, options(broker))) == 1
    assert slept == [1, 2, 3, 4, 5, 6, 7]
    with (
        broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=9),
        pytest.raises(OdradekError, match=f"cannot read {topic}-0 at 0: NOT_LEADER_OR_FOLLOWER"),
    ):
        rows_of(wanted, options(broker))


def test_another_error_has_its_code(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, [(None, b"x")])
    with (
        broker.faults.error("Fetch", "TOPIC_AUTHORIZATION_FAILED", topic=topic),
        pytest.raises(ApiError) as refused,
    ):
        rows_of(OffsetRange(TopicPartition(topic, 0), 0, 1), options(broker))
    assert refused.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def delete_before(broker: Broker, topic: str, offset: int) -> None:
    from confluent_kafka import TopicPartition as Place
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([Place(topic, 0, offset)]).values():
        future.result(10)


def test_a_topic_that_is_deleted_ends_the_read_with_its_name(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("gone")
        admin.delete_topics(["gone"])
    with pytest.raises(OdradekError, match="gone-0"):
        rows_of(OffsetRange(TopicPartition("gone", 0), 0, 1), options(broker))
