"""One kill beside a run: at its step, once, and not after the run."""

from pathlib import Path
from threading import Event

import pytest
from campaigns.pipelines.moments import QUERY, Moment
from campaigns.pipelines.strike import Strike

LONG_MS = 3_600_000
WAIT_S = 60.0


class Counted:
    """A victim that notes what is done to it."""

    def __init__(self) -> None:
        self.kills = 0
        self.mends = 0
        self.is_killed = Event()

    def kill(self) -> str:
        self.kills += 1
        self.is_killed.set()
        return "it"

    def mend(self) -> None:
        self.mends += 1


def test_a_kill_at_a_step_comes_before_the_run_goes_on(tmp_path: Path) -> None:
    victim = Counted()
    strike = Strike(Moment("SEALED", 0), victim, tmp_path)
    strike.reached("WRITTEN")
    assert victim.kills == 0
    strike.reached("SEALED")
    assert victim.kills == 1
    strike.reached("SEALED")  # of another batch
    assert strike.end() == "it"
    assert (victim.kills, victim.mends) == (1, 1)


@pytest.mark.parametrize("moment", [Moment("STAGED", LONG_MS), Moment(QUERY, 0), Moment("SEALED", 0)])
def test_a_run_that_ends_before_its_kill_has_none(tmp_path: Path, moment: Moment) -> None:
    victim = Counted()
    strike = Strike(moment, victim, tmp_path)
    strike.reached("STAGED")
    assert strike.end() == ""
    assert (victim.kills, victim.mends) == (0, 0)


def test_a_kill_within_a_query_waits_for_it(tmp_path: Path) -> None:
    victim = Counted()
    strike = Strike(Moment(QUERY, 1), victim, tmp_path)
    strike.reached("STAGED")
    steps = tmp_path / "_staging-0" / "_state" / "stage=1" / "offsets"
    steps.mkdir(parents=True)
    assert victim.kills == 0
    (steps / "0").touch()
    assert victim.is_killed.wait(WAIT_S)
    assert strike.end() == "it"
    assert (victim.kills, victim.mends) == (1, 1)
