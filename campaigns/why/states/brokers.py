"""Consumers whose brokers are away, cut off, or silent."""

import asyncio
from typing import Final

from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.states.groups import AT_ONCE, GROUP, OFFSETS, ONE_COPY
from campaigns.why.trial import State
from odradek.aio import Consumer
from odradek.client.core.waiting import Cause


async def _reader(scene: Scene, *, replicas: int) -> tuple[Consumer, int]:
    """A consumer at the end of a topic, and the leader of the only partition."""
    records = scene.chance.randint(0, 3)
    await scene.topic(records=records, replication_factor=replicas)
    consumer = scene.consumer(assigned=[scene.at("orders")])
    await asyncio.sleep(2)
    return consumer, scene.cluster.leader_of("orders")


async def leader_dead(scene: Scene) -> Stuck:
    """The only replica is on a broker that dies, and its session ends."""
    consumer, leader = await _reader(scene, replicas=1)
    scene.cluster.kill(leader)
    scene.cluster.expire_session(leader)
    return Stuck(consumer, Expected(Cause.NO_LEADER, {"partition": "orders-0"}))


async def leader_unknown(scene: Scene) -> Stuck:
    """A consumer that begins when the partition has no leader."""
    await scene.topic(replication_factor=1, partitions=3)
    leader = scene.cluster.leader_of("orders", 0)
    scene.cluster.kill(leader)
    scene.cluster.expire_session(leader)
    await asyncio.sleep(scene.chance.uniform(1, 10))
    consumer = scene.consumer(assigned=[scene.at("orders", number) for number in range(3)])
    return Stuck(consumer, Expected(Cause.NO_LEADER, {"partition": "orders-0"}))


async def leader_cut_off(scene: Scene) -> Stuck:
    """Nothing passes between the consumer and the leader; the connection stays open."""
    consumer, leader = await _reader(scene, replicas=scene.chance.choice((1, 3)))
    scene.cluster.cut(scene.host, leader)
    data = {"partition": "orders-0", "node": leader, "api": "Fetch"}
    return Stuck(consumer, Expected(Cause.REQUEST, data))


async def leader_silent(scene: Scene) -> Stuck:
    """The leader's process stands still for less than its session."""
    consumer, leader = await _reader(scene, replicas=scene.chance.choice((1, 3)))
    scene.cluster.pause(leader)
    await asyncio.sleep(scene.chance.uniform(0, 5))
    data = {"partition": "orders-0", "node": leader, "api": "Fetch"}
    return Stuck(consumer, Expected(Cause.REQUEST, data))


async def leader_half_way(scene: Scene) -> Stuck:
    """The connection is accepted, and then nothing comes."""
    await scene.topic(replication_factor=1)
    leader = scene.cluster.leader_of("orders")
    scene.cluster.faults(leader).delay(600, "ApiVersions", client="observed")
    others = [broker for broker in scene.cluster.brokers if broker != leader]
    consumer = scene.quiet_consumer(
        client_id="observed", bootstrap_servers=scene.addresses(others), metadata_max_age_ms=600_000
    )
    consumer.assign([scene.at("orders")])
    scene.poll(consumer)
    return Stuck(consumer, Expected(Cause.REQUEST, {"partition": "orders-0", "node": leader}))


async def leader_refuses_connections(scene: Scene) -> Stuck:
    """The leader lives and leads, and closes every connection."""
    consumer, leader = await _reader(scene, replicas=1)
    faults = scene.cluster.faults(leader)
    faults.refuse_connections()
    faults.drop_connections()
    return Stuck(consumer, Expected(Cause.NO_CONNECTION, {"partition": "orders-0", "node": leader}))


async def leader_not_ready(scene: Scene) -> Stuck:
    """The leader answers each fetch with an error that will pass."""
    await scene.topic(records=2)
    code = scene.chance.choice(("KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "OFFSET_NOT_AVAILABLE"))
    for broker in scene.cluster.brokers:
        scene.cluster.faults(broker).error("Fetch", code, client="observed")
    consumer = scene.consumer(assigned=[scene.at("orders")], client_id="observed")
    return Stuck(consumer, Expected(Cause.RETRY, {"partition": "orders-0", "code": code}))


async def no_broker(scene: Scene) -> Stuck:
    """All brokers are dead."""
    if scene.chance.random() < 0.5:
        consumer, _ = await _reader(scene, replicas=3)
    else:
        await scene.topic()
        consumer = scene.consumer("orders", group_id=GROUP)
        await scene.until(consumer.assignment, "the member has the partition")
    for broker in scene.cluster.brokers:
        scene.cluster.kill(broker)
    return Stuck(consumer, Expected(Cause.NO_BROKER))


async def all_silent(scene: Scene) -> Stuck:
    """Nothing passes between the consumer and the brokers."""
    await scene.topic()
    for broker in scene.cluster.brokers:
        scene.cluster.cut(scene.host, broker)
    consumer = scene.consumer(assigned=[scene.at("orders")])
    return Stuck(consumer, Expected(Cause.NO_BROKER))


async def coordinator_cut_off(scene: Scene) -> Stuck:
    """A member wants to join, and nothing passes between it and its coordinator."""
    await scene.topic()
    protocol = scene.chance.choice(("classic", "consumer"))
    first = scene.consumer("orders", group_id=GROUP, group_protocol=protocol)
    await scene.until(first.assignment, "the member has the partition")
    await first.close()
    coordinator = scene.cluster.leader_of(OFFSETS)
    others = [broker for broker in scene.cluster.brokers if broker != coordinator]
    scene.cluster.cut(scene.host, coordinator)
    consumer = scene.quiet_consumer(
        "orders", group_id=GROUP, group_protocol=protocol, bootstrap_servers=scene.addresses(others)
    )
    scene.poll(consumer)
    return Stuck(consumer, Expected(Cause.REQUEST, {"node": coordinator}))


async def login_refused(scene: Scene) -> Stuck:
    """The client logs in, and the brokers know no login."""
    await scene.topic()
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": scene.chance.choice(("PLAIN", "SCRAM-SHA-256")),
        "sasl.username": "till",
        "sasl.password": "secret",
    }
    consumer = scene.quiet_consumer(**login)
    consumer.assign([scene.at("orders")])
    scene.poll(consumer)
    return Stuck(consumer, Expected(Cause.REFUSED, {"code": "ILLEGAL_SASL_STATE"}))


BROKERS: Final = (
    State("leader dead", leader_dead, {}),
    State("no leader at the beginning", leader_unknown, {}),
    State("leader cut off", leader_cut_off, {}),
    State("leader silent", leader_silent, {}),
    State("connection stalled half-way", leader_half_way, {}),
    State("leader refuses connections", leader_refuses_connections, {}),
    State("leader not ready", leader_not_ready, {}),
    State("all brokers dead", no_broker, AT_ONCE),
    State("all brokers cut off", all_silent, {}),
    State("login refused", login_refused, {}),
    State("coordinator cut off", coordinator_cut_off, ONE_COPY),
)
