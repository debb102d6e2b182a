"""Which mishaps a campaign on a cluster draws, and what it finds while they happen."""

from itertools import islice
from pathlib import Path
from random import Random

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.carrying_out import PROGRESS_S, Progress, check_unchanged
from campaigns.crash.clusters import ZooKeeperCluster
from campaigns.crash.mishaps import OF_SUPERVISORS, OF_ZOOKEEPER, Mishap, drawn, possible
from peers.zookeeper import ZooKeeperMissing

from odradek.testing.cluster_process import ClusterProcess


def test_every_mishap_comes_before_any_comes_again() -> None:
    assert set(islice(drawn(Random(1)), len(Mishap))) == set(Mishap)


def test_a_seed_decides_the_order() -> None:
    first, again, other = (list(islice(drawn(Random(seed)), 25)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_each_kind_of_cluster_has_its_mishaps(tmp_path: Path) -> None:
    supervised = possible(ClusterProcess(tmp_path, 3, log_path=tmp_path / "log"))
    assert set(supervised) == set(Mishap) - OF_ZOOKEEPER
    try:
        around = ZooKeeperCluster(tmp_path / "data", 3, settings={}, log_path=tmp_path / "log")
    except ZooKeeperMissing as missing:
        pytest.skip(str(missing))
    assert set(possible(around)) == set(Mishap) - OF_SUPERVISORS


def test_acknowledgements_that_go_on_are_progress() -> None:
    progress = Progress(0, 0.0)
    for round_ in range(1, 5):
        progress.note(round_, round_ * PROGRESS_S)


def test_what_a_load_does_not_tell_is_not_judged() -> None:
    Progress(None, 0.0).note(None, 3 * PROGRESS_S)


def test_acknowledgements_that_stop_are_found() -> None:
    progress = Progress(0, 0.0)
    progress.note(7, 1.0)
    progress.note(7, 1.0 + PROGRESS_S)
    with pytest.raises(Broken, match="nothing was acknowledged"):
        progress.note(7, 1.1 + PROGRESS_S)


@pytest.mark.parametrize("now", [{"a-0": (1, [1, 2])}, {"a-0": (2, [1, 2, 3])}, {}])
def test_a_change_of_leader_or_isr_is_found(now: dict[str, tuple[int, list[int]]]) -> None:
    before = {"a-0": (1, [1, 2, 3])}
    check_unchanged([before, before], [before, dict(before)])
    with pytest.raises(Broken, match="leader and ISR of a-0 have changed"):
        check_unchanged([before, before], [before, now])
