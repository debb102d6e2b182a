"""The feed, into a broker: months in their order, those that are held back, and what ends it."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from demo.feed import Feed

from odradek import Consumer
from odradek.testing import Broker

pytestmark = pytest.mark.integration
MONTHS = [
    pa.table({"carrier": ["AA", "UA"], "id": [0, 1]}),
    pa.table({"carrier": ["AA"], "id": [2]}),
    pa.table({"carrier": ["UA"], "id": [3]}),
]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings={"num.partitions": "1"}) as running:
        yield running


def reader(broker: Broker) -> Consumer:
    broker.create_topic("flights", partitions=1)
    settings = {"auto.offset.reset": "earliest"}
    return Consumer("flights", bootstrap_servers=broker.bootstrap_servers, group_id="t", settings=settings)


def read(consumer: Consumer, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        records = consumer.poll(timeout=10)
        assert records, f"only {found} came"
        for one in records:
            assert isinstance(one.value, bytes)
            found.append(json.loads(one.value)["id"])
    return found


def test_months_come_in_their_order_and_those_that_are_held_after_the_release(broker: Broker) -> None:
    feed = Feed(broker.bootstrap_servers, "flights", MONTHS, pace_s=0, held=2)
    with reader(broker) as consumer, feed:
        assert read(consumer, 3) == [0, 1, 2]
        assert not consumer.poll(timeout=0.2)
        assert not feed.is_done
        feed.release()
        assert read(consumer, 1) == [3]
    assert feed.is_done
    assert feed.error is None
    assert feed.sent == 4
    assert feed.rate == feed.sent / feed.sending_s


def test_the_end_of_the_block_ends_a_feed_that_is_held(broker: Broker) -> None:
    with Feed(broker.bootstrap_servers, "flights", MONTHS, pace_s=0, held=0) as feed:
        pass
    assert (feed.month, feed.sent, feed.error) == (0, 0, None)


def test_what_ends_it_is_kept(broker: Broker) -> None:
    lacking = [pa.table({"id": [0]})]
    with Feed(broker.bootstrap_servers, "flights", lacking, pace_s=0, held=1) as feed:
        feed.wait()
    assert isinstance(feed.error, KeyError)
