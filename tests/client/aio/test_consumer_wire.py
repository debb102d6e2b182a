"""What a consumer sends, watched on the wire of a simulated cluster: rules C1 to C7."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from odradek.aio import Consumer, ConsumerRecord, TopicPartition
from odradek.base.buffers import Buffer
from odradek.net.request_pipeline import Outcome, RequestPipeline, SentRequest
from odradek.testing import Cluster, simulate
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchRequest
from tests.client.aio.producing import produce

CLIENT = "watched"


class Wire:
    """The requests of the watched client, and its fetches: by connection in flight, and what they ask for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.in_flight: dict[str, int] = defaultdict(int)
        self.most = 0
        self.sent = 0
        # The names of all requests, in order.
        self.names: list[str] = []
        # The first offset of each fetch of a partition.
        self.asked: list[tuple[int, int]] = []
        send, received = RequestPipeline.send, RequestPipeline.received
        wire = self

        def watched_send(
            self: RequestPipeline, request: Message, version: int, timeout_ms: int
        ) -> tuple[SentRequest, list[Buffer]]:
            if self._client_id == CLIENT:
                wire.names.append(type(request).__name__.removesuffix("Request"))
            if isinstance(request, FetchRequest) and self._client_id == CLIENT:
                wire.sent += 1
                wire.in_flight[self.address] += 1
                wire.most = max(wire.most, wire.in_flight[self.address])
                wire.asked += [
                    (one.partition, one.fetch_offset) for topic in request.topics for one in topic.partitions
                ]
            return send(self, request, version, timeout_ms)

        def watched_received(self: RequestPipeline, size_bytes: int) -> Sequence[Outcome]:
            outcomes = received(self, size_bytes)
            if self._client_id == CLIENT:
                for outcome in outcomes:
                    wire.in_flight[self.address] -= outcome.request.name == "FetchRequest"
            return outcomes

        patch.setattr(RequestPipeline, "send", watched_send)
        patch.setattr(RequestPipeline, "received", watched_received)


class Lines(logging.Handler):
    """What is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def watched(cluster: Cluster, **settings: Any) -> Consumer:
    return Consumer(
        bootstrap_servers=cluster.bootstrap_servers,
        client_id=CLIENT,
        auto_offset_reset="earliest",
        **settings,
    )


@simulate(brokers=3, seeds=3)
async def test_c3_c6_no_second_fetch_to_a_node_and_none_of_a_buffered_partition(cluster: Cluster) -> None:
    """C3, C6."""
    await cluster.create_topic("orders", partitions=4)
    await produce(cluster, range(80), partitions=4)
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch)
        async with watched(cluster, max_poll_records=3) as reader:
            reader.assign([TopicPartition("orders", number) for number in range(4)])
            count = 0
            while count < 80:
                buffered = reader._core.fetcher.buffered
                before = len(wire.asked)
                records = await reader.poll(5)
                count += len(records)
                still = reader._core.fetcher.buffered & buffered
                fetched = {number for number, _ in wire.asked[before:]}
                assert not fetched & {one.partition for one in still}, "a partition with data was fetched"
        assert wire.most == 1
        assert len(wire.asked) == len(set(wire.asked)), "nothing is fetched twice"


@simulate(brokers=1, seeds=3)
async def test_c2_the_next_fetch_is_on_its_way_before_records_are_returned(cluster: Cluster) -> None:
    """C2."""
    await cluster.create_topic("orders")
    await produce(cluster, range(20))
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch)
        async with watched(cluster) as reader:
            reader.assign([TopicPartition("orders", 0)])
            records: list[ConsumerRecord] = []
            while len(records) < 20:
                sent = wire.sent
                taken = await reader.poll(5)
                if taken and not reader._core.fetcher.buffered:
                    assert wire.sent > sent
                    assert sum(wire.in_flight.values()) == 1
                records += taken
            assert wire.asked[-1] == (0, 20)


@simulate(brokers=1, seeds=3)
async def test_c1_a_poll_without_time_still_gets_on(cluster: Cluster) -> None:
    """C1."""
    await cluster.create_topic("orders")
    await produce(cluster, range(5))
    async with watched(cluster) as reader:
        reader.assign([TopicPartition("orders", 0)])
        assert await reader.poll(0) == []
        count = 0
        while count < 5:
            count += len(await reader.poll(0))
            await asyncio.sleep(0.001)
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await reader.poll(1.5) == []
        assert loop.time() - began >= 1.5
        began = loop.time()
        waiting = asyncio.create_task(reader.poll(60))
        await produce(cluster, range(5, 6))
        assert len(await waiting) == 1
        assert loop.time() - began < 1, "the wait ends as soon as a fetch has come"


@simulate(brokers=1, seeds=3)
async def test_c4_a_fetch_that_fails_is_logged_and_sent_again_from_the_same_offset(cluster: Cluster) -> None:
    """C4."""
    await cluster.create_topic("orders")
    await produce(cluster, range(6))
    leader = cluster.leader_of("orders")
    log, said = logging.getLogger("odradek.consumer"), Lines()
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch)
        patch.setattr(log, "level", logging.INFO)
        patch.setattr(log, "handlers", [said])
        async with watched(cluster, max_poll_records=4) as reader:
            reader.assign([TopicPartition("orders", 0)])
            cluster.faults(leader).error("Fetch", "UNKNOWN_SERVER_ERROR", client=CLIENT, times=2)
            found = [one.offset for one in await reader.poll(5)]
            assert wire.asked == [(0, 0)] * 3, "twice in vain"
            found += [one.offset for one in await reader.poll(5)]
            assert found == [*range(6)]
            assert (0, 4) not in wire.asked, "the rest of what came stays next in line"
    assert said.lines == [f"a fetch of orders-0 from broker {leader} was refused: unknown server error"] * 2


@simulate(brokers=1, seeds=3)
async def test_c5_the_next_fetch_begins_behind_what_is_stepped_over_or_where_it_was_sought(
    cluster: Cluster,
) -> None:
    """C5."""
    await cluster.create_topic("orders")
    await produce(cluster, range(4))
    async with AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, transactional_id="shop"
    ) as producer:
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"-1", partition=0)
        await producer.abort_transaction()
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch)
        async with watched(cluster, max_poll_records=2, isolation_level="read_committed") as reader:
            one = TopicPartition("orders", 0)
            reader.assign([one])
            assert [record.offset for record in await reader.poll(5)] == [0, 1]
            reader.pause([one])
            sent = list(wire.asked)
            assert await reader.poll(2) == []
            assert wire.asked == sent, "nothing is fetched while it is paused"
            reader.resume([one])
            assert [record.offset for record in await reader.poll(5)] == [2, 3]
            assert await reader.poll(1) == []
            assert wire.asked[-1] == (0, 6), "behind the aborted record and its marker"
            reader.seek(one, 1)
            assert [record.offset for record in await reader.poll(5)] == [1, 2]
            assert wire.asked[-1] == (0, 1)


@simulate(brokers=3, seeds=3)
async def test_c7_a_poll_joins_finds_positions_commits_and_validates_them(cluster: Cluster) -> None:
    """C7."""
    await cluster.create_topic("orders", replication_factor=3)
    await produce(cluster, range(3))
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch)
        async with watched(cluster, group_id="billing", auto_commit_interval_ms=1_000) as reader:
            reader.subscribe(["orders"])
            while not await reader.poll(5):
                pass
            steps = ("FindCoordinator", "ConsumerGroupHeartbeat", "OffsetFetch", "ListOffsets", "Fetch")
            firsts = [wire.names.index(name) for name in steps]
            assert firsts == sorted(firsts)
            assert "OffsetCommit" not in wire.names
            await asyncio.sleep(1)
            await reader.poll(0.1)
            await reader.poll(0.1)
            assert "OffsetCommit" in wire.names
            assert "OffsetForLeaderEpoch" not in wire.names
            asked = wire.names.count("Metadata")
            await cluster.stop(cluster.leader_of("orders"))
            async with asyncio.timeout(60):
                while "OffsetForLeaderEpoch" not in wire.names:
                    await reader.poll(1)
            assert wire.names.count("Metadata") > asked
