"""The visits of `./dev kills --stages`: what stages shall give, and that the comparison finds differences."""

from random import Random

import pytest
from campaigns.pipelines.visits import HOUR_S, PLACES, WATERMARK_S, Sums, Visits, differences

WANTED: Sums = {(0, "Newark"): (2, 7), (HOUR_S, "New York"): (1, 3)}


def test_windows_hold_the_first_visit_of_each_id_that_has_a_city() -> None:
    visits, chance = Visits(), Random(3)
    parts = [visits.part(chance, may_be_late=number > 0) for number in range(6)]
    timely = [one for part in parts for one in part if one.second >= 0]
    firsts = {one.id: one for one in reversed(timely)}
    assert len(firsts) < len(timely)
    known = [one for one in firsts.values() if one.place != PLACES[-1]]
    sums = visits.sums().values()
    assert (sum(count for count, _ in sums), sum(total for _, total in sums)) == (
        len(known),
        sum(one.n for one in known),
    )


def test_only_what_is_meant_to_be_late_is_late() -> None:
    """Whichever parts are one batch: the watermark is that of the batches before."""
    visits, chance = Visits(), Random(4)
    newest, late = 0.0, 0
    for number in range(20):
        part = visits.part(chance, may_be_late=number > 0)
        late += sum(one.second <= newest - WATERMARK_S for one in part if number)
        newest = max(newest, *(one.second for one in part))
    assert late == visits.late > 0


def test_the_last_visit_ends_all_windows_but_its_own() -> None:
    visits = Visits()
    visits.part(Random(5), may_be_late=False)
    assert visits.last().second - WATERMARK_S > max(start for start, _ in visits.sums()) + HOUR_S


def test_windows_that_are_equal_do_not_differ() -> None:
    assert differences(dict(WANTED), WANTED) == []


@pytest.mark.parametrize(
    "found",
    [
        WANTED | {(0, "Newark"): (4, 14)},
        WANTED | {(0, "Newark"): (2, 8)},
        {(0, "Newark"): (2, 7)},
        WANTED | {(HOUR_S, "Newark"): (1, 1)},
    ],
    ids=["counted twice", "another duplicate", "missing", "too many"],
)
def test_a_window_that_is_not_as_it_should_be_is_found(found: Sums) -> None:
    (difference,) = differences(found, WANTED)
    assert difference.startswith("the window New")
