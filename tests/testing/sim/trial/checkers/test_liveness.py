"""What the checker of the order after mishaps finds."""

import pytest

from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.image import PartitionImage
from odradek.metadata.store import SetData
from odradek.testing.sim import World
from odradek.testing.sim.trial.checkers import Scene
from odradek.testing.sim.trial.checkers.liveness import ClusterIsInOrder
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.history import History
from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.workloads.topics import creation

REPLICAS = {"orders": 3, "notes": 1}


def found(topic: str, *, emptied: bool) -> list[str]:
    """What it says of partition 0 of a topic of all trials that has no leader."""
    world = World(brokers=3)
    view = ClusterView(world)
    losses = DiskLosses(view)
    count = REPLICAS[topic]
    world.nodes[view.controller()].ask(creation(topic, 1, count, min_insync_replicas=str(min(2, count))))
    world.advance(1_000)
    ((_, replicas, _),) = view.states()
    state = PartitionImage(replicas, (), NO_BROKER, 1)
    path = paths.partition_state(*TopicPartition(topic, 0))
    world.store.connect().submit(SetData(path, codec.encode_state(state, 1)))
    world.store.deliver()
    if emptied:
        losses.note_emptied(replicas[0])
    checker = ClusterIsInOrder(Scene(view, History(), losses, draw_plan(1)))
    checker.conclude()
    return [violation.words for violation in checker.found.values() if "has no leader" in violation.words]


@pytest.mark.parametrize(("topic", "emptied"), [("notes", False), ("orders", False), ("orders", True)])
def test_a_partition_without_a_leader_is_not_in_order(topic: str, *, emptied: bool) -> None:
    """R15e: with min ISR 2 another replica has everything, whatever has happened to one disk."""
    assert len(found(topic, emptied=emptied)) == 1


def test_a_single_replica_whose_disk_is_empty_waits_for_an_operator() -> None:
    """R15e: it does not come back by itself, as an empty log would look like the partition."""
    assert found("notes", emptied=True) == []
