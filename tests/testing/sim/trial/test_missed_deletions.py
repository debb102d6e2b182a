"""When a replica was away for so long that compaction may have removed what it was to get."""

import pytest

from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.missed_deletions import RETENTION_SETTING, MissedDeletions
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench

RETENTION_MS = 5_000


def watched(bench: ClusterBench, retention_ms: int = RETENTION_MS) -> tuple[MissedDeletions, DiskLosses]:
    losses = DiskLosses(bench.scene.view)
    return MissedDeletions(bench.scene.view, losses, {RETENTION_SETTING: str(retention_ms)}), losses


@pytest.mark.parametrize(("away_ms", "may_have_missed"), [(4_000, False), (5_000, True)])
def test_a_replica_out_of_the_isr_for_the_retention_may_have_missed_a_deletion(
    away_ms: int, may_have_missed: bool
) -> None:
    bench = ClusterBench()
    missed, _ = watched(bench)
    bench.write_state((1, 2), leader=1)
    missed.on_store()
    bench.world.clock.advance(away_ms)
    bench.write_state((1, 2, 3), leader=1)
    missed.on_store()
    assert missed.may_have_missed(bench.place) is may_have_missed


def test_a_disk_that_lost_records_may_get_them_anew_without_what_is_deleted() -> None:
    bench = ClusterBench()
    missed, losses = watched(bench)
    assert not missed.may_have_missed(bench.place)
    losses.note_loss(3)
    assert missed.may_have_missed(bench.place)


def test_nothing_is_missed_where_deletions_stay_for_longer_than_a_trial() -> None:
    bench = ClusterBench()
    missed, losses = watched(bench, 86_400_000)
    losses.note_loss(3)
    bench.write_state((1, 2), leader=1)
    missed.on_store()
    bench.world.clock.advance(60_000)
    bench.write_state((1, 2, 3), leader=1)
    missed.on_store()
    assert not missed.may_have_missed(bench.place)
