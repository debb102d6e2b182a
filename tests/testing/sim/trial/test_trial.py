"""Trials: whole clusters under load and mishaps, which all checkers find in order; a seed is one history."""

import hashlib
import os
import subprocess
import sys

import pytest

from odradek.testing.sim.trial.checkers import Checker
from odradek.testing.sim.trial.plan import DISK_LOSSES, WEIGHTS, draw_plan
from odradek.testing.sim.trial.trial import Trial, run_trial


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 6])
def test_the_seed_is_clean(seed: int) -> None:
    """R2, R3, R5c, R7, R10, R11, R15, X1, X4."""
    outcome = run_trial(seed)
    assert [str(violation) for violation in outcome.violations] == []
    assert outcome.requests > 2_000


@pytest.mark.slow
def test_without_mishaps_nothing_moves_after_the_start() -> None:
    outcome = run_trial(3, mishaps=())
    assert [str(violation) for violation in outcome.violations] == []
    assert outcome.counts["controller moves"] == 0
    assert outcome.counts["truncations"] == 0
    assert outcome.told == ()


def test_a_trial_may_end_at_its_first_violation() -> None:
    class Strict(Checker):
        NAME = "nothing happens"

        def look(self) -> None:
            self.violated("anything", "something happens")

    trial = Trial(draw_plan(3), stops_early=True)
    trial.checkers = [Strict(trial.scene)]
    outcome = trial.run()
    assert [violation.words for violation in outcome.violations] == ["something happens"]
    assert outcome.steps < 1_000


def test_leaving_mishaps_out_does_not_change_the_others() -> None:
    plan = draw_plan(5)
    assert plan == draw_plan(5)
    assert sorted(mishap.number for mishap in plan.mishaps) == list(range(len(plan.mishaps)))
    assert list(plan.mishaps) == sorted(plan.mishaps, key=lambda mishap: mishap.at_ms)


def test_the_loss_of_a_disk_is_one_mishap_more() -> None:
    plans = [draw_plan(seed) for seed in range(200)]
    losing = [plan for plan in plans if any(mishap.kind in DISK_LOSSES for mishap in plan.mishaps)]
    assert 30 <= len(losing) <= 70
    for plan in losing:
        others = [mishap for mishap in plan.mishaps if mishap.kind not in DISK_LOSSES]
        assert [mishap.number for mishap in others] == list(range(len(plan.mishaps) - 1))


def test_a_thousand_plans_hold_every_kind_of_mishap_often() -> None:
    found = dict.fromkeys([*WEIGHTS, *DISK_LOSSES], 0)
    for seed in range(1_000):
        for mishap in draw_plan(seed).mishaps:
            found[mishap.kind] += 1
    assert min(found[kind] for kind in WEIGHTS) >= 200
    assert min(found[kind] for kind in DISK_LOSSES) >= 80


def trace_of(seed: int) -> str:
    trial = Trial(draw_plan(seed), is_traced=True)
    trial.run()
    assert trial.world.trace is not None
    return hashlib.sha256("\n".join(trial.world.trace).encode()).hexdigest()


@pytest.mark.slow
def test_a_seed_is_one_history_under_every_hash_seed() -> None:
    code = "from tests.testing.sim.trial.test_trial import trace_of; print(trace_of(1))"
    traces = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "77", "4095", "4294967295")
    }
    assert len(traces) == 1
