"""What a consumer sends, watched on the wire of a simulated cluster: rules C1, C2, C3 and C6."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from odradek.aio import Consumer, ConsumerRecord, TopicPartition
from odradek.base.buffers import Buffer
from odradek.net.request_pipeline import Outcome, RequestPipeline, SentRequest
from odradek.testing import Cluster, simulate
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchRequest
from tests.client.aio.producing import produce

CLIENT = "watched"


class Wire:
    """The fetches of the watched client that are in flight, by connection, and what they ask for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.in_flight: dict[str, int] = defaultdict(int)
        self.most = 0
        self.sent = 0
        # The first offset of each fetch of a partition.
        self.asked: list[tuple[int, int]] = []
        send, received = RequestPipeline.send, RequestPipeline.received
        wire = self

        def watched_send(
            self: RequestPipeline, request: Message, version: int, timeout_ms: int
        ) -> tuple[SentRequest, list[Buffer]]:
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
