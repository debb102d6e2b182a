"""The fixtures as a user's test takes them: found by pytest, nothing imported."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from odradek.client.admin import Admin
from odradek.testing import Broker

pytestmark = pytest.mark.integration

WAIT_S = 10.0


def send(broker: Broker, topic: str) -> int:
    """Send one record; how many were not acknowledged."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"order 1")
    left: int = producer.flush(WAIT_S)
    return left


def end_offset(broker: Broker, topic: str) -> int:
    (row,) = [row for row in broker.describe("partitions") if row["topic"] == topic]
    offset: int = row["log_end_offset"]
    return offset


def test_a_topic_is_fresh_for_each_test(odradek_broker: Broker, odradek_topic: str) -> None:
    assert end_offset(odradek_broker, odradek_topic) == 0
    assert send(odradek_broker, odradek_topic) == 0
    assert end_offset(odradek_broker, odradek_topic) == 1


def test_and_for_the_next_one_too(odradek_broker: Broker, odradek_topic: str) -> None:
    assert end_offset(odradek_broker, odradek_topic) == 0


def test_a_week_later_the_log_is_empty(odradek_broker: Broker, odradek_topic: str) -> None:
    assert send(odradek_broker, odradek_topic) == 0
    odradek_broker.clock.advance(seconds=8 * 24 * 3600)
    (row,) = [row for row in odradek_broker.describe("partitions") if row["topic"] == odradek_topic]
    assert row["log_start_offset"] == 1


def test_a_broker_of_one_s_own_has_its_own_settings(odradek_broker_factory: Callable[..., Broker]) -> None:
    broker = odradek_broker_factory(settings={"num.partitions": "3"})
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("defaulted")
        assert len(admin.list_topics(["defaulted"])[0].partitions) == 3


@pytest.mark.slow
def test_a_broker_in_a_process_can_be_killed_and_started_again(
    odradek_broker_factory: Callable[..., Broker],
) -> None:
    broker = odradek_broker_factory(process=True)
    topic = broker.create_topic()
    assert send(broker, topic) == 0
    broker.process.kill()
    broker.process.start()
    with Admin(broker.bootstrap_servers) as admin:
        assert [one.name for one in admin.list_topics([topic])] == [topic]
