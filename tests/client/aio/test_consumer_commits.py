"""What a consumer commits by itself when it stops reading: on a simulated broker."""

from collections.abc import Sequence
from contextlib import suppress

from odradek.aio import Consumer, ConsumerRecord, RebalanceListener, TopicPartition
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


def consumer(cluster: Cluster, *topics: str, listener: RebalanceListener | None = None) -> Consumer:
    return Consumer(
        *topics,
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
