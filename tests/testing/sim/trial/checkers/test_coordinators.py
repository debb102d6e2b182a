"""What the checker of coordinators finds."""

import pytest

from odradek.coordinator.groups import GroupCoordinator
from odradek.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from odradek.testing.sim import SimNode
from odradek.testing.sim.trial.checkers import Scene
from odradek.testing.sim.trial.checkers.coordinators import CoordinatorsLead
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.history import History
from odradek.testing.sim.trial.plan import draw_plan
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.server.node.clusters import GROUP, TRANSACTION, Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; one coordinates the group g, one the transactional id pay."""
    made = Cluster()
    made.create("t")
    topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])]
    committed = made.ask(made.coordinator(GROUP, "g"), OffsetCommitRequest("g", topics=topics), 8)
    assert committed.topics[0].partitions[0].error_code == 0
    paying = made.coordinator(TRANSACTION, "pay")
    assert made.ask(paying, InitProducerIdRequest("pay", 60_000), 4).error_code == 0
    made.world.advance(1_000)
    return made


def found(cluster: Cluster) -> list[str]:
    """What the checker says of it now."""
    view = ClusterView(cluster.world)
    checker = CoordinatorsLead(Scene(view, History(), DiskLosses(view), draw_plan(1)))
    checker.conclude()
    return [violation.words for violation in checker.found.values()]


def deposed(cluster: Cluster, coordinator: SimNode) -> None:
    """Its session ends while it stands still; it goes on as a follower."""
    cluster.world.pause(coordinator.broker_id)
    cluster.world.expire_session(coordinator.broker_id)
    cluster.world.advance(1_000)
    cluster.world.resume(coordinator.broker_id)
    cluster.world.advance(10_000)


def test_coordinators_that_forget_what_they_no_longer_lead(cluster: Cluster) -> None:
    """R19."""
    assert found(cluster) == []
    deposed(cluster, cluster.coordinator(GROUP, "g"))
    deposed(cluster, cluster.coordinator(TRANSACTION, "pay"))
    assert found(cluster) == []


def test_a_group_that_is_kept(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """R19: later it would be served as it was, and another broker has changed it since."""
    monkeypatch.setattr(GroupCoordinator, "resign", lambda self, partition: None)
    first = cluster.coordinator(GROUP, "g")
    deposed(cluster, first)
    partition = first.core.groups.topic.partition_of("g")
    assert found(cluster) == [
        f"broker {first.broker_id} has the group g, and does not lead __consumer_offsets-{partition}"
    ]


def test_a_transactional_id_that_is_kept(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """R19."""
    monkeypatch.setattr(TransactionCoordinator, "resign", lambda self, index: None)
    first = cluster.coordinator(TRANSACTION, "pay")
    deposed(cluster, first)
    partition = first.core.transactions.topic.partition_of("pay")
    assert found(cluster) == [
        f"broker {first.broker_id} has the transactional id pay, and does not lead"
        f" __transaction_state-{partition}"
    ]
