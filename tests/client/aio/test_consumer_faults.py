"""A group of consumers in the simulator, with faults: every record once and in order, whatever dies."""

import asyncio
import logging
import random
import re
from collections import defaultdict

import pytest

from odradek.aio import Consumer, ConsumerRecord, RebalanceListener, TopicPartition
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.testing import Cluster, simulate
from tests.client.aio.producing import produce

pytestmark = pytest.mark.slow

COUNT, PARTITIONS = 90, 3
DEADLINE_S = 240


class Book:
    """What a group has read. Invariant: per partition offsets rise by one, also across members."""

    def __init__(self) -> None:
        self.read: dict[int, list[int]] = defaultdict(list)

    @property
    def count(self) -> int:
        return sum(map(len, self.read.values()))

    def add(self, partition: int, offset: int) -> None:
        expected = len(self.read[partition])
        assert offset == expected, f"partition {partition}: offset {offset} instead of {expected}"
        self.read[partition].append(offset)


class Committing(RebalanceListener):
    """Commits before partitions are given back, until it succeeds."""

    reader: Consumer

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await self.reader.commit()

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Everything that was read is committed already: each poll is, before the next."""


async def member(cluster: Cluster, book: Book, protocol: str, *, until: int) -> None:
    """Read and commit after each poll, until the group has read `until` records."""
    listener = Committing()
    async with Consumer(
        "orders",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        group_protocol=protocol,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=4,
        listener=listener,
    ) as reader:
        listener.reader = reader
        while book.count < until:
            records = await reader.poll(1)
            for record in records:
                book.add(record.partition, record.offset)
            if records:
                await reader.commit(timeout=120)


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
@pytest.mark.parametrize("fault", ["kill_leader", "kill_coordinator", "isolate"])
def test_a_group_reads_everything_once_and_in_order(protocol: str, fault: str) -> None:
    @simulate(brokers=3, seeds=2)
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=PARTITIONS, min_insync_replicas=2)
        book = Book()
        async with asyncio.timeout(DEADLINE_S):
            sending = asyncio.create_task(produce(cluster, range(COUNT), partitions=PARTITIONS))
            readers = [asyncio.create_task(member(cluster, book, protocol, until=COUNT)) for _ in range(2)]
            await asyncio.sleep(random.uniform(0.5, 6))
            if fault == "kill_leader":
                cluster.kill(cluster.leader_of("orders", random.randrange(PARTITIONS)))
            elif fault == "kill_coordinator":
                cluster.kill(cluster.leader_of("__consumer_offsets", random.randrange(PARTITIONS)))
            else:
                cluster.isolate(random.choice(cluster.brokers))
            await asyncio.sleep(random.uniform(1, 20))
            cluster.heal()
            await cluster.recover()
            await sending
            await asyncio.gather(*readers)
        assert {partition: len(read) for partition, read in book.read.items()} == dict.fromkeys(
            range(PARTITIONS), COUNT // PARTITIONS
        )

    test()


@simulate(brokers=3, seeds=4)
async def test_a_reader_without_a_group_gets_over_moved_leaders(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=PARTITIONS, min_insync_replicas=2)
    sending = asyncio.create_task(produce(cluster, range(COUNT), partitions=PARTITIONS))
    book = Book()
    async with (
        asyncio.timeout(DEADLINE_S),
        Consumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as reader,
    ):
        reader.assign([TopicPartition("orders", number) for number in range(PARTITIONS)])

        async def read() -> None:
            while book.count < COUNT:
                for record in await reader.poll(1):
                    book.add(record.partition, record.offset)

        reading = asyncio.create_task(read())
        for _ in range(2):
            await asyncio.sleep(random.uniform(0.5, 3))
            leader = cluster.leader_of("orders", random.randrange(PARTITIONS))
            await cluster.restart(leader)
            await cluster.recover()
        await sending
        await reading


@simulate(brokers=1, seeds=2)
async def test_a_member_that_does_not_poll_leaves_and_comes_back(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    await produce(cluster, range(4))
    lost = []

    class Listener(RebalanceListener):
        async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
            lost.append(partitions)

    async with Consumer(
        "orders",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        max_poll_interval_ms=10_000,
        max_poll_records=1,
        listener=Listener(),
    ) as reader:
        assert [record.offset for record in await reader.poll(30)] == [0]
        await reader.commit()
        await asyncio.sleep(60)
        assert "poll has not been called for 60 s" in str(reader.why()[0])
        records: list[ConsumerRecord] = []
        while not records:
            records = await reader.poll(5)
        assert lost == [{TopicPartition("orders", 0)}]
        assert [record.offset for record in records] == [1]


@simulate(brokers=1, seeds=2)
async def test_a_member_that_left_joins_again_within_the_poll_that_hears_of_it(cluster: Cluster) -> None:
    """Nothing else may happen that would wake the poll: an iteration polls without a limit."""
    await cluster.create_topic("orders")
    await produce(cluster, range(4))
    async with Consumer(
        "orders",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        max_poll_interval_ms=10_000,
        max_poll_records=1,
        metadata_max_age_ms=10_000_000,
    ) as reader:
        iteration = aiter(reader)
        assert (await anext(iteration)).offset == 0
        await asyncio.sleep(60)
        assert (await asyncio.wait_for(anext(iteration), 60)).offset == 0, "it was not committed"


@simulate(brokers=1, seeds=1)
async def test_the_partitions_of_a_topic(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=3)
    async with Consumer(bootstrap_servers=cluster.bootstrap_servers) as reader:
        assert await reader.partitions_for("orders") == [0, 1, 2]
        for _ in range(2):  # it is not created
            with pytest.raises(ApiError, match="there is no topic missing") as unknown:
                await reader.partitions_for("missing")
            assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(TypeError, match="a topic is a text"):
            await reader.partitions_for(5)  # type: ignore[arg-type]
        cluster.kill(1)
        with pytest.raises(ApiError, match="cannot connect to"):
            await reader.partitions_for("orders", timeout=2)


@simulate(brokers=1, seeds=1)
async def test_offsets_without_a_broker_say_that_there_is_none(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    async with Consumer(bootstrap_servers=cluster.bootstrap_servers) as reader:
        cluster.kill(1)
        with pytest.raises(ApiError, match="cannot connect to"):
            await reader.end_offsets([TopicPartition("orders", 0)], timeout=2)


@simulate(brokers=1, seeds=1)
async def test_offsets_of_what_does_not_exist_are_asked_for_until_the_time_is_over(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    settings = {"default.api.timeout.ms": 2_000, "allow.auto.create.topics": False}
    async with Consumer(bootstrap_servers=cluster.bootstrap_servers, settings=settings) as reader:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(ApiError, match="no offsets of missing-0: unknown topic or partition") as unknown:
            await reader.end_offsets([TopicPartition("missing", 0)])
        assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (
            1.8 < asyncio.get_running_loop().time() - begun <= 2
        )  # the last attempt has time for its answer
        with pytest.raises(ApiError, match="no partition 1 of topic orders: it has 1") as absent:
            await reader.end_offsets([TopicPartition("orders", 0), TopicPartition("orders", 1)])
        assert absent.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_broker_that_goes_and_comes_back_is_logged_and_so_is_what_the_group_gives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @simulate(brokers=1, seeds=1)
    async def run(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=12)
        servers = cluster.bootstrap_servers
        async with Consumer(
            "orders", bootstrap_servers=servers, group_id="billing", client_id="shop"
        ) as reader:
            while not reader.assignment():
                await reader.poll(1)
            cluster.kill(1)
            await reader.poll(10)
            await cluster.start(1)
            await reader.poll(30)

    with (
        caplog.at_level(logging.INFO, logger="odradek.consumer"),
        caplog.at_level(logging.INFO, logger="odradek.client"),
    ):
        run()
    named = ", ".join(f"orders-{number}" for number in range(10))
    assert f"group billing: assigned {named} and 2 more" in caplog.messages
    of_client = [one.message for one in caplog.records if one.name == "odradek.client"]
    assert any(re.fullmatch(r"client shop: the connection to .* is lost: .*", one) for one in of_client)
    refused = r"client shop: cannot connect to .*: connection refused.*; it is tried again"
    assert 1 <= sum(re.fullmatch(refused, one) is not None for one in of_client) <= 4
    again = r"client shop: .* is connected again, after \d+ failures"
    assert any(re.fullmatch(again, one) for one in of_client)
