"""How many disks may lose something at once, and when a broker counts as whole again."""

from odradek.testing.sim import World
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.workloads.topics import creation


def test_another_broker_may_lose_its_power_when_the_first_is_whole_again() -> None:
    """R15, R15e: it is whole when it is in the ISR of all its partitions anew."""
    world = World(brokers=3)
    view = ClusterView(world)
    world.nodes[view.controller()].ask(creation("t", 2, 3, min_insync_replicas="2"))
    world.advance(1_000)
    losses = DiskLosses(view)
    assert losses.may_lose(2)
    losses.note_loss(2)
    world.lose_power(2)
    assert losses.has_lost
    assert losses.may_lose(2)
    assert not losses.may_lose(3)
    world.node(2)
    world.advance(10_000)
    assert losses.lacking() == []
    assert losses.may_lose(3)
