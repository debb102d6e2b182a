"""Answers in steps."""

from odradek.base.execution import ITEMS_PER_STEP, exhaust, listed, ordered, stepwise, stepwise_in


def test_every_item_is_made_in_order() -> None:
    assert exhaust(stepwise(range(100), str)) == [str(number) for number in range(100)]


def test_few_items_make_no_step() -> None:
    assert list(stepwise(range(ITEMS_PER_STEP - 1), str)) == []
    assert len(list(stepwise(range(3 * ITEMS_PER_STEP), str))) == 3
    assert len(list(stepwise(range(5), str, per_step=1))) == 5


def test_an_item_is_made_when_its_step_comes() -> None:
    made: list[int] = []
    steps = stepwise(range(10), made.append, per_step=2)
    next(steps)
    assert made == [0, 1]


def test_what_costs_next_to_nothing_is_listed_many_at_once() -> None:
    assert exhaust(listed(iter("abcde"), per_step=2)) == [*"abcde"]
    assert len(list(listed(range(5), per_step=2))) == 2
    assert list(listed(range(999))) == []


def test_members_are_made_by_group() -> None:
    words = ["ab", "", "cde"]
    steps = stepwise_in(words, iter, str.upper, lambda word, letters: (word, letters))
    assert exhaust(steps) == [("ab", ["A", "B"]), ("", []), ("cde", ["C", "D", "E"])]


def test_a_step_ends_after_so_many_groups_and_members() -> None:
    def steps_of(*sizes: int) -> int:
        return len(list(stepwise_in(sizes, range, str, lambda size, made: len(made), per_step=10)))

    assert steps_of(8) == 0
    assert steps_of(100) == 10
    assert steps_of(*[0] * 100) == 10
    assert steps_of(*[4] * 20) == 10


def test_many_are_sorted_in_runs_and_merged() -> None:
    numbers = [number * 7919 % 1_000 for number in range(1_000)]
    assert exhaust(ordered(numbers, per_step=64)) == sorted(numbers)
    assert exhaust(ordered(numbers, lambda number: -number, per_step=64)) == sorted(numbers, reverse=True)
    assert len(list(ordered(numbers, per_step=100))) == 10 + 40
    assert list(ordered(numbers)) == [None]
    assert list(ordered(numbers[:999])) == []
    assert exhaust(ordered([])) == []
