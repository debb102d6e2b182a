"""LeaveGroup of many members: some in each step of the coordinator, and one answer."""

from typing import TypeAlias

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, exhaust
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups.departing import LEAVING_AT_ONCE
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ClassicClient

Left: TypeAlias = tuple[ErrorCode, list[ErrorCode]]

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
NONE = ErrorCode.NONE


class Leaving:
    """A LeaveGroup on its way."""

    def __init__(self, bench: GroupBench, *leaving: MemberIdentity) -> None:
        self.answers: list[Left] = []
        request = LeaveGroupRequest("g", members=list(leaving))
        self.steps: Steps[None] = bench.coordinator.leave_group(
            request, lambda code, codes: self.answers.append((code, codes))
        )

    def step(self) -> None:
        next(self.steps)

    def finish(self) -> Left:
        exhaust(self.steps)
        (answer,) = self.answers
        return answer


def strangers(count: int) -> list[MemberIdentity]:
    return [MemberIdentity(f"stranger-{number}") for number in range(count)]


@pytest.fixture
def members(bench: GroupBench) -> list[ClassicClient]:
    members = [bench.member(f"i-{number}") for number in range(2 * LEAVING_AT_ONCE)]
    bench.stable(*members)
    return members


def test_many_leave_in_steps_and_are_answered_together(
    bench: GroupBench, members: list[ClassicClient]
) -> None:
    staying, *going = members
    leaving = Leaving(bench, *(MemberIdentity(one.member_id) for one in going), *strangers(3))
    leaving.step()
    assert len(bench.group().members) == len(members) - LEAVING_AT_ONCE
    assert leaving.answers == []
    assert leaving.finish() == (NONE, [NONE] * len(going) + [UNKNOWN] * 3)
    assert list(bench.group().members) == [staying.member_id]


def test_the_group_is_whole_between_two_steps(bench: GroupBench, members: list[ClassicClient]) -> None:
    leaving = Leaving(bench, *(MemberIdentity(one.member_id) for one in members))
    leaving.step()
    newcomer = bench.member()
    waiting = newcomer.join()
    assert bench.state() is GroupState.PREPARING_REBALANCE
    leaving.finish()
    assert newcomer.take(waiting).leader == newcomer.member_id, "all others are gone"


def test_a_leadership_that_ends_between_two_steps_is_the_error_of_the_whole(
    bench: GroupBench, members: list[ClassicClient]
) -> None:
    leaving = Leaving(bench, *(MemberIdentity(one.member_id) for one in members))
    leaving.step()
    partition = bench.coordinator._partition_of("g")
    bench.coordinator.resign(partition)
    assert leaving.finish() == (ErrorCode.NOT_COORDINATOR, [])


def test_what_was_left_in_an_earlier_leadership_may_be_lost(
    bench: GroupBench, members: list[ClassicClient]
) -> None:
    leaving = Leaving(bench, *(MemberIdentity(one.member_id) for one in members))
    leaving.step()
    bench.lead_again(bench.coordinator._partition_of("g"))
    bench.run()
    assert leaving.finish() == (ErrorCode.NOT_COORDINATOR, [])


def test_a_group_that_ends_between_two_steps_has_no_more_members(bench: GroupBench) -> None:
    leaving = Leaving(bench, *strangers(2 * LEAVING_AT_ONCE))
    assert leaving.finish() == (NONE, [UNKNOWN] * 2 * LEAVING_AT_ONCE)


def test_a_consumer_that_is_named_twice_leaves_once_also_in_different_steps(bench: GroupBench) -> None:
    """As in Kafka's groups of that protocol; there the second time is answered like the first."""
    first, second = bench.consumer("a", "i-a"), bench.consumer("b")
    assert [member.join() for member in (first, second)] == [NONE, NONE]
    named = MemberIdentity("a", "i-a")
    leaving = Leaving(bench, named, *strangers(LEAVING_AT_ONCE), named)
    assert leaving.finish() == (NONE, [NONE, *[UNKNOWN] * LEAVING_AT_ONCE, NONE])
    assert list(bench.consumers().members) == ["b"]
