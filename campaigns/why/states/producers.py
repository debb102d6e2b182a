"""Producers whose records are not acknowledged, or whose transactions do not go on."""

import asyncio
from typing import Final

from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.trial import State
from odradek.aio import Producer
from odradek.client.core.waiting import Cause

ONE_COPY: Final = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
}
TRANSACTIONS: Final = "__transaction_state"
ID: Final = "till-1"


async def _warm(scene: Scene, replicas: int, **settings: object) -> tuple[Producer, int]:
    """A producer that has written a record, and the leader of the only partition."""
    await scene.topic(replication_factor=replicas)
    producer = scene.producer(**settings)
    await (await producer.send("orders", b"first"))
    return producer, scene.cluster.leader_of("orders")


async def topic_missing(scene: Scene) -> Stuck:
    """The topic of a record does not exist."""
    producer = scene.producer()
    scene.send(producer, "orders")
    return Stuck(producer, Expected(Cause.UNKNOWN_TOPIC, {"topic": "orders"}))


async def leader_dead(scene: Scene) -> Stuck:
    """The only replica is on a broker that dies."""
    producer, leader = await _warm(scene, 1)
    scene.cluster.kill(leader)
    scene.cluster.expire_session(leader)
    scene.send(producer, "orders")
    return Stuck(producer, Expected(Cause.NO_LEADER, {"partition": "orders-0"}))


async def leader_silent(scene: Scene) -> Stuck:
    """The leader is cut off, or stands still; the connection stays open."""
    producer, leader = await _warm(scene, scene.chance.choice((1, 3)))
    if scene.chance.random() < 0.5:
        scene.cluster.cut(scene.host, leader)
    else:
        scene.cluster.pause(leader)
    scene.send(producer, "orders")
    expected = Expected(Cause.REQUEST, {"partition": "orders-0", "node": leader}, since_ms=scene.now_ms)
    return Stuck(producer, expected)


async def leader_refuses_connections(scene: Scene) -> Stuck:
    """The leader lives and leads, and closes every connection."""
    producer, leader = await _warm(scene, 1)
    faults = scene.cluster.faults(leader)
    faults.refuse_connections()
    faults.drop_connections()
    scene.send(producer, "orders")
    return Stuck(producer, Expected(Cause.NO_CONNECTION, {"partition": "orders-0", "node": leader}))


async def follower_silent(scene: Scene) -> Stuck:
    """acks=all waits for a follower that stands still and is in sync until its lag shows."""
    producer, leader = await _warm(scene, 3)
    follower = scene.chance.choice([one for one in scene.cluster.brokers if one != leader])
    scene.cluster.pause(follower)
    scene.send(producer, "orders")
    return Stuck(producer, Expected(Cause.REQUEST, {"partition": "orders-0", "node": leader}))


async def too_few_in_sync(scene: Scene) -> Stuck:
    """acks=all, and fewer replicas are in sync than min.insync.replicas."""
    await scene.topic(min_insync_replicas=2)
    leader = scene.cluster.leader_of("orders")
    for broker in scene.cluster.brokers:
        if broker != leader:
            scene.cluster.kill(broker)
            scene.cluster.expire_session(broker)
    await scene.until(lambda: scene.cluster.in_sync("orders") == [leader], "only the leader is in sync")
    producer = scene.producer()
    scene.send(producer, "orders")
    data = {"partition": "orders-0", "code": "NOT_ENOUGH_REPLICAS"}
    return Stuck(producer, Expected(Cause.RETRY, data))


async def memory_used_up(scene: Scene) -> Stuck:
    """The leader does not answer, and records fill buffer.memory."""
    producer, leader = await _warm(scene, 3, buffer_memory=20_000, batch_size=4_000)
    scene.cluster.pause(leader)
    for _ in range(scene.chance.randint(8, 12)):
        scene.send(producer, "orders", b"a" * 3_000)
    return Stuck(producer, Expected(Cause.MEMORY, {"limit": 20_000}))


async def linger(scene: Scene) -> Stuck:
    """A batch waits for more records."""
    producer, _ = await _warm(scene, 3)
    await producer.close()
    linger_ms = scene.chance.randint(3_000, 60_000)
    patient = scene.producer(linger_ms=linger_ms)
    scene.send(patient, "orders")
    return Stuck(patient, Expected(Cause.LINGER, {"partition": "orders-0", "ms": linger_ms}))


async def no_broker(scene: Scene) -> Stuck:
    """All brokers are dead."""
    producer, _ = await _warm(scene, 3)
    for broker in scene.cluster.brokers:
        scene.cluster.kill(broker)
    scene.send(producer, "orders")
    return Stuck(producer, Expected(Cause.NO_BROKER))


async def fenced(scene: Scene) -> Stuck:
    """Another producer with the transactional id was started."""
    await scene.topic()
    producer = scene.producer(transactional_id=ID, linger_ms=0)
    await producer.init_transactions()
    await producer.begin_transaction()
    await (await producer.send("orders", b"a"))

    async def take_over() -> None:
        async with scene.producer(transactional_id=ID) as newer:
            await newer.init_transactions()

    await scene.other(take_over(), "second till")
    scene.send(producer, "orders")
    await scene.until(lambda: scene.errors, "a record was refused")
    if scene.chance.random() < 0.5:
        await scene.heard(producer.abort_transaction())
    return Stuck(producer, Expected(Cause.FENCED, {"transactional_id": ID}))


async def coordinator_missing(scene: Scene) -> Stuck:
    """The only copy of `__transaction_state` is on a broker that died."""
    first = scene.producer(transactional_id=ID)
    await first.init_transactions()
    await first.close()
    broker = scene.cluster.leader_of(TRANSACTIONS)
    scene.cluster.kill(broker)
    scene.cluster.expire_session(broker)
    await asyncio.sleep(scene.chance.uniform(0, 5))
    producer = scene.producer(transactional_id=ID)
    scene.begin(scene.heard(producer.init_transactions()))
    data = {"key": ID, "kind": "TRANSACTION"}
    return Stuck(producer, Expected(Cause.NO_COORDINATOR, data, since_ms=scene.now_ms))


async def earlier_transaction(scene: Scene) -> Stuck:
    """The end of an earlier transaction cannot be written, because its partition has no leader."""
    await scene.topic(replication_factor=1)
    first = scene.producer(transactional_id=ID, linger_ms=0)
    await first.init_transactions()
    await first.begin_transaction()
    await (await first.send("orders", b"a"))
    first.abandon()
    leader = scene.cluster.leader_of("orders")
    scene.cluster.kill(leader)
    scene.cluster.expire_session(leader)
    await asyncio.sleep(2)
    producer = scene.producer(transactional_id=ID)
    scene.begin(scene.heard(producer.init_transactions()))
    data = {"transactional_id": ID, "code": "CONCURRENT_TRANSACTIONS"}
    return Stuck(producer, Expected(Cause.RETRY, data))


PRODUCERS: Final = (
    State("producer: topic missing", topic_missing, {"auto.create.topics.enable": "false"}),
    State("producer: leader dead", leader_dead, {}),
    State("producer: leader silent", leader_silent, {}),
    State("producer: leader refuses connections", leader_refuses_connections, {}),
    State("producer: follower silent", follower_silent, {}),
    State("producer: too few in sync", too_few_in_sync, {}),
    State("producer: memory used up", memory_used_up, {}),
    State("producer: linger", linger, {}),
    State("producer: all brokers dead", no_broker, {}),
    State("producer: fenced", fenced, {}),
    State("producer: no transaction coordinator", coordinator_missing, ONE_COPY),
    State("producer: earlier transaction does not end", earlier_transaction, {}),
)
