"""What a test can ask of its cluster, do to it, and check, with an unmodified client."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import NotEnoughReplicasError, UnknownTopicOrPartitionError

from odradek.base.errors import ApiError
from odradek.base.ids import NO_TOPIC_ID
from odradek.testing import Cluster, PromiseBroken, WaitTimeout
from odradek.testing.application.checks import what_is_missing
from odradek.testing.application.simulation import Simulation
from odradek.testing.application.traffic import Acknowledged


def run(test: Callable[[Cluster], Coroutine[Any, Any, Any]], brokers: int = 1, seed: int = 1) -> Any:
    return Simulation(seed, brokers=brokers).run(test)


def producer(cluster: Cluster, **options: Any) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", **options)


async def send(cluster: Cluster, count: int, *, pause: float = 0.0, **options: Any) -> None:
    async with producer(cluster, **options) as sender:
        for number in range(count):
            await sender.send_and_wait("orders", b"%d" % number, partition=0)
            await asyncio.sleep(pause)


async def numbers(cluster: Cluster) -> list[int]:
    return [int(record.text) for record in await cluster.records("orders")]


def test_what_is_produced_is_in_the_topic_with_the_simulation_s_time() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        await send(cluster, 3)
        records = await cluster.records("orders")
        assert [record.text for record in records] == ["0", "1", "2"]
        assert records[0].timestamp.timestamp() < 1_700_001_000

    run(test)


def test_a_topic_is_as_it_was_asked_for() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=2, replication_factor=2, min_insync_replicas=2)
        for number in range(2):
            assert len(cluster.in_sync("orders", number)) == 2
            assert cluster.leader_of("orders", number) in cluster.in_sync("orders", number)
        assert cluster.controller in cluster.brokers
        with pytest.raises(ApiError, match="orders"):
            await cluster.create_topic("orders")
        with pytest.raises(LookupError):
            await cluster.records("others")
        with pytest.raises(LookupError, match="there is no topic others"):
            cluster.leader_of("others")
        with pytest.raises(LookupError, match="there is no partition 7 of topic orders: it has 2"):
            cluster.in_sync("orders", 7)
        with pytest.raises(ApiError, match="topic wide: 4 replicas need as many brokers"):
            await cluster.create_topic("wide", replication_factor=4)
        with pytest.raises(LookupError, match=r"there is no broker 7; there are \[1, 2, 3\]"):
            cluster.kill(7)

    run(test, brokers=3)


@pytest.mark.slow
def test_a_group_reads_what_an_idempotent_producer_sends() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=3)
        sending = asyncio.create_task(send(cluster, 50, enable_idempotence=True))
        found = []
        async with AIOKafkaConsumer(
            "orders",
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="billing",
            auto_offset_reset="earliest",
        ) as consumer:
            async for message in consumer:
                found.append(int(message.value))
                if len(found) == 50:
                    break
            assert await consumer.committed(TopicPartition("orders", 0)) is None
            await consumer.commit()
            assert await consumer.committed(TopicPartition("orders", 0)) == 50
        await sending
        assert found == list(range(50))

    run(test, brokers=3)


@pytest.mark.slow
def test_a_group_is_waited_for_in_virtual_time() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=2)
        group = cluster.group("billing")
        with pytest.raises(
            WaitTimeout, match="no broker coordinates group billing; waited 5 s for any members"
        ):
            await group.stable(within=5)
        await send(cluster, 10)
        consumers = [
            AIOKafkaConsumer(
                "orders",
                bootstrap_servers=cluster.bootstrap_servers,
                group_id="billing",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            for _ in range(2)
        ]
        for consumer in consumers:
            await consumer.start()
        found = await group.stable(members=2)
        assert sorted(len(one.partitions) for one in found.members) == [1, 1]
        with pytest.raises(
            WaitTimeout, match=r"group billing is behind: orders-\d by \d+.*; waited 1 s for no lag"
        ):
            await group.lag_zero("orders", within=1)
        for consumer in consumers:
            (partition,) = consumer.assignment()
            while await consumer.position(partition) < await end_of(consumer, partition):
                await consumer.getone()
            await consumer.commit()
        assert sum((await group.lag_zero()).values()) == 10
        for consumer in consumers:
            await consumer.stop()
        assert (await group.stable(members=0)).state == "Empty"
        cluster.kill(cluster.leader_of("orders"))
        assert sum((await group.lag_zero("orders")).values()) == 10

    run(test, brokers=3)


async def end_of(consumer: AIOKafkaConsumer, partition: TopicPartition) -> int:
    ends = await consumer.end_offsets([partition])
    return int(ends[partition])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "lose_power", "pause", "isolate", "expire_session"])
def test_a_producer_gets_over_the_loss_of_its_leader(fault: str) -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", min_insync_replicas=2)
        sending = asyncio.create_task(send(cluster, 60, pause=0.1, enable_idempotence=True))
        await asyncio.sleep(random.uniform(1, 3))
        before = cluster.leader_of("orders")
        getattr(cluster, fault)(before)
        await asyncio.sleep(30)
        assert fault == "expire_session" or cluster.leader_of("orders") != before
        await cluster.recover()
        await sending
        assert await numbers(cluster) == list(range(60))
        await cluster.check()

    run(test, brokers=3)


@pytest.mark.parametrize(("delay_s", "survives"), [(0.0, True), (0.05, False)])
def test_a_fault_between_two_messages_needs_a_slow_network(delay_s: float, survives: bool) -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        leader = cluster.leader_of("orders")
        for follower in set(cluster.brokers) - {leader}:
            cluster.slow(leader, follower, delay_s)
        async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks=1) as sender:
            await sender.send_and_wait("orders", b"1")
        await asyncio.sleep(0.001)
        cluster.kill(leader)
        await asyncio.sleep(30)
        assert bool(await numbers(cluster)) == survives

    run(test, brokers=3)


@pytest.mark.slow
def test_a_stop_and_a_restart_lose_nothing() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", min_insync_replicas=2)
        sending = asyncio.create_task(send(cluster, 60, pause=0.2, enable_idempotence=True))
        await asyncio.sleep(2)
        for broker in cluster.brokers:
            await cluster.restart(broker)
        await sending
        assert await numbers(cluster) == list(range(60))
        await cluster.check()

    run(test, brokers=3)


def test_a_broker_that_was_killed_is_restarted() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", min_insync_replicas=2)
        await send(cluster, 3)
        leader = cluster.leader_of("orders")
        cluster.kill(leader)
        await cluster.restart(leader)
        await cluster.recover()
        assert cluster.in_sync("orders").count(leader) == 1
        assert await numbers(cluster) == [0, 1, 2]

    run(test, brokers=3)


def test_faults_of_one_broker() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        fault = cluster.faults(1).error("Produce", "NOT_ENOUGH_REPLICAS", times=1)
        await send(cluster, 1)
        assert fault.hits == 1
        with cluster.faults(1).error("Produce", "NOT_ENOUGH_REPLICAS"), pytest.raises(NotEnoughReplicasError):
            await send(cluster, 1, request_timeout_ms=1_000)
        assert NotEnoughReplicasError is not UnknownTopicOrPartitionError

    run(test)


def test_a_record_that_is_not_where_it_was_acknowledged_is_found() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        await send(cluster, 3)
        await cluster.check()
        (first, *_) = acknowledged = simulation.traffic.acknowledged
        acknowledged.append(
            Acknowledged("orders", NO_TOPIC_ID, 0, 1, first.batch, "test", 1, at_ms=12_000),
        )
        with pytest.raises(PromiseBroken, match=r"another record at offset 1, .* b'0' to test at 12\.000 s"):
            await cluster.check()
        acknowledged[-1] = Acknowledged("orders", NO_TOPIC_ID, 0, 7, first.batch, "test", 1, at_ms=12_000)
        with pytest.raises(PromiseBroken, match=r"orders-0 has nothing at offset 7"):
            await cluster.check()

    simulation = Simulation(1, brokers=1)
    simulation.run(test)


def test_replicas_that_differ_are_found() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        await send(cluster, 3)
        await cluster.check()
        leader = cluster.leader_of("orders")
        follower = next(broker for broker in cluster.brokers if broker != leader)
        log = simulation.world.nodes[follower].log("orders")
        (segment,) = log.segments
        disk = simulation.world.disk(follower)
        path = f"{log.path}/{segment.base_offset:020}.log"
        file = disk.file(path)
        file.write_at(b"9", file.size_bytes() - 2)
        with pytest.raises(PromiseBroken, match=f"orders-0 differs below HW 3 on brokers {leader} and"):
            await cluster.check()

    simulation = Simulation(1, brokers=2)
    simulation.run(test)


def test_what_keeps_a_replica_from_being_in_sync_is_named() -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        assert what_is_missing(simulation.world) == ""
        cluster.kill(2)
        assert what_is_missing(simulation.world) == "broker 2 does not serve"
        await cluster.recover()
        assert sorted(cluster.in_sync("orders")) == [1, 2]

    simulation = Simulation(1, brokers=2)
    simulation.run(test)


def test_a_cluster_that_does_not_recover_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.testing.application.cluster.what_is_missing", lambda world: "it is broken")

    async def test(cluster: Cluster) -> None:
        with pytest.raises(PromiseBroken, match="20 s after the faults have ended, it is broken"):
            await cluster.recover(within=20)
        assert asyncio.get_running_loop().time() > 20

    run(test)
