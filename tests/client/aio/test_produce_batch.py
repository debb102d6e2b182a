"""`produce_batch` stores the rows of a table as `send` stores records one by one: on simulated clusters."""

import asyncio
from typing import Any

import pytest

from odradek.aio import Consumer, Producer, TableReceipt, TopicPartition
from odradek.base import extras
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, TransactionAbortable
from odradek.client.core.waiting import Cause
from odradek.testing import Cluster, simulate

pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.slow


def table_of(count: int, *, size: int = 10, **columns: Any) -> Any:
    values = [b"%d " % number + b"x" * size for number in range(count)]
    return pa.table({"value": values, **columns})


def values_of(table: Any) -> list[bytes]:
    values: list[bytes] = table["value"].to_pylist()
    return values


async def stored(cluster: Cluster, topic: str, partition: int = 0) -> list[Any]:
    """What each record of a partition holds, in order."""
    records = await cluster.records(topic, partition=partition)
    return [(one.offset, one.key, one.value, one.headers, one.timestamp) for one in records]


@simulate(brokers=1, seeds=2)
async def test_each_row_is_where_send_would_put_it(cluster: Cluster) -> None:
    for topic in ("one", "other"):
        await cluster.create_topic(topic, partitions=7)
    keys = [b"k%d" % (number * number % 97) for number in range(500)]
    partitions = [number % 7 if number % 5 == 0 else None for number in range(500)]
    table = table_of(
        500,
        key=keys,
        partition=pa.array(partitions, pa.int32()),
        timestamp=pa.array(range(500), pa.timestamp("ms")),
        headers=[[{"key": "n", "value": b"%d" % number}] for number in range(500)],
    )
    async with Producer(cluster.bootstrap_servers, batch_size=500) as producer:
        receipt = await (await producer.produce_batch(table, topic="one"))
        rows = zip(values_of(table), keys, partitions, range(500), strict=True)
        for content, key, partition, number in rows:
            headers = {"n": b"%d" % number}
            await producer.send(
                "other", content, key=key, headers=headers, partition=partition, timestamp_ms=number
            )
    found: dict[TopicPartition, tuple[range, ...]] = {}
    for number in range(7):
        one = await stored(cluster, "one", number)
        assert one == await stored(cluster, "other", number)
        found[TopicPartition("one", number)] = (range(len(one)),)
    assert receipt == TableReceipt(500, found)


@simulate(brokers=1, seeds=2)
async def test_what_poll_batch_returned_can_be_written_again(cluster: Cluster) -> None:
    await cluster.create_topic("one")
    await cluster.create_topic("other")
    async with Producer(cluster.bootstrap_servers) as producer:
        await (await producer.produce_batch(table_of(50), topic="one"))
        async with Consumer(
            bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest"
        ) as reader:
            reader.assign([TopicPartition("one", 0)])
            batch = await reader.poll_batch(10, include_headers=True)
        assert batch is not None
        with pytest.raises(ApiError, match="the column offset of the table would have no effect"):
            await producer.produce_batch(batch)
        again = batch.select(["key", "value", "timestamp", "headers"])
        await (await producer.produce_batch(again, topic="other"))
    assert await stored(cluster, "one") == await stored(cluster, "other")


@simulate(brokers=1, seeds=2)
async def test_several_topics_and_records_in_between_keep_their_order(cluster: Cluster) -> None:
    for topic in ("one", "other"):
        await cluster.create_topic(topic)
    async with Producer(cluster.bootstrap_servers, linger_ms=20, batch_size=300) as producer:
        first = await producer.send("one", b"first")
        delivery = await producer.produce_batch(table_of(60, topic=["one", "other"] * 30))
        last = await producer.send("one", b"last")
        assert [(await first).offset, (await last).offset] == [0, 31]
        receipt = await delivery
        assert producer.metrics()["buffer-available-bytes"] == producer.metrics()["buffer-total-bytes"]
    assert receipt.offsets == {
        TopicPartition("one", 0): (range(1, 31),),
        TopicPartition("other", 0): (range(30),),
    }
    values = values_of(table_of(60))
    stored = [record.value for record in await cluster.records("one")]
    assert stored == [b"first", *values[::2], b"last"]
    assert [record.value for record in await cluster.records("other")] == values[1::2]


@simulate(brokers=1, seeds=2)
async def test_rows_without_a_key_fill_one_partition_after_another(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=4)
    async with Producer(cluster.bootstrap_servers, batch_size=2_000) as producer:
        receipt = await (await producer.produce_batch(table_of(2_000, size=100), topic="orders"))
        assert producer.metrics()["record-send-total"] == 2_000
    stored = [await cluster.records("orders", partition=number) for number in range(4)]
    assert [len(records) for records in stored] == [
        sum(len(part) for part in receipt.offsets[TopicPartition("orders", number)]) for number in range(4)
    ]
    assert min(len(records) for records in stored) > 200
    values = values_of(table_of(2_000, size=100))
    for records in stored:
        places = [values.index(record.value or b"") for record in records]
        assert places == sorted(places)
    assert sum(len(records) for records in stored) == 2_000


@simulate(brokers=3, seeds=6)
async def test_killed_leaders_lose_no_row_and_double_none(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2, replication_factor=3, min_insync_replicas=2)
    table = table_of(600, size=50, partition=[0, 1] * 300)
    async with Producer(
        cluster.bootstrap_servers, batch_size=400, buffer_memory=3_000, max_block_ms=60_000
    ) as producer:
        adding = asyncio.create_task(producer.produce_batch(table, topic="orders"))
        await asyncio.sleep(0.02)
        cluster.kill(cluster.leader_of("orders", 0))
        await asyncio.sleep(5)
        await cluster.recover()
        receipt = await (await adding)
    assert receipt.records == 600
    for number in range(2):
        stored = [record.value for record in await cluster.records("orders", partition=number)]
        assert stored == values_of(table)[number::2]
    await cluster.check()


@simulate(brokers=1, seeds=2)
async def test_a_table_that_is_larger_than_the_memory_waits_for_it(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    table = table_of(100, size=200)
    async with Producer(cluster.bootstrap_servers, buffer_memory=4_000, batch_size=1_000) as producer:
        cluster.faults(1).delay(0.5, "Produce")
        adding = asyncio.create_task(producer.produce_batch(table, topic="orders"))
        await asyncio.sleep(1)
        assert not adding.done()
        assert producer.why()[0].cause is Cause.MEMORY
        assert (await (await adding)).offsets == {TopicPartition("orders", 0): (range(100),)}
        assert producer.metrics()["buffer-available-bytes"] == 4_000
    assert [record.value for record in await cluster.records("orders")] == values_of(table)


@simulate(brokers=1, seeds=2)
async def test_memory_that_does_not_come_is_an_error_that_says_how_many_rows_are_sent(
    cluster: Cluster,
) -> None:
    await cluster.create_topic("orders")
    table = table_of(100, size=200)
    async with Producer(
        cluster.bootstrap_servers, buffer_memory=4_000, batch_size=1_000, max_block_ms=500
    ) as producer:
        cluster.faults(1).delay(2.0, "Produce")
        with pytest.raises(ApiError, match=r"buffer\.memory is used up .*; (\d+) of 100 rows") as refused:
            await producer.produce_batch(table, topic="orders")
        added = int(str(refused.value).split("; ")[1].split()[0])
        assert 0 < added < 100
        await producer.flush()
    assert [record.value for record in await cluster.records("orders")] == values_of(table)[:added]


@simulate(brokers=1, seeds=2)
async def test_the_first_error_names_its_rows_and_the_others_are_stored(cluster: Cluster) -> None:
    await cluster.create_topic("orders", configs={"max.message.bytes": "500"})
    values = [b"x" * size for size in (10, 20, 600, 30, 40, 700, 50)]
    async with Producer(cluster.bootstrap_servers) as producer:
        delivery = await producer.produce_batch(pa.table({"value": values}), topic="orders")
        with pytest.raises(ApiError, match="2 of 7 rows are not acknowledged; row 2: orders-0") as refused:
            await delivery
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
        assert (await (await producer.produce_batch(table_of(0), topic="orders"))) == TableReceipt(0, {})
    stored = [record.value for record in await cluster.records("orders")]
    assert stored == [content for content in values if len(content) < 500]


@simulate(brokers=1, seeds=1)
async def test_a_table_with_a_wrong_row_is_refused_as_a_whole(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers, max_block_ms=300) as producer:
        topics = ["orders"] * 70_000 + [None]
        with pytest.raises(ApiError, match="row 70000 of the table has no topic"):
            await producer.produce_batch(pa.table({"value": [b""] * 70_001, "topic": topics}))
        with pytest.raises(ApiError, match=r"row 1 .* bytes, max\.request\.size is 1048576"):
            await producer.produce_batch(pa.table({"value": [b"", b"x" * 1_100_000]}), topic="orders")
        with pytest.raises(TypeError, match="the column value of the table is int64"):
            await producer.produce_batch(pa.table({"value": [1]}), topic="orders")
        with pytest.raises(ApiError, match="partition 7 of topic orders is not known"):
            await producer.produce_batch(table_of(2, partition=[0, 7]), topic="orders")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(extras, "MODULES", {"arrow": ("no_such_module",)})
            with pytest.raises(ApiError, match=r"produce_batch needs no_such_module.*odradek\[arrow\]"):
                await producer.produce_batch(table_of(1), topic="orders")
        assert producer.metrics()["record-send-total"] == 0
    assert await cluster.records("orders") == []


@simulate(brokers=1, seeds=2)
async def test_tables_are_written_in_transactions(cluster: Cluster) -> None:
    await cluster.create_topic("orders", configs={"max.message.bytes": "2000"})
    async with Producer(cluster.bootstrap_servers, transactional_id="t", max_block_ms=60_000) as producer:
        await producer.init_transactions()
        with pytest.raises(ApiError, match="no transaction was begun"):
            await producer.produce_batch(table_of(1), topic="orders")
        async with producer.transaction():
            delivery = await producer.produce_batch(table_of(300), topic="orders")
        assert (await delivery).records == 300
        with pytest.raises(TransactionAbortable):
            async with producer.transaction():
                await producer.produce_batch(table_of(5, size=3_000), topic="orders")
    async with Consumer(
        bootstrap_servers=cluster.bootstrap_servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as reader:
        reader.assign([TopicPartition("orders", 0)])
        found: list[object] = []
        while records := await reader.poll(2):
            found += [record.value for record in records]
    assert found == values_of(table_of(300))


@simulate(brokers=1, seeds=2)
async def test_cancelling_and_closing_leave_nothing_behind(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    producer = Producer(cluster.bootstrap_servers, buffer_memory=4_000, batch_size=1_000)
    cluster.faults(1).delay(0.5, "Produce")
    adding = asyncio.create_task(producer.produce_batch(table_of(100, size=200), topic="orders"))
    await asyncio.sleep(0.2)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    cancelled = await producer.produce_batch(table_of(3), topic="orders")
    cancelled.cancel()
    await producer.flush()
    assert producer.metrics()["buffer-available-bytes"] == 4_000
    cluster.kill(1)
    lost = await producer.produce_batch(table_of(3), topic="orders")
    await producer.close(timeout=1)
    with pytest.raises(ApiError, match="3 of 3 rows are not acknowledged; of rows 0 to 2: this producer was"):
        await lost
    with pytest.raises(ApiError, match="this producer was closed"):
        await producer.produce_batch(table_of(1), topic="orders")
    await cluster.recover()
    stored = [record.value for record in await cluster.records("orders")]
    assert stored[-3:] == values_of(table_of(3))
    assert stored[:-3] == values_of(table_of(100, size=200))[: len(stored) - 3]
