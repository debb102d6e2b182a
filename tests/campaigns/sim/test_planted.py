"""Trials find bugs that are planted into replication, with the default mix."""

import re
from pathlib import Path

import pytest
from campaigns.sim.planted import FOUND_BY, PLANTED

from odradek.testing.sim.trial.trial import run_trial

SEEDS_OF_CI = range(60)
"""`.ci/run` holds these clean without a bug; else a violation with one would say nothing."""
SEEDS_MAX = 20
"""So many seeds may be needed to find a bug."""


def test_every_bug_that_is_found_has_a_seed() -> None:
    assert set(FOUND_BY) == set(PLANTED)
    assert max(FOUND_BY.values()) < SEEDS_MAX <= len(SEEDS_OF_CI)


def test_the_page_lists_the_bugs_and_their_seeds() -> None:
    page = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()
    rows = dict(
        re.findall(r"^\| (.+) \| (\d+|none .+) \|$", page.partition("| planted bug |")[2], re.MULTILINE)
    )
    assert {bug: int(seed) for bug, seed in rows.items() if seed.isdecimal()} == FOUND_BY
    assert rows.keys() == PLANTED.keys()


def test_ci_runs_the_seeds_that_are_left_out_here() -> None:
    script = (Path(__file__).parents[3] / ".ci" / "run").read_text()
    assert f"./dev sim --seeds {SEEDS_OF_CI[0]}-{SEEDS_OF_CI[-1]} " in script


@pytest.mark.slow
@pytest.mark.parametrize("bug", FOUND_BY)
def test_some_of_twenty_seeds_finds_the_bug(bug: str) -> None:
    """The recorded seed is tried first; a change of the brokers gives it another history."""
    with PLANTED[bug]():
        seeds = (FOUND_BY[bug], *range(SEEDS_MAX))
        assert any(run_trial(seed, stops_early=True).violations for seed in seeds)
