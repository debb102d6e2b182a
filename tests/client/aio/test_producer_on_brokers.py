"""The producer with real brokers over sockets; other clients read what it wrote."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer

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
