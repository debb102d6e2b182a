"""A failing history becomes shorter as long as it still fails."""

from collections.abc import Collection

import pytest
from campaigns.sim.shorten import RUNS_MAX, shorten


@pytest.mark.parametrize("needed", [{3}, {0, 9}, {2, 5, 7}, set(), set(range(10))])
def test_what_is_left_is_what_is_needed(needed: set[int]) -> None:
    assert shorten(range(10), lambda kept: needed <= set(kept)) == sorted(needed)


def test_the_number_of_runs_is_bounded() -> None:
    runs = []

    def fails(kept: Collection[int]) -> bool:
        runs.append(kept)
        return set(range(0, 60, 2)) <= set(kept)

    kept = shorten(range(60), fails)
    assert len(runs) <= RUNS_MAX
    assert set(range(0, 60, 2)) <= set(kept)
