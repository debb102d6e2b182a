"""What a consumer commits by itself when it stops reading, and commits that nobody waits for: simulated."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pytest

from odradek.aio import (
    Cause,
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
    WakeupError,
)
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.testing import Cluster, simulate
from tests.client.aio.producing import produce

P0 = TopicPartition("orders", 0)


class Told(RebalanceListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.revoked: list[frozenset[TopicPartition]] = []
        self.lost: list[frozenset[TopicPartition]] = []

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.revoked.append(partitions)

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self.lost.append(partitions)


def consumer(
    cluster: Cluster,
    *topics: str,
    listener: RebalanceListener | None = None,
    settings: Mapping[str, object] | None = None,
) -> Consumer:
    return Consumer(
        *topics,
        settings=settings,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        max_poll_records=3,
        listener=listener,
    )


async def first(reader: Consumer) -> list[ConsumerRecord]:
    while not (records := await reader.poll(5)):
        pass
    return records


async def committed(cluster: Cluster) -> int | None:
    async with consumer(cluster) as reader:
        found = (await reader.committed([P0]))[P0]
    return None if found is None else found.offset


async def stocked(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    await produce(cluster, range(10))


@simulate(brokers=1, seeds=2)
async def test_unsubscribing_commits_and_tells_the_listener(cluster: Cluster) -> None:
    await stocked(cluster)
    told = Told()
    async with consumer(cluster, "orders", listener=told) as reader:
        assert len(await first(reader)) == 3
        await reader.unsubscribe()
        assert told.revoked == [{P0}]
        assert not told.lost
        assert not reader.assignment()
        assert await committed(cluster) == 3
        reader.subscribe(["orders"])
        assert [record.offset for record in await first(reader)] == [3, 4, 5]
    assert told.revoked == [{P0}, {P0}]
    assert await committed(cluster) == 6


@simulate(brokers=1, seeds=2)
async def test_assigning_others_commits_what_was_read(cluster: Cluster) -> None:
    await stocked(cluster)
    async with consumer(cluster) as reader:
        reader.assign([P0])
        await first(reader)
        reader.assign([])
    assert await committed(cluster) == 3


@simulate(brokers=1, seeds=2)
async def test_after_an_exception_the_last_records_do_not_count_as_processed(cluster: Cluster) -> None:
    await stocked(cluster)

    async def fail(*, commits: bool = False, iterates: bool = False) -> Sequence[ConsumerRecord]:
        with suppress(ZeroDivisionError):
            async with consumer(cluster, "orders") as reader:
                records = await first(reader)
                if iterates:
                    reader.seek(P0, 0)
                    records = []
                    async for record in reader:
                        records.append(record)
                        if len(records) == 2:
                            break
                elif commits:
                    await reader.commit()
                raise ZeroDivisionError
        return records

    for _ in range(2):
        assert [record.offset for record in await fail()] == [0, 1, 2]
    await fail(commits=True)
    assert await committed(cluster) == 3, "the application's own commit stands"
    assert [record.offset for record in await fail(iterates=True)] == [0, 1]
    assert await committed(cluster) == 1, "behind the record before that at hand"


class Ended:
    """The callback of commits: keeps what each committed of the partition, and the code of its error."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.codes: list[ErrorCode | None] = []

    def __call__(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: ApiError | None) -> None:
        self.offsets.append(offsets[P0].offset)
        self.codes.append(None if error is None else error.code)


@simulate(brokers=1, seeds=2)
async def test_commits_are_sent_in_the_order_of_the_calls(cluster: Cluster) -> None:
    await stocked(cluster)
    ended = Ended()
    async with consumer(cluster) as reader:
        reader.assign([P0])
        await reader.commit({P0: 1})
        loading = cluster.faults(cluster.brokers[0]).error(
            "OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", times=2
        )
        reader.commit_async({P0: 2}, ended)
        reader.commit_async({P0: 3}, ended)
        assert not ended.offsets
        await reader.commit({P0: 4})
        assert loading.hits == 2
        assert (ended.offsets, ended.codes) == ([2, 3], [None, None])
        assert await committed(cluster) == 4
        records = await first(reader)
        reader.commit_async(callback=ended)
    assert ended.offsets[2:] == [records[-1].offset + 1], "the positions; closing waits for it"
    assert await committed(cluster) == ended.offsets[2]


@simulate(brokers=1, seeds=1)
async def test_a_commit_of_its_own_takes_no_later_one_back(cluster: Cluster) -> None:
    """What it commits of partitions that it gives up was begun before; so it is sent before."""
    await stocked(cluster)
    async with consumer(cluster) as reader:
        reader.assign([P0])
        assert len(await first(reader)) == 3
        reader.assign([])
        reader.commit_async({P0: 9})
    assert await committed(cluster) == 9


@simulate(brokers=1, seeds=1)
async def test_a_commit_in_time_takes_no_later_one_back(cluster: Cluster) -> None:
    """It is begun in the poll whose records are then committed, without an await between."""
    await cluster.create_topic("orders")
    await produce(cluster, range(4))
    settings = {"auto.commit.interval.ms": 1_000, "fetch.max.wait.ms": 20_000}

    async def write_later() -> None:
        await asyncio.sleep(1.2)
        await produce(cluster, range(1))

    async with consumer(cluster, settings=settings) as reader:
        reader.assign([P0])
        assert [record.offset for record in await first(reader)] == [0, 1, 2]
        await asyncio.sleep(1.5)
        assert [record.offset for record in await first(reader)] == [3], "it commits 3, and 4 after 1 s"
        writing = asyncio.create_task(write_later())
        assert [record.offset for record in await first(reader)] == [4]
        await reader.commit()
        await writing
        assert await committed(cluster) == 5


@simulate(brokers=1, seeds=1)
async def test_between_two_attempts_of_a_commit_is_the_retry_backoff(cluster: Cluster) -> None:
    await stocked(cluster)
    async with consumer(
        cluster, settings={"retry.backoff.ms": 3_000, "retry.backoff.max.ms": 3_000}
    ) as reader:
        reader.assign([P0])
        await reader.commit({P0: 1})
        cluster.faults(cluster.brokers[0]).error("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", times=2)
        begun_s = asyncio.get_running_loop().time()
        await reader.commit({P0: 2})
        assert asyncio.get_running_loop().time() - begun_s >= 6, "of virtual time"


@simulate(brokers=1, seeds=2)
async def test_a_commit_that_is_not_waited_for_tells_its_error(cluster: Cluster) -> None:
    await stocked(cluster)
    ended = Ended()
    reader = consumer(cluster)
    reader.assign([P0])
    with cluster.faults(cluster.brokers[0]).error("OffsetCommit", "TOPIC_AUTHORIZATION_FAILED"):
        reader.commit_async({P0: 2}, ended)
        with pytest.raises(ApiError, match="authorization"):
            await reader.commit({P0: 3})
    cluster.kill(cluster.brokers[0])
    reader.commit_async({P0: 4}, ended)
    with pytest.raises(ApiError, match="an earlier commit of this consumer has got no answer within 2 s"):
        await reader.commit({P0: 5}, timeout=2)
    await reader.close(timeout=1)
    assert ended.offsets == [2, 4]
    assert ended.codes == [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.REQUEST_TIMED_OUT]
    with pytest.raises(ApiError, match="closed"):
        reader.commit_async({P0: 6}, ended)
    await cluster.recover()


@simulate(brokers=1, seeds=1)
async def test_iteration_polls_between_records_that_take_long(cluster: Cluster) -> None:
    """Else a consumer that works through one poll's records for long commits nothing and leaves its group."""
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers, linger_ms=50) as producer:
        for number in range(20):
            await producer.send("orders", b"%d" % number)
    told, seen = Told(), []
    async with Consumer(
        "orders",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        listener=told,
    ) as reader:

        async def work() -> None:
            async for record in reader:
                seen.append(record.offset)
                await asyncio.sleep(30)
                if record.offset == 15:
                    assert not told.lost, "more than max.poll.interval.ms after the records came"
                    assert await committed(cluster) == 15, "behind the record before that at hand"
                    reader.wakeup()

        with pytest.raises(WakeupError):
            await work()
        assert seen == list(range(16))
        assert [record.offset for record in await first(reader)] == [16, 17, 18, 19]


@simulate(brokers=1, seeds=1)
async def test_without_a_group_no_commit_is_begun(cluster: Cluster) -> None:
    async with Consumer(bootstrap_servers=cluster.bootstrap_servers) as reader:
        reader.assign([P0])
        with pytest.raises(ApiError, match=r"group\.id"):
            reader.commit_async({P0: 1})


@simulate(brokers=1, seeds=1)
async def test_a_callback_that_fails_keeps_nothing_from_going_on(cluster: Cluster) -> None:
    await stocked(cluster)
    ended = Ended()

    def fail(*_: object) -> None:
        raise ArithmeticError

    async with consumer(cluster) as reader:
        reader.assign([P0])
        reader.commit_async({P0: 2}, fail)
        reader.commit_async({P0: 3}, ended)
    assert (ended.offsets, ended.codes) == ([3], [None])
    assert await committed(cluster) == 3


@simulate(brokers=1, seeds=2)
async def test_closing_does_not_wait_for_a_group_that_was_never_reached(cluster: Cluster) -> None:
    """No broker has heard of the member, so that there is nothing to leave."""
    reader = Consumer("orders", bootstrap_servers="nowhere:9092", group_id="billing")
    assert not await reader.poll(1)
    assert next(why.cause for why in reader.why()) == Cause.NO_BROKER
    begun = asyncio.get_running_loop().time()
    await reader.close()
    assert asyncio.get_running_loop().time() == begun


@simulate(brokers=1, seeds=2)
async def test_a_commit_that_is_refused_here_holds_up_no_other(cluster: Cluster) -> None:
    await stocked(cluster)
    async with consumer(cluster, "orders") as reader:
        assert len(await first(reader)) == 3
        with pytest.raises(ValueError, match=r"the offset of orders-0 is from 0 to .*, not -5"):
            await reader.commit({P0: -5})
        with pytest.raises(ValueError, match=r"the offset of orders-0 is from 0 to .*, not -5"):
            reader.commit_async({P0: -5})
        await reader.commit(timeout=5)
        assert await committed(cluster) == 3
