from typing import TypeAlias

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.coordinator.classic import GroupState
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.coordinator.group_bench import GroupBench

Left: TypeAlias = tuple[ErrorCode, list[ErrorCode]]
"""The error of the whole, and of each who leaves."""


def leave(bench: GroupBench, *leavers: MemberIdentity, group_id: str = "g") -> Left:
    answers: list[Left] = []
    request = LeaveGroupRequest(group_id, members=list(leavers))
    exhaust(bench.coordinator.leave_group(request, lambda code, codes: answers.append((code, codes))))
    (answer,) = answers
    return answer


def test_several_leave_at_once(bench: GroupBench) -> None:
    """LeaveGroup 3: one code for each."""
    members = [bench.member(), bench.member("i-2"), bench.member("i-3")]
    bench.stable(*members)
    first, second, _ = members
    answer = leave(
        bench,
        MemberIdentity(first.member_id),
        MemberIdentity("", "i-2"),
        MemberIdentity(second.member_id, "i-3"),
        MemberIdentity("", "i-4"),
        MemberIdentity("stranger"),
    )
    assert answer == (
        ErrorCode.NONE,
        [
            ErrorCode.NONE,
            ErrorCode.NONE,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
        ],
    )
    assert list(bench.group().members) == [members[2].member_id]
    assert bench.state() is GroupState.PREPARING_REBALANCE


def test_whoever_leaves_is_waited_for_no_longer(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    waiting = second.join()
    first.leave()
    assert second.take(waiting).leader == second.member_id


def test_no_heartbeat_of_a_member_that_left_is_waited_for(bench: GroupBench) -> None:
    """As in Kafka; it was shown by `describe purgatories` until the end of its session."""
    first, second = bench.member(), bench.member("i-2")
    bench.stable(first, second)
    waiting = bench.coordinator.purgatories.heartbeats
    assert waiting.delayed == 2
    leave(bench, MemberIdentity(first.member_id), MemberIdentity("", "i-2"))
    assert waiting.delayed == 0


def test_a_member_that_leaves_while_it_waits_is_answered(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    waiting = second.join()
    second.leave()
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.take(first.join()).generation_id == 2


def test_a_member_id_that_was_handed_out_may_leave(bench: GroupBench) -> None:
    member = bench.member()
    member.member_id = member.send_join().answer.member_id
    assert leave(bench, MemberIdentity(member.member_id)) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert not bench.group().pending_members


@pytest.mark.parametrize(
    ("group_id", "answer"),
    [
        ("", (ErrorCode.INVALID_GROUP_ID, [])),
        ("nobody's", (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
    ],
)
def test_leaving_a_group_that_is_not_there(bench: GroupBench, group_id: str, answer: Left) -> None:
    assert leave(bench, MemberIdentity("m"), group_id=group_id) == answer


def test_another_member_leads_when_the_leader_leaves(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    leader, other = (first, second) if bench.group().leader_id == first.member_id else (second, first)
    leader.leave()
    assert other.take(other.join()).leader == other.member_id


def test_nobody_leaves_where_nobody_is_named(bench: GroupBench) -> None:
    bench.stable(bench.member())
    assert leave(bench) == (ErrorCode.NONE, [])
    assert leave(bench, group_id="nowhere") == (ErrorCode.NONE, [])
    assert bench.state() is GroupState.STABLE
