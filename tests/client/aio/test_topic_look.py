"""One look at a topic: what it says, and how soon."""

import asyncio

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.producer import Producer
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Cluster, simulate

pytestmark = pytest.mark.slow


@simulate(brokers=1, seeds=2)
async def test_a_topic_is_counted_and_never_created(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=3)
    async with Producer(cluster.bootstrap_servers) as producer:
        assert await producer.partition_count("orders") == 3
        assert await producer.partition_count("none") is None
        assert await producer.partition_count("none") is None
        with pytest.raises(ApiError, match="characters other than ASCII letters") as refused:
            await producer.partition_count("no topic")
        assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


@simulate(brokers=2, seeds=3)
async def test_another_bootstrap_server_is_asked_where_one_is_away(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    await asyncio.sleep(1)  # both know it
    cluster.kill(3 - cluster.leader_of("orders", 0))
    async with Producer(cluster.bootstrap_servers) as producer:
        assert await producer.partition_count("orders") == 1


@simulate(brokers=2, seeds=2)
async def test_who_finds_no_broker_is_told_at_once_of_each(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    for broker in (1, 2):
        cluster.kill(broker)
    async with Producer(servers) as producer:
        with pytest.raises(ConnectionFailed) as failed:
            await producer.partition_count("orders")
    assert all(server in str(failed.value) for server in servers.split(","))
