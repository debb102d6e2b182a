"""The kinds of mishaps."""

from odradek.testing.sim.trial.mishap_kinds import KINDS_FOR_ANY, KINDS_FOR_RUNNING
from odradek.testing.sim.trial.mishap_windows import WINDOWS
from odradek.testing.sim.trial.plan import DISK_LOSSES, WEIGHTS


def test_every_kind_that_plans_draw_is_in_one_table() -> None:
    assert sorted([*KINDS_FOR_RUNNING, *KINDS_FOR_ANY, *WINDOWS]) == sorted([*WEIGHTS, *DISK_LOSSES])
