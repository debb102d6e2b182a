"""Trials of our clients find bugs that are planted into them, with the default mix."""

import pytest
from campaigns.clients.planted import FOUND_BY, PLANTED
from campaigns.clients.trial import run_trial

QUICK = (
    "a batch that is sent again goes behind the others",
    "reading begins one behind the committed offset",
)
"""Those that are looked for here; `./dev clients --planted` looks for all of them."""


def test_every_bug_has_a_seed_that_finds_it() -> None:
    assert set(FOUND_BY) == set(PLANTED)
    assert len(PLANTED) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("bug", QUICK)
def test_the_seed_finds_the_bug(bug: str) -> None:
    with PLANTED[bug]():
        assert run_trial(FOUND_BY[bug]).violations


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({FOUND_BY[bug] for bug in QUICK}))
def test_without_a_bug_the_seed_is_clean(seed: int) -> None:
    """Else a violation would say nothing about the bug."""
    assert run_trial(seed).violations == []
