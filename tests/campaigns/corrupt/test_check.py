"""The corruption campaign: a few seeds of it, and that its checks can fail."""

from random import Random

import pytest
from campaigns.corrupt.__main__ import run_logs
from campaigns.corrupt.check import start_and_check
from campaigns.corrupt.damage import Damage, do_damage, files_of
from campaigns.corrupt.world import World

from odradek.base.ids import TopicPartition
from odradek.storage import recovery


@pytest.mark.parametrize("seed", [*range(1, 13), 21, 133, 192, 263, 435, 441, 461, 515])
def test_one_damage_is_never_a_wrong_or_silent_answer(seed: int) -> None:
    """L1 L4: the later seeds are those that found something once."""
    _, _, findings = run_logs(seed)
    assert findings.wrong == []


def world_with(clean_stop: bool = True, seed: int = 4) -> World:
    world = World(Random(seed))
    world.fill(clean_stop=clean_stop)
    return world


def removed(world: World, partition: TopicPartition | str, ending: str, number: int) -> Damage:
    paths = [path for path in files_of(world.disk) if f"/{partition}/" in path and path.endswith(ending)]
    world.disk.remove(paths[number])
    return Damage(paths[number], ending, "removed", 0)


def test_without_damage_there_is_nothing_to_find() -> None:
    for clean_stop in (True, False):
        world = world_with(clean_stop)
        findings = start_and_check(world, Damage("", "", "", 0))
        assert (findings.wrong, findings.unreadable, findings.refused) == ([], 0, None)
        assert bool(findings.lines) != clean_stop


def test_a_start_that_trusts_transaction_indexes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with()
    damage = removed(world, "payments-0", ".txnindex", 0)
    monkeypatch.setattr(recovery._Loader, "_check_transactions", lambda self, trusted: None)
    assert any("aborted records are shown" in wrong for wrong in start_and_check(world, damage).wrong)


def test_a_start_that_forgets_lost_offsets_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with()
    damage = removed(world, "orders-0", ".log", -1)

    def nothing_lost(
        self: recovery._Loader,
        recovery_point: int,
        high_watermark: int,
        log_start_offset: int,
        *,
        stopped_cleanly: bool,
    ) -> None:
        self.reached_offset = self.end_offset

    monkeypatch.setattr(recovery._Loader, "_note_lost_offsets", nothing_lost)
    assert any("was given out again" in wrong for wrong in start_and_check(world, damage).wrong)


def test_a_start_that_says_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with()
    damage = removed(world, "orders-0", ".log", -1)
    monkeypatch.setattr("odradek.storage.log_manager.OpeningReport.lines", lambda self: [])
    assert any("gone without a word" in wrong for wrong in start_and_check(world, damage).wrong)


def test_a_seed_is_always_the_same_damage() -> None:
    first, second = World(Random(7)), World(Random(7))
    for world in (first, second):
        world.fill(clean_stop=True)
    assert do_damage(first.disk, first.random) == do_damage(second.disk, second.random)
