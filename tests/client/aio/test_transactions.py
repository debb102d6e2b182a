"""Transactions on simulated clusters: read-committed readers see exactly what was committed."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext

import pytest

from odradek.aio import (
    Cause,
    Consumer,
    GroupMetadata,
    OffsetAndMetadata,
    Producer,
    ProducerFatal,
    TopicPartition,
    TransactionAbortable,
)
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.transactions import Offsets
from odradek.server.handlers.api_versions import FEATURES
from odradek.testing import Cluster, simulate

pytestmark = pytest.mark.slow

ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """What the brokers' feature `transaction.version` is."""
    monkeypatch.setitem(FEATURES, "transaction.version", request.param)
    chosen: int = request.param
    return chosen


def producer(cluster: Cluster, settings: Mapping[str, object] | None = None, *, name: str = "t") -> Producer:
    given = {"transactional.id": name, **(settings or {})}
    return Producer(cluster.bootstrap_servers, settings=given)


async def committed(cluster: Cluster, topic: str = "orders", partitions: int = 1) -> list[list[bytes]]:
    """What a read-committed consumer reads of each partition."""
    return [
        [record.value or b"" for record in await cluster.records(topic, partition=number)]
        for number in range(partitions)
    ]


async def send_and_fail(one: Producer) -> None:
    async with one.transaction():
        await one.send("orders", b"lost", partition=0)
        await one.flush()
        raise ZeroDivisionError


@simulate(brokers=1, seeds=3)
async def test_a_block_is_committed_at_its_end_and_aborted_by_an_exception(
    cluster: Cluster, version: int
) -> None:
    await cluster.create_topic("orders", partitions=2)
    async with producer(cluster) as one:
        async with one.transaction():
            await one.send("orders", b"a", partition=0)
            await one.send("orders", b"b", partition=1)
        with pytest.raises(ZeroDivisionError):
            await send_and_fail(one)
        async with one.transaction():
            await one.send("orders", b"c", partition=0)
        async with one.transaction():
            pass
    assert await committed(cluster, partitions=2) == [[b"a", b"c"], [b"b"]]
    await cluster.check()


@simulate(brokers=1, seeds=2)
async def test_a_call_out_of_turn_says_what_is_missing(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers) as plain:
        with pytest.raises(ApiError, match=r"need the setting transactional\.id"):
            await plain.begin_transaction()
    async with producer(cluster) as one:
        with pytest.raises(ApiError, match="begin_transaction: init_transactions was not called"):
            await one.begin_transaction()
        await one.init_transactions()
        with pytest.raises(ApiError, match="init_transactions was called already"):
            await one.init_transactions()
        for call in (one.commit_transaction, one.abort_transaction):
            with pytest.raises(ApiError, match="no transaction was begun"):
                await call()
        with pytest.raises(ApiError, match="send: no transaction was begun"):
            await one.send("orders", b"v")
        await one.begin_transaction()
        with pytest.raises(ApiError, match="a transaction is open already"):
            await one.begin_transaction()
        with pytest.raises(TypeError, match=r"consumer.group_metadata\(\), or its id as a text, not None"):
            await one.send_offsets_to_transaction({ONE: 1}, None)  # type: ignore[arg-type]
        wrong: list[tuple[Offsets, str]] = [
            ({ONE: -1}, "the offset of orders-0 is from 0 to"),
            ({ONE: OffsetAndMetadata(1, "\ud800")}, "the metadata of an offset has a character"),
            ({TopicPartition("", 0): 1}, "the name of a topic is not empty"),
        ]
        for offsets, said in wrong:
            with pytest.raises(ApiError, match=said):
                await one.send_offsets_to_transaction(offsets, "g")
        await one.send("orders", b"v")
        await one.commit_transaction()
    assert await committed(cluster) == [[b"v"]]


async def write_two(one: Producer, second: bytes) -> None:
    async with one.transaction():
        await one.send("orders", b"first")
        await one.send("orders", second)


@simulate(brokers=1, seeds=3)
async def test_a_refused_record_lets_the_whole_transaction_be_done_again(
    cluster: Cluster, version: int
) -> None:
    await cluster.create_topic("orders", configs={"max.message.bytes": "500"})
    async with producer(cluster, {"batch.size": 0}) as one:
        for size in (1_000, 10):
            with pytest.raises(TransactionAbortable) if size == 1_000 else nullcontext() as refusal:
                await write_two(one, b"x" * size)
            assert refusal is None or refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
        await one.begin_transaction()
        refused = await one.send("orders", b"x" * 1_000)
        with pytest.raises(ApiError, match="refuses the records"):
            await refused
        with pytest.raises(TransactionAbortable, match="the transaction must be aborted"):
            await one.send("orders", b"v")
        with pytest.raises(TransactionAbortable, match="the transaction must be aborted"):
            await one.commit_transaction()
        await one.abort_transaction()
        with pytest.raises(ApiError, match=r"max\.request\.size"):
            async with one.transaction():
                await one.send("orders", b"x" * 2_000_000)
        async with one.transaction():
            await one.send("orders", b"last")
    assert await committed(cluster) == [[b"first", b"x" * 10, b"last"]]
    await cluster.check()


@simulate(brokers=1, seeds=3)
async def test_a_newer_producer_fences_the_older_one(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders")
    old, new = producer(cluster), producer(cluster)
    await old.init_transactions()
    await old.begin_transaction()
    await (await old.send("orders", b"old"))
    async with new.transaction():
        await new.send("orders", b"new")
    late = await old.send("orders", b"late")
    with pytest.raises(ApiError):
        await late
    with pytest.raises(ApiError):
        await old.commit_transaction()
    with pytest.raises(ProducerFatal, match="another producer with transactional id t") as fenced:
        await old.abort_transaction()
    assert fenced.value.code is ErrorCode.PRODUCER_FENCED
    for call in (old.begin_transaction, old.commit_transaction, old.abort_transaction):
        with pytest.raises(ProducerFatal, match="close it"):
            await call()
    await old.close()
    await new.close()
    assert await committed(cluster) == [[b"new"]]


@simulate(brokers=1, seeds=2)
async def test_a_transaction_open_for_too_long_is_lost(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders")
    async with producer(cluster, {"transaction.timeout.ms": 5_000}) as one:
        await one.init_transactions()
        await one.begin_transaction()
        await (await one.send("orders", b"v"))
        await asyncio.sleep(30)
        with pytest.raises(ApiError, match="open for longer than transaction"):
            await one.commit_transaction()
    assert await committed(cluster) == [[]]


@simulate(brokers=1, seeds=2)
async def test_a_timeout_that_the_broker_does_not_allow_is_fatal(cluster: Cluster, version: int) -> None:
    async with producer(cluster, {"transaction.timeout.ms": 2_000_000_000}) as one:
        with pytest.raises(ProducerFatal, match="invalid transaction timeout"):
            await one.init_transactions()


@simulate(brokers=1, seeds=3)
async def test_closing_aborts_what_is_open(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders")
    one = producer(cluster)
    await one.init_transactions()
    await one.begin_transaction()
    await (await one.send("orders", b"sent"))
    waiting = await one.send("orders", b"waiting")
    await one.close()
    with pytest.raises(ApiError, match="the transaction was aborted"):
        await waiting
    async with producer(cluster, name="other") as other, other.transaction():
        await other.send("orders", b"next")
    # Nothing is left open that would hold this back.
    assert await committed(cluster) == [[b"next"]]


@simulate(brokers=3, seeds=5)
async def test_lost_answers_and_killed_brokers_leave_each_transaction_whole(
    cluster: Cluster, version: int
) -> None:
    await cluster.create_topic("orders", partitions=2, replication_factor=3, min_insync_replicas=2)
    kept: list[list[bytes]] = [[], []]
    async with producer(cluster, {"linger.ms": 1, "request.timeout.ms": 2_000}) as one:
        for number in range(24):
            values = [b"%d-%d" % (number, index) for index in range(4)]
            if number % 5 == 1:
                for broker in cluster.brokers:
                    cluster.faults(broker).drop("EndTxn", when="before_answer", times=1)
                    cluster.faults(broker).drop("AddPartitionsToTxn", when="before_answer", times=1)
                    cluster.faults(broker).drop("Produce", when="before_answer", times=1)
            if number in (7, 15):
                await cluster.recover()
                cluster.kill(cluster.brokers[number % 3])
            async with asyncio.timeout(120):
                await one_transaction(one, values, is_kept=number % 3 != 2)
            if number % 3 != 2:
                kept[0] += values[::2]
                kept[1] += values[1::2]
    await cluster.recover()
    assert await committed(cluster, partitions=2) == kept
    await cluster.check()


async def one_transaction(one: Producer, values: list[bytes], *, is_kept: bool) -> None:
    """Write a transaction, again until it is committed or aborted as it should be."""
    while True:
        try:
            async with one.transaction():
                for index, content in enumerate(values):
                    await one.send("orders", content, partition=index % 2)
                if not is_kept:
                    raise ZeroDivisionError
        except TransactionAbortable:
            continue
        except ZeroDivisionError:
            pass
        return


@simulate(brokers=3, seeds=4)
async def test_reading_and_writing_in_transactions_processes_each_record_once(
    cluster: Cluster, version: int
) -> None:
    await cluster.create_topic("numbers", replication_factor=3, min_insync_replicas=2)
    await cluster.create_topic("squares", replication_factor=3, min_insync_replicas=2)
    async with Producer(cluster.bootstrap_servers) as plain:
        for number in range(60):
            await plain.send("numbers", b"%d" % number)
    for attempt in range(3):
        cluster.faults(cluster.leader_of("numbers")).drop("TxnOffsetCommit", when="before_answer", times=1)
        await squared(cluster, stops_after=(25, 40, 60)[attempt])
        cluster.kill(cluster.brokers[attempt])
        await cluster.recover()
    assert await committed(cluster, "squares") == [[b"%d" % (number**2) for number in range(60)]]
    await cluster.check()


async def squared(cluster: Cluster, stops_after: int) -> None:
    """Write the squares of what the group has not read yet; the last transaction stays open."""
    consumer = Consumer(
        "numbers",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="g",
        settings={
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        },
    )
    async with consumer, producer(cluster) as one:
        await one.init_transactions()
        while True:
            records = await consumer.poll(timeout=20, max_records=7)
            if not records:
                return
            await one.begin_transaction()
            for record in records:
                assert isinstance(record.value, bytes)
                await one.send("squares", b"%d" % int(record.value) ** 2)
            offsets = {TopicPartition("numbers", 0): records[-1].offset + 1}
            await one.send_offsets_to_transaction(offsets, consumer.group_metadata())
            if records[-1].offset >= stops_after:
                return
            await one.commit_transaction()


@simulate(brokers=1, seeds=3)
async def test_offsets_are_committed_with_the_transaction_only(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders", partitions=2)
    async with (
        producer(cluster) as one,
        Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as reader,
    ):
        async with one.transaction():
            await one.send_offsets_to_transaction({ONE: 5, TWO: 6}, "g")
        await one.begin_transaction()
        await one.send_offsets_to_transaction({ONE: 8}, "g")
        await one.abort_transaction()
        found = await reader.committed([ONE, TWO])
        assert {partition: position.offset for partition, position in found.items() if position} == {
            ONE: 5,
            TWO: 6,
        }
        with pytest.raises(TransactionAbortable, match=r"unknown member id|illegal generation"):
            async with one.transaction():
                await one.send_offsets_to_transaction({ONE: 9}, GroupMetadata("g", 3, "gone"))
        async with one.transaction():
            await one.send_offsets_to_transaction({ONE: 10}, "g")
        position = (await reader.committed([ONE]))[ONE]
        assert position is not None
        assert position.offset == 10


@simulate(brokers=1, seeds=1)
async def test_a_consumer_says_that_an_open_transaction_keeps_its_question(
    cluster: Cluster, version: int
) -> None:
    """KIP-447: offsets that it may change are waited for."""
    await cluster.create_topic("orders", partitions=2)
    async with (
        producer(cluster) as one,
        Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as reader,
    ):
        await one.init_transactions()
        await one.begin_transaction()
        await one.send_offsets_to_transaction({ONE: 8}, "g")
        asked = asyncio.ensure_future(reader.committed([ONE]))
        await asyncio.sleep(2)
        (kept,) = [why for why in reader.why() if why.cause is Cause.RETRY]
        assert str(kept) == "committed has been refused for 2 s: group g: unstable offset commit"
        assert kept.data["code"] == "UNSTABLE_OFFSET_COMMIT"
        await one.commit_transaction()
        assert await asked == {ONE: OffsetAndMetadata(8)}
        assert [why for why in reader.why() if why.cause is Cause.RETRY] == []


@simulate(brokers=1, seeds=3)
async def test_a_call_that_was_given_up_is_waited_for_by_the_next_one(cluster: Cluster, version: int) -> None:
    await cluster.create_topic("orders")
    async with producer(cluster, {"max.block.ms": 1_000}) as one:
        async with one.transaction():
            await one.send("orders", b"a")
        await one.begin_transaction()
        await one.send("orders", b"b")
        cluster.kill(1)
        committing = asyncio.create_task(one.commit_transaction())
        await asyncio.sleep(0.1)
        committing.cancel()
        with pytest.raises(ApiError, match="commit_transaction has not ended within 1 s"):
            await one.commit_transaction()
        with pytest.raises(ApiError, match="the commit of the transaction has not ended"):
            await one.begin_transaction()
        await cluster.recover()
        await one.commit_transaction()
        async with one.transaction():
            await one.send("orders", b"c")
    assert await committed(cluster) == [[b"a", b"b", b"c"]]
