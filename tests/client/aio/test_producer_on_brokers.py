"""The producer with real brokers over sockets; other clients read what it wrote."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.producer import Producer
from odradek.testing import Broker, LocalCluster

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_aiokafka_reads_every_codec(odradek_broker: Broker, codec: str) -> None:
    async def run() -> list[tuple[bytes | None, bytes | None, int]]:
        servers = odradek_broker.bootstrap_servers
        async with Producer(servers, compression_type=codec) as producer:
            for number in range(500):
                await producer.send("orders", b"%d" % number * 20, key=b"k", timestamp_ms=number)
            await producer.flush()
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        try:
            read = [await consumer.getone() for _ in range(500)]
        finally:
            await consumer.stop()
        return [(record.key, record.value, record.timestamp) for record in read]

    assert asyncio.run(run()) == [(b"k", b"%d" % number * 20, number) for number in range(500)]


@pytest.mark.parametrize("transactional_id", [None, "t"])
def test_batches_above_the_topics_limit_are_stored_in_parts(
    odradek_broker: Broker, transactional_id: str | None
) -> None:
    topic = f"small-{transactional_id}"
    odradek_broker.create_topic(topic, partitions=1, configs={"max.message.bytes": "1000"})
    values = [b"%d " % number + b"x" * (number * 37 % 800) for number in range(300)]
    values[150] = b"x" * 1_200 if transactional_id is None else b"fits"

    async def run() -> list[Receipt | BaseException]:
        settings: dict[str, object] = (
            {} if transactional_id is None else {"transactional_id": transactional_id}
        )
        async with Producer(odradek_broker.bootstrap_servers, settings=settings, linger_ms=50) as producer:
            if transactional_id is None:
                deliveries = [await producer.send(topic, value, timestamp_ms=9) for value in values]
            else:
                async with producer.transaction():
                    deliveries = [await producer.send(topic, value, timestamp_ms=9) for value in values]
            results = await asyncio.gather(*deliveries, return_exceptions=True)
            assert producer.metrics()["batch-split-total"] > 0
            return results

    results = asyncio.run(run())
    stored = {record.offset: record.value for record in odradek_broker.records(topic)}
    if transactional_id is None:
        error = results.pop(150)
        assert isinstance(error, ApiError)
        assert error.code is ErrorCode.MESSAGE_TOO_LARGE
        del values[150]
    assert results == [Receipt(topic, 0, offset, 9) for offset in range(len(values))]
    assert [stored[offset] for offset in range(len(values))] == values


def test_a_killed_broker_of_a_cluster_costs_no_record() -> None:
    async def run(cluster: LocalCluster) -> None:
        async with Producer(cluster.bootstrap_servers, linger_ms=1) as producer:
            for number in range(300):
                await producer.send("orders", b"%d" % number, partition=0)
                if number == 100:
                    cluster.kill(cluster.leader_of("orders"))
                await asyncio.sleep(0.002)

    with LocalCluster(brokers=3) as cluster:
        cluster.create_topic("orders", partitions=1, replication_factor=3)
        asyncio.run(run(cluster))
        assert [record.value for record in cluster.records("orders")] == [b"%d" % one for one in range(300)]
