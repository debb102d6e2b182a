"""Consumers whose partitions give nothing: paused, at the end, held up, unreadable, without a position."""

import asyncio
from typing import Final

from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.states.groups import AT_ONCE, GROUP
from campaigns.why.trial import State
from odradek.aio import Consumer, Producer
from odradek.client.core.waiting import Cause
from odradek.testing.sim.world import World

HOUR_MS: Final = 3_600_000


async def paused(scene: Scene) -> Stuck:
    """The application has paused all that it reads."""
    count = scene.chance.randint(1, 4)
    await scene.topic(partitions=count, records=scene.chance.randint(0, 3))
    consumer = scene.consumer(assigned=[scene.at("orders", number) for number in range(count)])
    await asyncio.sleep(scene.chance.uniform(0, 3))
    consumer.pause(consumer.assignment())
    await asyncio.sleep(0.5)
    return Stuck(consumer, Expected(Cause.PAUSED))


async def at_end(scene: Scene) -> Stuck:
    """Everything is read."""
    records = scene.chance.randint(0, 5)
    await scene.topic(records=records)
    consumer = scene.consumer(assigned=[scene.at("orders")])
    await scene.until(lambda: _position(consumer) == records, "all records are read")
    return Stuck(consumer, Expected(Cause.AT_END, {"partition": "orders-0", "position": records}))


async def large_records(scene: Scene) -> Stuck:
    """Records above the limits of a fetch are read one by one (KIP-74); then the consumer is at the end."""
    await scene.topic()
    records = scene.chance.randint(1, 4)
    async with scene.producer(linger_ms=0) as producer:
        for _ in range(records):
            await (await producer.send("orders", bytes(scene.chance.randint(2_000, 90_000))))
    consumer = scene.consumer(
        assigned=[scene.at("orders")], fetch_max_bytes=1_000, max_partition_fetch_bytes=1_000
    )
    await scene.until(lambda: _position(consumer) == records, "all records are read")
    return Stuck(consumer, Expected(Cause.AT_END, {"partition": "orders-0", "position": records}))


async def clock_set(scene: Scene) -> Stuck:
    """Everything is read, and the clocks of all machines are set, forward or back."""
    records = scene.chance.randint(1, 5)
    await scene.topic(records=records)
    consumer = scene.consumer(assigned=[scene.at("orders")])
    await scene.until(lambda: _position(consumer) == records, "all records are read")
    _set_clocks(scene)
    return Stuck(consumer, Expected(Cause.AT_END, {"partition": "orders-0", "position": records}))


def _set_clocks(scene: Scene) -> None:
    for broker in scene.cluster.brokers:
        scene.world.jump_clock(broker, scene.chance.randint(-5 * HOUR_MS, 5 * HOUR_MS))


def _position(consumer: Consumer) -> int:
    """Where the only partition is read."""
    (state,) = consumer._core.subscription.states.values()
    return state.offset


async def _with_open_transaction(scene: Scene, records: int) -> Producer:
    """A producer with a transaction that it leaves open, behind this many committed records."""
    await scene.topic(records=records)
    producer = scene.producer(transactional_id="till-1", linger_ms=0)
    await producer.init_transactions()
    await producer.begin_transaction()
    await (await producer.send("orders", b"a"))
    return producer


async def open_transaction(scene: Scene) -> Stuck:
    """A read-committed consumer is held up by a producer that does not end its transaction."""
    records = scene.chance.randint(0, 4)
    producer = await _with_open_transaction(scene, records)
    consumer = scene.consumer(assigned=[scene.at("orders")], isolation_level="read_committed")
    await scene.until(lambda: _position(consumer) == records, "the committed records are read")
    begun_ms = scene.now_ms
    if scene.chance.random() < 0.3:
        _set_clocks(scene)
    await asyncio.sleep(scene.chance.uniform(0, 40))
    assert producer._parts is not None
    identity = producer._parts.core.identity
    assert identity is not None
    data = {"partition": "orders-0", "position": records, "producer_id": identity.producer_id}
    return Stuck(consumer, Expected(Cause.OPEN_TRANSACTION, data, since_ms=begun_ms))


async def committed_in_transaction(scene: Scene) -> Stuck:
    """The group's offsets are part of an open transaction, so no member may take them (KIP-447)."""
    producer = await _with_open_transaction(scene, 3)
    await producer.send_offsets_to_transaction({scene.at("orders"): 2}, GROUP)
    consumer = scene.consumer("orders", group_id=GROUP)
    await scene.until(consumer.assignment, "the member has the partition")
    data = {"partition": "orders-0", "code": "UNSTABLE_OFFSET_COMMIT"}
    return Stuck(consumer, Expected(Cause.NO_POSITION, data))


async def out_of_range(scene: Scene) -> Stuck:
    """The position was deleted, or never written, and nothing says where to go on."""
    await scene.topic(records=scene.chance.randint(0, 3))
    consumer = scene.quiet_consumer(auto_offset_reset="none")
    consumer.assign([scene.at("orders")])
    position = scene.chance.randint(4, 900)
    consumer.seek(scene.at("orders"), position)
    scene.poll(consumer)
    await scene.until(lambda: scene.errors, "the application was told")
    data = {"partition": "orders-0", "position": position}
    return Stuck(consumer, Expected(Cause.OFFSET_OUT_OF_RANGE, data))


async def no_committed_offset(scene: Scene) -> Stuck:
    """The group has committed nothing, and nothing says where to begin."""
    await scene.topic(records=scene.chance.randint(0, 3))
    consumer = scene.consumer("orders", group_id=GROUP, auto_offset_reset="none")
    await scene.until(lambda: scene.errors, "the application was told")
    data = {"partition": "orders-0", "setting": "auto.offset.reset"}
    return Stuck(consumer, Expected(Cause.NO_POSITION, data))


async def topic_missing(scene: Scene) -> Stuck:
    """No topic has the name."""
    if scene.chance.random() < 0.5:
        consumer = scene.consumer("orders", group_id=GROUP, allow_auto_create_topics=False)
    else:
        consumer = scene.consumer(assigned=[scene.at("orders")], allow_auto_create_topics=False)
    return Stuck(consumer, Expected(Cause.UNKNOWN_TOPIC, {"topic": "orders"}))


async def pattern_without_topic(scene: Scene) -> Stuck:
    """No topic matches the pattern."""
    await scene.topic("flights")
    consumer = scene.quiet_consumer(
        group_id=GROUP, group_protocol=scene.chance.choice(("classic", "consumer"))
    )
    consumer.subscribe(pattern="orders-.*")
    scene.poll(consumer)
    await asyncio.sleep(scene.chance.uniform(0, 10))
    return Stuck(consumer, Expected(Cause.UNKNOWN_TOPIC, {"pattern": "orders-.*"}))


async def topic_refused(scene: Scene) -> Stuck:
    """The consumer may not read the topic."""
    await scene.topic(records=2)
    for broker in scene.cluster.brokers:
        scene.cluster.faults(broker).error("Fetch", "TOPIC_AUTHORIZATION_FAILED", client="observed")
    consumer = scene.consumer(assigned=[scene.at("orders")], client_id="observed")
    await scene.until(lambda: scene.errors, "the application was told")
    data = {"partition": "orders-0", "code": "TOPIC_AUTHORIZATION_FAILED"}
    return Stuck(consumer, Expected(Cause.REFUSED, data))


async def corrupt_batch(scene: Scene) -> Stuck:
    """A bit of a stored batch was changed, on the disk of every replica."""
    records = scene.chance.randint(1, 4)
    await scene.topic(records=records)
    for broker in scene.cluster.brokers:
        _flip_last_byte(scene.world, broker)
    consumer = scene.consumer(assigned=[scene.at("orders")])
    await scene.until(lambda: scene.errors, "the application was told")
    data = {"partition": "orders-0", "position": records - 1}
    return Stuck(consumer, Expected(Cause.UNREADABLE, data))


def _flip_last_byte(world: World, broker: int) -> None:
    disk = world.disk(broker)
    (name, _) = next(one for one in disk.list_directory("/data/orders-0") if one[0].endswith(".log"))
    path = f"/data/orders-0/{name}"
    disk.open_node(path, create=False).content[-1] ^= 1


PARTITIONS: Final = (
    State("all partitions paused", paused, {}),
    State("at the end", at_end, {}),
    State("at the end of large records", large_records, {}),
    State("at the end, clocks set", clock_set, {}),
    State("open transaction", open_transaction, {}),
    State("committed offset in a transaction", committed_in_transaction, AT_ONCE),
    State("offset out of range", out_of_range, {}),
    State("no committed offset, reset none", no_committed_offset, AT_ONCE),
    State("topic missing", topic_missing, {"auto.create.topics.enable": "false", **AT_ONCE}),
    State("pattern without topic", pattern_without_topic, AT_ONCE),
    State("topic refused", topic_refused, {}),
    State("corrupt batch", corrupt_batch, {}),
)
