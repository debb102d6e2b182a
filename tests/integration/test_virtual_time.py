"""What moving a broker's clock makes happen at once, through the same timer and code as in production."""

import struct
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.testing import Broker
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

pytestmark = pytest.mark.integration

WAIT_S = 10.0


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings={"odradek.admin.port": "-1"}) as running:
        yield running


def connect(broker: Broker) -> BrokerConnection:
    host, port = broker.bootstrap_servers.split(":")
    return BrokerConnection(host, int(port))


def until(what: str, holds: Callable[[], bool]) -> None:
    """Look again and again, for real clients run in threads of their own; fails saying what never came."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"


def offsets_of(broker: Broker, topic: str) -> tuple[int, int]:
    (row,) = [row for row in broker.describe("partitions") if row["topic"] == topic]
    return row["log_start_offset"], row["log_end_offset"]


def test_a_parked_fetch_expires_when_its_time_is_moved_past(broker: Broker) -> None:
    """F1 D1: answered, empty and in order, by the timer that production uses."""
    topic = broker.create_topic()
    request = FetchRequest(
        max_wait_ms=45_000,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[
            FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
        ],
    )
    with connect(broker) as connection:
        connection.send(request, 12)
        until("a parked fetch", lambda: len(broker.describe("purgatories")) == 1)
        (waiting,) = broker.describe("purgatories")
        assert waiting["kind"] == "fetch"
        assert waiting["keys"] == [f"{topic}-0"]
        broker.clock.advance(seconds=44)
        assert len(broker.describe("purgatories")) == 1, "a fetch that had a second left was answered"
        broker.clock.advance(seconds=1.001)
        answer = connection.receive(FetchResponse)
    assert answer.error_code == ErrorCode.NONE
    assert not answer.responses[0].partitions[0].records
    assert broker.describe("purgatories") == []


def test_a_week_of_retention_passes_at_once(broker: Broker) -> None:
    """L5: the active segment too, once it is old enough to roll."""
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    producer.produce(topic, b"old")
    assert producer.flush(WAIT_S) == 0
    assert offsets_of(broker, topic) == (0, 1)
    broker.clock.advance(seconds=6 * 24 * 3600)
    assert offsets_of(broker, topic) == (0, 1)
    broker.clock.advance(seconds=2 * 24 * 3600)
    assert offsets_of(broker, topic) == (1, 1)


def test_a_producer_id_is_forgotten_after_a_day_without_a_write(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    producer.produce(topic, b"x")
    assert producer.flush(WAIT_S) == 0
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])

    def known() -> int:
        with connect(broker) as connection:
            answer = connection.call(request, DescribeProducersResponse, 0)
        return len(answer.topics[0].partitions[0].active_producers)

    assert known() == 1
    broker.clock.advance(seconds=25 * 3600)
    assert known() == 0


def test_clients_go_on_as_if_nothing_had_happened(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        for round_number in range(3):
            producer.produce(topic, struct.pack(">i", round_number))
            assert producer.flush(WAIT_S) == 0
            message = consumer.poll(WAIT_S)
            assert message is not None
            assert message.error() is None
            assert struct.unpack(">i", message.value() or b"") == (round_number,)
            broker.clock.advance(seconds=300)
    finally:
        consumer.close()


def test_a_connection_that_says_nothing_is_closed_after_its_idle_time(broker: Broker) -> None:
    with connect(broker) as connection:
        connection.call(DescribeProducersRequest(), DescribeProducersResponse, 0)
        until("a connection", lambda: len(broker.describe("connections")) == 1)
        broker.clock.advance(seconds=800)
        until("an end of the idle connection", lambda: broker.describe("connections") == [])
