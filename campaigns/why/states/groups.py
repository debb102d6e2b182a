"""Stuck members of groups: no coordinator, rebalances that wait, refusals, no partitions."""

import asyncio
from typing import Any, Final

from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.trial import State
from odradek.aio import Consumer
from odradek.client.core.waiting import Cause

GROUP: Final = "billing"
CLASSIC: Final[dict[str, Any]] = {"group_id": GROUP, "group_protocol": "classic"}
NEW: Final[dict[str, Any]] = {"group_id": GROUP, "group_protocol": "consumer"}
AT_ONCE: Final = {"group.initial.rebalance.delay.ms": "0"}
"""A new classic group waits for no further members."""
ONE_COPY: Final = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    **AT_ONCE,
}
"""The broker of `__consumer_offsets` is the only one that can coordinate."""
OFFSETS: Final = "__consumer_offsets"


async def _refused_member(scene: Scene, code: str) -> Consumer:
    """A consumer whose group answers each join with this code."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    settings = _protocol(scene)
    api = "JoinGroup" if settings == CLASSIC else "ConsumerGroupHeartbeat"
    for broker in scene.cluster.brokers:
        scene.cluster.faults(broker).error(api, code)
    return scene.consumer("orders", **settings)


def _protocol(scene: Scene) -> dict[str, Any]:
    return dict(scene.chance.choice((CLASSIC, NEW)))


async def _joined(scene: Scene, consumer: Consumer) -> None:
    await scene.until(consumer.assignment, "the member has partitions")


async def coordinator_dead(scene: Scene) -> Stuck:
    """A member whose group has its only copy of `__consumer_offsets` on a broker that dies."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    consumer = scene.consumer("orders", **_protocol(scene))
    await _joined(scene, consumer)
    scene.cluster.kill(scene.cluster.leader_of(OFFSETS))
    await asyncio.sleep(6)  # by then it has sent a heartbeat
    return Stuck(consumer, Expected(Cause.NO_COORDINATOR, {"key": GROUP, "kind": "GROUP"}))


async def offsets_offline(scene: Scene) -> Stuck:
    """A consumer that begins when no broker can coordinate its group."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    first = scene.consumer("orders", **_protocol(scene))
    await _joined(scene, first)
    await first.close()
    scene.cluster.kill(scene.cluster.leader_of(OFFSETS))
    await asyncio.sleep(scene.chance.uniform(0, 30))
    consumer = scene.consumer("orders", **_protocol(scene))
    expected = Expected(Cause.NO_COORDINATOR, {"key": GROUP, "kind": "GROUP"}, since_ms=scene.now_ms)
    return Stuck(consumer, expected)


async def coordinator_not_named(scene: Scene) -> Stuck:
    """A consumer that begins while no broker knows who coordinates its group."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    for broker in scene.cluster.brokers:
        scene.cluster.faults(broker).error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    begun_ms = scene.now_ms
    consumer = scene.consumer("orders", **_protocol(scene))
    await asyncio.sleep(scene.chance.uniform(0, 60))
    data = {"key": GROUP, "kind": "GROUP", "code": "COORDINATOR_NOT_AVAILABLE"}
    return Stuck(consumer, Expected(Cause.NO_COORDINATOR, data, since_ms=begun_ms))


async def coordinator_wrong(scene: Scene) -> Stuck:
    """All brokers name a coordinator that says that it is none."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    for broker in scene.cluster.brokers:
        for api in ("JoinGroup", "ConsumerGroupHeartbeat"):
            scene.cluster.faults(broker).error(api, "NOT_COORDINATOR")
    consumer = scene.consumer("orders", **_protocol(scene))
    await asyncio.sleep(scene.chance.uniform(0, 60))
    return Stuck(consumer, Expected(Cause.NO_COORDINATOR, {"key": GROUP, "code": "NOT_COORDINATOR"}))


async def put_out(scene: Scene) -> Stuck:
    """The group does not know its member, also when it joins again as a new one."""
    consumer = await _refused_member(scene, "UNKNOWN_MEMBER_ID")
    await asyncio.sleep(scene.chance.uniform(5, 60))
    return Stuck(consumer, Expected(Cause.RETRY, {"group": GROUP, "code": "UNKNOWN_MEMBER_ID"}))


async def group_loading(scene: Scene) -> Stuck:
    """The coordinator has not read its groups yet."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    for broker in scene.cluster.brokers:
        for api in ("JoinGroup", "ConsumerGroupHeartbeat"):
            scene.cluster.faults(broker).error(api, "COORDINATOR_LOAD_IN_PROGRESS")
    consumer = scene.consumer("orders", **_protocol(scene))
    await asyncio.sleep(scene.chance.uniform(2, 60))
    return Stuck(consumer, Expected(Cause.RETRY, {"group": GROUP, "code": "COORDINATOR_LOAD_IN_PROGRESS"}))


async def _idle_member(scene: Scene, **settings: object) -> Consumer:
    """Another member, which polls until it has partitions, and then no more."""
    made: list[Consumer] = []

    async def idle() -> None:
        made.append(scene.quiet_consumer("orders", **settings))
        while not made[0].assignment():
            await made[0].poll(1)
        await asyncio.sleep(600)

    scene.other(idle(), "idle member")
    await scene.until(lambda: made and made[0].assignment(), "the other member has partitions")
    return made[0]


async def waits_for_members(scene: Scene) -> Stuck:
    """A rebalance of a classic group waits for a member whose application does not poll."""
    await scene.topic(partitions=scene.chance.randint(2, 4))
    await _idle_member(scene, **CLASSIC)
    begun_ms = scene.now_ms
    consumer = scene.consumer("orders", **CLASSIC)
    await asyncio.sleep(scene.chance.uniform(0, 20))
    expected = Expected(Cause.REBALANCE, {"group": GROUP, "at": "JOINING"}, since_ms=begun_ms)
    return Stuck(consumer, expected)


async def waits_for_owner(scene: Scene) -> Stuck:
    """The new protocol waits until the last owner, which does not poll, has given partitions back."""
    await scene.topic(partitions=scene.chance.randint(2, 4))
    owner = await _idle_member(scene, **NEW)
    begun_ms = scene.now_ms
    consumer = scene.consumer("orders", **NEW)
    await asyncio.sleep(scene.chance.uniform(0, 20))
    data = {"group": GROUP, "at": "GIVING_BACK", "member": owner.group_metadata().member_id}
    return Stuck(consumer, Expected(Cause.REBALANCE, data, since_ms=begun_ms))


async def waits_for_assignment(scene: Scene) -> Stuck:
    """The leader of a classic group cannot send the assignment."""
    await scene.topic(partitions=scene.chance.randint(2, 4))
    leaders: list[Consumer] = []

    async def lead() -> None:
        leaders.append(scene.quiet_consumer("orders", client_id="leader", **CLASSIC))
        while True:
            await leaders[0].poll(1)

    scene.other(lead(), "leader")
    await scene.until(lambda: leaders and leaders[0].assignment(), "the leader has partitions")
    for broker in scene.cluster.brokers:
        scene.cluster.faults(broker).error("SyncGroup", "COORDINATOR_LOAD_IN_PROGRESS", client="leader")
    consumer = scene.consumer("orders", **CLASSIC)
    await scene.until(lambda: consumer.group_metadata().generation_id > 0, "the consumer has joined")
    member = leaders[0].group_metadata().member_id
    data = {"group": GROUP, "at": "SYNCING", "member": member}
    return Stuck(consumer, Expected(Cause.REBALANCE, data))


async def waits_for_poll(scene: Scene) -> Stuck:
    """Heartbeats say that the group rebalances, and the application does not poll (kafka-python #1418)."""
    await scene.topic(partitions=2)
    consumer = scene.quiet_consumer("orders", **CLASSIC)
    while not consumer.assignment():
        await consumer.poll(1)

    async def join() -> None:
        newcomer = scene.quiet_consumer("orders", **CLASSIC)
        while True:
            await newcomer.poll(1)

    scene.other(join(), "newcomer")
    await asyncio.sleep(4 + scene.chance.uniform(0, 20))
    return Stuck(consumer, Expected(Cause.REBALANCE, {"group": GROUP, "at": "REVOKING"}))


async def static_member_fenced(scene: Scene) -> Stuck:
    """A second member of a classic group takes the instance id, and the application gives up."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    static: dict[str, Any] = {**CLASSIC, "group_instance_id": "till-1"}
    consumer = scene.quiet_consumer("orders", **static)

    async def poll_until_refused() -> None:
        while True:
            await consumer.poll(1)

    scene.begin(scene.heard_of(poll_until_refused()))
    await _joined(scene, consumer)

    async def take_over() -> None:
        newcomer = scene.quiet_consumer("orders", **static)
        while True:
            await newcomer.poll(1)

    scene.other(take_over(), "second till")
    await scene.until(lambda: scene.errors, "the member is fenced")
    return Stuck(consumer, Expected(Cause.FENCED, {"group": GROUP, "instance": "till-1"}))


async def instance_in_use(scene: Scene) -> Stuck:
    """A static member of the new protocol whose instance id another one still has."""
    await scene.topic(partitions=scene.chance.randint(1, 3))
    static: dict[str, Any] = {**NEW, "group_instance_id": "till-1"}
    await _idle_member(scene, **static)
    consumer = scene.consumer("orders", **static)
    return Stuck(consumer, Expected(Cause.FENCED, {"group": GROUP, "instance": "till-1"}))


async def group_refused(scene: Scene) -> Stuck:
    """The consumer may not read with the group."""
    consumer = await _refused_member(scene, "GROUP_AUTHORIZATION_FAILED")
    await scene.until(lambda: scene.errors, "the group refuses the member")
    data = {"group": GROUP, "code": "GROUP_AUTHORIZATION_FAILED"}
    return Stuck(consumer, Expected(Cause.REFUSED, data))


async def more_members_than_partitions(scene: Scene) -> Stuck:
    """Every partition has another owner."""
    await scene.topic(partitions=1)
    settings = _protocol(scene)
    owners: list[Consumer] = []

    async def own() -> None:
        owners.append(scene.quiet_consumer("orders", **settings))
        while True:
            await owners[0].poll(1)

    scene.other(own(), "owner")
    await scene.until(lambda: owners and owners[0].assignment(), "the owner has the partition")
    consumer = scene.consumer("orders", **settings)
    # A classic group may give the partition to either of them.
    await asyncio.sleep(10)
    idle = owners[0] if consumer.assignment() else consumer
    assert not idle.assignment()
    return Stuck(idle, Expected(Cause.NO_PARTITIONS, {"group": GROUP}))


async def poll_not_called(scene: Scene) -> Stuck:
    """The application works for longer than max.poll.interval.ms."""
    await scene.topic(partitions=scene.chance.randint(1, 3), records=2)
    consumer = scene.quiet_consumer("orders", **_protocol(scene), max_poll_interval_ms=10_000)
    while not await consumer.poll(1):
        pass
    begun_ms = scene.now_ms
    await asyncio.sleep(scene.chance.uniform(10, 400))
    return Stuck(consumer, Expected(Cause.POLL_NOT_CALLED, since_ms=begun_ms))


async def records_wait_for_poll(scene: Scene) -> Stuck:
    """Records were fetched, and the application is busy."""
    await scene.topic(partitions=scene.chance.randint(2, 3), records=3)
    consumer = scene.quiet_consumer("orders", **_protocol(scene), max_poll_records=1)
    while not await consumer.poll(1):
        pass
    await asyncio.sleep(scene.chance.uniform(0, 20))
    return Stuck(consumer, Expected(Cause.RECORDS_READY))


GROUPS: Final = (
    State("coordinator's broker dead", coordinator_dead, ONE_COPY),
    State("__consumer_offsets offline", offsets_offline, ONE_COPY),
    State("no broker knows the coordinator", coordinator_not_named, AT_ONCE),
    State("named coordinator is none", coordinator_wrong, AT_ONCE),
    State("member put out again and again", put_out, AT_ONCE),
    State("coordinator loads its groups", group_loading, AT_ONCE),
    State("rebalance waits for a member", waits_for_members, AT_ONCE),
    State("rebalance waits for an owner", waits_for_owner, AT_ONCE),
    State("rebalance waits for the assignment", waits_for_assignment, AT_ONCE),
    State("rebalance waits for poll", waits_for_poll, AT_ONCE),
    State("static member fenced", static_member_fenced, AT_ONCE),
    State("instance id in use", instance_in_use, AT_ONCE),
    State("group refuses the member", group_refused, AT_ONCE),
    State("more members than partitions", more_members_than_partitions, AT_ONCE),
    State("poll not called", poll_not_called, AT_ONCE),
    State("records wait for poll", records_wait_for_poll, AT_ONCE),
)
