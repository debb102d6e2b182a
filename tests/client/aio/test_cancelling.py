"""Each awaited call of a consumer or an admin client, cancelled at each point where it waits.

The client stays usable, no record is lost or comes twice, and no commit is taken back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.client.aio.admin import Admin
from odradek.client.aio.consumer import Consumer
from odradek.client.aio.producer import Producer
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.admin.topics import NewTopic
from odradek.testing import Cluster, simulate
from tests.client.aio.interrupting import cancelled_at, interrupted

pytestmark = pytest.mark.slow

P0 = TopicPartition("orders", 0)
RECORDS = 12
PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


class Told(RebalanceListener):
    """What the application was told to have; each call waits twice."""

    def __init__(self) -> None:
        self.has: set[TopicPartition] = set()

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        self.has |= partitions

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        self.has -= partitions


async def filled(cluster: Cluster, count: int = RECORDS) -> None:
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers) as producer:
        for number in range(count):
            await producer.send("orders", b"%d" % number)


def consumer_of(cluster: Cluster, *topics: str, **settings: object) -> Consumer:
    given = {"group_id": "billing", "auto_offset_reset": "earliest", "max_poll_records": 3, **settings}
    return Consumer(*topics, bootstrap_servers=cluster.bootstrap_servers, settings=given)


async def rest(consumer: Consumer, found: list[int]) -> None:
    """Read what is left of the records."""
    while len(found) < RECORDS:
        found += [int(record.value) for record in await consumer.poll(10)]  # type: ignore[arg-type]


@PROTOCOLS
@simulate(brokers=1, seeds=1)
async def test_polls_of_a_member_that_joins(cluster: Cluster, protocol: str) -> None:
    await filled(cluster)
    number, is_over = 0, False
    while not is_over:
        for comes_first in (False, True):
            listener = Told()
            consumer = consumer_of(cluster, group_protocol=protocol, enable_auto_commit=False)
            consumer.subscribe(["orders"], listener=listener)
            ended = await cancelled_at(consumer.poll(20), number, comes_first=comes_first)
            found = [] if ended is None else [int(record.value) for record in ended.result]  # type: ignore[arg-type]
            await rest(consumer, found)
            assert found == list(range(RECORDS))
            assert listener.has == consumer.assignment() == {P0}
            await consumer.close()
            assert not listener.has
            is_over = ended is not None
        number += 1
    assert number > 3


@pytest.mark.parametrize("way", ["poll", "iterate", "columns"])
@simulate(brokers=1, seeds=2)
async def test_records_come_once_and_in_order(cluster: Cluster, way: str) -> None:
    if way == "columns":
        pytest.importorskip("pyarrow")
    await filled(cluster)

    async def call(consumer: Consumer) -> list[int]:
        if way == "poll":
            return [int(record.value) for record in await consumer.poll(1)]  # type: ignore[arg-type]
        if way == "columns":
            batch = await consumer.poll_batch(1, max_records=5)
            return [] if batch is None else [int(value) for value in batch.column("value").to_pylist()]
        return [int((await anext(consumer.stream())).value)]  # type: ignore[arg-type]

    for number in range(12):
        for comes_first in (False, True):
            consumer = consumer_of(cluster, enable_auto_commit=False)
            consumer.assign([P0])
            found: list[int] = []
            while len(found) < RECORDS:
                ended = await cancelled_at(call(consumer), number, comes_first=comes_first)
                found += [] if ended is None else ended.result
                if ended is None:  # the next one is not cancelled
                    found += await call(consumer)
            assert found == list(range(RECORDS))
            await consumer.close()


@simulate(brokers=1, seeds=2)
async def test_commits_are_made_or_not_and_none_is_taken_back(cluster: Cluster) -> None:
    await filled(cluster)
    async with consumer_of(cluster, enable_auto_commit=False) as consumer:
        consumer.assign([P0])
        offset = 0

        def commit() -> Coroutine[Any, Any, None]:
            return consumer.commit({P0: offset + 1})

        async for _ in interrupted(commit):
            known = (await consumer.committed([P0]))[P0]
            assert known is None or known.offset in (offset, offset + 1)
            consumer.commit_async({P0: offset + 2})
            await consumer.commit({P0: offset + 3})
            known = (await consumer.committed([P0]))[P0]
            assert known is not None
            assert known.offset == offset + 3
            offset += 3


@simulate(brokers=1, seeds=2)
async def test_questions_of_a_consumer_are_answered_after_one_was_cancelled(cluster: Cluster) -> None:
    await filled(cluster)
    for name in ("committed", "position", "offsets_for_times", "beginning_offsets", "end_offsets"):
        for number in range(8):
            for comes_first in (False, True):
                consumer = consumer_of(cluster, enable_auto_commit=False)
                consumer.assign([P0])
                calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                    "committed": lambda one=consumer: one.committed([P0]),  # type: ignore[misc]
                    "position": lambda one=consumer: one.position(P0),  # type: ignore[misc]
                    "offsets_for_times": lambda one=consumer: one.offsets_for_times({P0: 0}),  # type: ignore[misc]
                    "beginning_offsets": lambda one=consumer: one.beginning_offsets([P0]),  # type: ignore[misc]
                    "end_offsets": lambda one=consumer: one.end_offsets([P0]),  # type: ignore[misc]
                }
                await cancelled_at(calls[name](), number, comes_first=comes_first)
                assert await calls[name]() == await calls[name]()
                assert await consumer.end_offsets([P0]) == {P0: RECORDS}
                found: list[int] = []
                await rest(consumer, found)
                assert found == list(range(RECORDS))
                await consumer.close()


@PROTOCOLS
@simulate(brokers=1, seeds=1)
async def test_a_consumer_that_commits_by_itself_stops_in_the_middle_of_its_end(
    cluster: Cluster, protocol: str
) -> None:
    """Whatever was cancelled, the next member goes on where this one was, or before, but never behind."""
    await filled(cluster)
    for name in ("close", "unsubscribe"):
        number, is_over = 0, False
        while not is_over:
            for comes_first in (False, True):
                group = f"{name} {number} {comes_first}"
                listener = Told()
                consumer = consumer_of(cluster, group_id=group, group_protocol=protocol)
                consumer.subscribe(["orders"], listener=listener)
                found = [int(record.value) for record in await consumer.poll(20)]  # type: ignore[arg-type]
                assert found == [0, 1, 2]
                call = consumer.close if name == "close" else consumer.unsubscribe
                ended = await cancelled_at(call(), number, comes_first=comes_first)
                if name == "unsubscribe":
                    assert not consumer.assignment()
                    consumer.subscribe(["orders"])
                    while not consumer.assignment():
                        found += [int(record.value) for record in await consumer.poll(20)]  # type: ignore[arg-type]
                await consumer.close()
                with pytest.raises(ApiError, match="the consumer is closed"):
                    await consumer.poll(0)
                async with Admin(cluster.bootstrap_servers) as admin:
                    committed = await admin.list_group_offsets(group)
                assert committed.get(P0, 0) in (0, len(found))
                is_over = ended is not None
            number += 1
    assert [one for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []


@simulate(brokers=1, seeds=1)
async def test_each_operation_of_an_administrator_can_be_cancelled_and_done_again(cluster: Cluster) -> None:
    await filled(cluster)
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.alter_group_offsets("billing", {P0: 3})
        calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "describe_cluster": admin.describe_cluster,
            "describe_log_dirs": admin.describe_log_dirs,
            "list_topics": admin.list_topics,
            "describe_topics": lambda: admin.describe_topics(["orders"]),
            "create_topics": lambda: admin.create_topics([NewTopic("planes")], validate_only=True),
            "create_partitions": lambda: admin.create_partitions({"orders": 2}, validate_only=True),
            "describe_configs": lambda: admin.describe_configs("topic", "orders"),
            "alter_configs": lambda: admin.alter_configs("topic", "orders", {"retention.ms": "70000"}),
            "list_offsets": lambda: admin.list_offsets({P0: LATEST}),
            "delete_records": lambda: admin.delete_records({P0: 2}),
            "list_groups": admin.list_groups,
            "describe_group": lambda: admin.describe_group("billing"),
            "list_group_offsets": lambda: admin.list_group_offsets("billing"),
            "alter_group_offsets": lambda: admin.alter_group_offsets("billing", {P0: 4}),
            "list_transactions": admin.list_transactions,
            "describe_producers": lambda: admin.describe_producers([P0]),
            "describe_features": admin.describe_features,
            "list_config_resources": admin.list_config_resources,
        }
        for name, call in calls.items():
            cancelled = 0
            async for ended in interrupted(call):
                assert admin.why() == [], name
                cancelled += ended is None
            assert cancelled, name
        assert await admin.list_offsets({P0: LATEST}) == {P0: RECORDS}
        assert await admin.list_group_offsets("billing") == {P0: 4}
        assert await admin.list_topics() == ["orders"]
        assert admin._runs is not None
        assert not admin._runs.driver._owners, "no request is left without an outcome"
    async for _ in interrupted(Admin(cluster.bootstrap_servers).close):
        pass
