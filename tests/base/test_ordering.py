"""Order that is made one by one."""

from dataclasses import dataclass
from functools import total_ordering

from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ordering import in_order


@given(st.lists(st.tuples(st.text(max_size=2), st.integers())))
def test_it_is_the_order_of_sorted(items: list[tuple[str, int]]) -> None:
    """Equal keys keep their order."""
    assert list(in_order(items, lambda item: item[0])) == sorted(items, key=lambda item: item[0])


def test_the_items_are_those_of_the_call() -> None:
    items = ["b", "a"]
    found = in_order(items, str)
    items.append("c")
    assert list(found) == ["a", "b"]


@total_ordering
@dataclass
class Counted:
    """Counts its comparisons."""

    number: int
    compared = 0

    def __lt__(self, other: "Counted") -> bool:
        Counted.compared += 1
        return self.number < other.number


def test_the_first_of_many_costs_few_comparisons_of_each() -> None:
    """Sorting ten thousand takes thirteen of each before the first one is known."""
    many = 10_000
    items = [(number * 7_919) % many for number in range(many)]
    found = in_order(items, lambda number: (Counted(number),))
    assert next(found) == 0
    assert Counted.compared < 3 * many
    Counted.compared = 0
    assert next(found) == 1
    assert Counted.compared < 40
