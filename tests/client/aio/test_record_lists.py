"""Lists of records on simulated clusters: each record is counted once, and stored in its order."""

import asyncio

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.client.aio.producer import Producer
from odradek.client.aio.record_lists import ListDelivery
from odradek.client.core.producer.outgoing import Outgoing
from odradek.testing import Cluster, simulate

pytestmark = pytest.mark.slow


def outgoing(value: bytes, *, key: bytes | None = None, partition: int | None = None) -> Outgoing:
    return Outgoing("orders", value, key, (), partition, None)


async def values(cluster: Cluster, partition: int) -> list[bytes]:
    return [record.value or b"" for record in await cluster.records("orders", partition=partition)]


async def ended(delivery: ListDelivery) -> tuple[int, int]:
    await asyncio.wrap_future(delivery.ended)
    assert not delivery.unanswered
    return delivery.acknowledged, delivery.failed


@simulate(brokers=3, seeds=3)
async def test_lists_keep_their_order_while_a_leader_dies(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2, replication_factor=3, min_insync_replicas=2)
    deliveries = []
    async with Producer(cluster.bootstrap_servers, batch_size=500) as producer:
        for first in range(0, 2_000, 400):
            records = [outgoing(b"%d" % one, partition=one % 2) for one in range(first, first + 400)]
            deliveries.append(ListDelivery(400))
            await producer.append_all(records, deliveries[-1])
            if first == 800:
                cluster.kill(cluster.leader_of("orders", 0))
        await cluster.recover()
        assert [await ended(one) for one in deliveries] == [(400, 0)] * 5
    for number in (0, 1):
        assert await values(cluster, number) == [b"%d" % one for one in range(number, 2_000, 2)]


@simulate(brokers=1, seeds=2)
async def test_records_go_where_send_puts_them(cluster: Cluster) -> None:
    """By their keys; without one into one partition, until a batch of it is full."""
    await cluster.create_topic("orders", partitions=3)
    keys = [b"%d" % number for number in range(30)]
    async with Producer(cluster.bootstrap_servers, batch_size=2_000) as producer:
        receipts = [await (await producer.send("orders", key, key=key)) for key in keys]
        delivery = ListDelivery(len(keys))
        await producer.append_all([outgoing(key, key=key) for key in keys], delivery)
        assert await ended(delivery) == (30, 0)
        for number in range(3):
            there = [key for key, one in zip(keys, receipts, strict=True) if one.partition == number]
            assert await values(cluster, number) == there * 2
        free = ListDelivery(300)
        await producer.append_all([outgoing(b"x" * 100) for _ in range(300)], free)
        assert await ended(free) == (300, 0)
        counts = [(await values(cluster, number)).count(b"x" * 100) for number in range(3)]
        assert sum(counts) == 300
        assert sum(count > 0 for count in counts) > 1


@simulate(brokers=1, seeds=2)
async def test_each_record_that_is_refused_is_counted(cluster: Cluster) -> None:
    """By the producer, and by the broker; the others are stored."""
    await cluster.create_topic("orders", partitions=2)
    async with Producer(cluster.bootstrap_servers, max_request_size=2_000, max_block_ms=500) as producer:
        delivery = ListDelivery(3)
        records = [outgoing(b"one", partition=0), outgoing(b"x" * 3_000), outgoing(b"two", partition=0)]
        await producer.append_all(records, delivery)
        assert await ended(delivery) == (2, 1)
        assert delivery.error is not None
        assert delivery.error.code is ErrorCode.MESSAGE_TOO_LARGE
        assert "max.request.size is 2000" in str(delivery.error)
        late = ListDelivery(2)
        await producer.append_all([outgoing(b"three", partition=0), outgoing(b"no", partition=7)], late)
        assert await ended(late) == (0, 2)
        assert "partition 7 of topic orders is not known" in str(late.error)
    assert await values(cluster, 0) == [b"one", b"two"]


@simulate(brokers=1, seeds=2)
async def test_what_is_interrupted_or_abandoned_is_counted(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    producer = Producer(cluster.bootstrap_servers, buffer_memory=2_000, batch_size=1_000)
    assert await producer.partitions_for("orders") == [0]
    cluster.kill(cluster.leader_of("orders", 0))
    delivery = ListDelivery(10)
    adding = asyncio.create_task(producer.append_all([outgoing(b"x" * 500)] * 10, delivery))
    await asyncio.sleep(1)
    assert delivery.unanswered == 10
    adding.cancel()
    await asyncio.wait({adding})
    assert 0 < delivery.unanswered < 10
    producer.abandon()
    assert await ended(delivery) == (0, 10)
    assert "interrupted" in str(delivery.error)


def test_an_empty_list_has_ended() -> None:
    assert ListDelivery(0).ended.done()
