"""Small items grouped into steps."""

from odradek.base.execution import ITEMS_PER_STEP, Pace


def test_a_step_is_over_when_its_items_are_counted() -> None:
    pace = Pace()
    assert [pace.is_over() for _ in range(2 * ITEMS_PER_STEP)].count(True) == 2


def test_many_items_at_once_end_one_step() -> None:
    pace = Pace(3)
    assert [pace.is_over(items) for items in (2, 7, 2, 1)] == [False, True, False, True]
