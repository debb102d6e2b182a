"""The methods of `LocalCluster` for coroutine tests; see `asynchronous`.

leader = await cluster.aio.leader_of("orders")
await cluster.aio.kill(leader)
"""

from __future__ import annotations

from odradek.testing.asynchronous import AsyncGroup, twin_of
from odradek.testing.local_cluster import LocalCluster


class AsyncClusterVerbs:
    """The methods of a `LocalCluster`, as coroutines."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.owner = cluster

    start = twin_of(LocalCluster.start)
    stop = twin_of(LocalCluster.stop)
    restart = twin_of(LocalCluster.restart)
    kill = twin_of(LocalCluster.kill)
    pause = twin_of(LocalCluster.pause)
    resume = twin_of(LocalCluster.resume)
    restore = twin_of(LocalCluster.restore)
    close = twin_of(LocalCluster.close)
    isolate = twin_of(LocalCluster.isolate)
    expire_session = twin_of(LocalCluster.expire_session)
    pause_store = twin_of(LocalCluster.pause_store)
    resume_store = twin_of(LocalCluster.resume_store)
    leader_of = twin_of(LocalCluster.leader_of)
    controller = twin_of(LocalCluster.controller)
    coordinator_of = twin_of(LocalCluster.coordinator_of)
    move_leader = twin_of(LocalCluster.move_leader)
    move_coordinator = twin_of(LocalCluster.move_coordinator)
    directory_of = twin_of(LocalCluster.directory_of)
    wait_in_sync = twin_of(LocalCluster.wait_in_sync)
    create_topic = twin_of(LocalCluster.create_topic)
    delete_topic = twin_of(LocalCluster.delete_topic)
    topics = twin_of(LocalCluster.topics)
    produce = twin_of(LocalCluster.produce)
    records = twin_of(LocalCluster.records)
    wait_for = twin_of(LocalCluster.wait_for)
    wait_group_at_rest = twin_of(LocalCluster.wait_group_at_rest)
    wait_lag_zero = twin_of(LocalCluster.wait_lag_zero)

    def group(self, name: str) -> AsyncGroup:
        """See `LocalCluster.group`."""
        return AsyncGroup(self.owner.group(name))
