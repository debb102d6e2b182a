"""Administrators whose operations do not end."""

import asyncio
from collections.abc import Awaitable
from typing import Final

from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.states.groups import GROUP, OFFSETS, ONE_COPY
from campaigns.why.trial import State
from odradek import LATEST
from odradek.aio import Admin
from odradek.client.core.waiting import Cause


def _begun(scene: Scene, admin: Admin, operation: Awaitable[object]) -> Admin:
    """An administrator with this operation under way."""
    scene.begin(scene.heard_of(_awaited(operation)))
    return admin


async def _awaited(operation: Awaitable[object]) -> None:
    await operation


async def no_broker(scene: Scene) -> Stuck:
    """All brokers are dead."""
    admin = scene.admin()
    if scene.chance.random() < 0.5:
        await admin.describe_cluster()
    for broker in scene.cluster.brokers:
        scene.cluster.kill(broker)
    return Stuck(_begun(scene, admin, admin.describe_cluster()), Expected(Cause.NO_BROKER))


async def no_coordinator(scene: Scene) -> Stuck:
    """The only copy of `__consumer_offsets` is on a broker that died."""
    await scene.topic()
    consumer = scene.consumer("orders", group_id=GROUP)
    await scene.until(consumer.assignment, "there is a group")
    broker = scene.cluster.leader_of(OFFSETS)
    scene.cluster.kill(broker)
    scene.cluster.expire_session(broker)
    await asyncio.sleep(scene.chance.uniform(0, 5))
    admin = scene.admin()
    operation = scene.chance.choice((admin.describe_group, admin.list_group_offsets))
    expected = Expected(Cause.NO_COORDINATOR, {"key": GROUP, "kind": "GROUP"}, since_ms=scene.now_ms)
    return Stuck(_begun(scene, admin, operation(GROUP)), expected)


async def no_leader(scene: Scene) -> Stuck:
    """The partition that is asked about has no leader."""
    await scene.topic(replication_factor=1)
    leader = scene.cluster.leader_of("orders")
    scene.cluster.kill(leader)
    scene.cluster.expire_session(leader)
    await asyncio.sleep(scene.chance.uniform(1, 5))
    admin = scene.admin()
    data = {"operation": "list_offsets", "code": "LEADER_NOT_AVAILABLE"}
    expected = Expected(Cause.RETRY, data, since_ms=scene.now_ms)
    return Stuck(_begun(scene, admin, admin.list_offsets({scene.at("orders"): LATEST})), expected)


async def leader_silent(scene: Scene) -> Stuck:
    """The leader that is asked is cut off, or stands still; it may also be the broker asked who leads."""
    await scene.topic()
    admin = scene.admin()
    while "orders" not in await admin.list_topics():  # a broker may not know it yet
        await asyncio.sleep(0.1)
    await admin.list_offsets({scene.at("orders"): LATEST})
    leader = scene.cluster.leader_of("orders")
    if scene.chance.random() < 0.5:
        scene.cluster.cut(scene.host, leader)
    else:
        scene.cluster.pause(leader)
    data = {"operation": "list_offsets", "node": leader}
    operation = admin.list_offsets({scene.at("orders"): LATEST})
    return Stuck(_begun(scene, admin, operation), Expected(Cause.REQUEST, data))


ADMINS: Final = (
    State("admin: all brokers dead", no_broker, {}),
    State("admin: no group coordinator", no_coordinator, ONE_COPY),
    State("admin: no leader", no_leader, {}),
    State("admin: leader silent", leader_silent, {}),
)
