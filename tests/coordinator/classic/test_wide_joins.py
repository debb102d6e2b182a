"""What one JoinGroup costs a group of the classic protocol, by the number of its members.

Counted in calls of functions, Python's and C's, as in `tests/server/handlers/test_longest_steps.py`.
"""

from collections.abc import Callable

import pytest

from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ClassicClient
from tests.server.handlers.test_longest_steps import Calls

FEW, MANY = 100, 300


def prepared(members: int) -> tuple[GroupBench, ClassicClient]:
    """A stable group of static members, and one that is new."""
    bench = GroupBench()
    bench.stable(*(bench.member(f"i{number}") for number in range(members)))
    return bench, bench.member("new")


def into_stable(members: int) -> int:
    """A rebalance begins, whose time limit is the largest of all members'."""
    _, new = prepared(members)
    return Calls().of(new.send_join)


def while_preparing(members: int) -> int:
    bench, new = prepared(members)
    new.send_join()
    return Calls().of(bench.member("another").send_join)


def static_member_back(members: int) -> int:
    """KIP-345: the whole group is written to the log, under the member's new id."""
    bench, _ = prepared(members)
    return Calls().of(bench.member("i5").send_join)


@pytest.mark.parametrize(
    ("cost", "calls_per_member_max"), [(into_stable, 1), (while_preparing, 0), (static_member_back, 31)]
)
def test_a_join_costs_little_for_each_member(cost: Callable[[int], int], calls_per_member_max: int) -> None:
    cost(FEW)  # what is loaded or looked up once
    assert cost(MANY) - cost(FEW) <= calls_per_member_max * (MANY - FEW)
