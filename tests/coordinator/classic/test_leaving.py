from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic import GroupState
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity


def leave(world: Any, *leavers: MemberIdentity, group_id: str = "g") -> Any:
    answers: list[Any] = []
    request = LeaveGroupRequest(group_id, members=list(leavers))
    world.coordinator.leave_group(request, lambda *answer: answers.append(answer))
    (answer,) = answers
    return answer


def test_several_leave_at_once(world: Any) -> None:
    """LeaveGroup 3: one code for each."""
    members = [world.member(), world.member("i-2"), world.member("i-3")]
    world.stable(*members)
    first, second, _ = members
    answer = leave(
        world,
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
    assert list(world.group().members) == [members[2].member_id]
    assert world.state() is GroupState.PREPARING_REBALANCE


def test_whoever_leaves_is_waited_for_no_longer(world: Any) -> None:
    first, second = world.member(), world.member()
    world.stable(first)
    waiting = second.join()
    first.leave()
    assert second.take(waiting).leader == second.member_id


def test_a_member_that_leaves_while_it_waits_is_answered(world: Any) -> None:
    first, second = world.member(), world.member()
    world.stable(first)
    waiting = second.join()
    second.leave()
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.take(first.join()).generation_id == 2


def test_a_member_id_that_was_handed_out_may_leave(world: Any) -> None:
    member = world.member()
    member.member_id = member.send_join().answer.member_id
    assert leave(world, MemberIdentity(member.member_id)) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert not world.group().pending_members


@pytest.mark.parametrize(
    ("group_id", "answer"),
    [
        ("", (ErrorCode.INVALID_GROUP_ID, [])),
        ("nobody's", (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
    ],
)
def test_leaving_a_group_that_is_not_there(world: Any, group_id: str, answer: Any) -> None:
    assert leave(world, MemberIdentity("m"), group_id=group_id) == answer


def test_another_member_leads_when_the_leader_leaves(world: Any) -> None:
    first, second = world.member(), world.member()
    world.stable(first, second)
    leader, other = (first, second) if world.group().leader_id == first.member_id else (second, first)
    leader.leave()
    assert other.take(other.join()).leader == other.member_id


def test_nobody_leaves_where_nobody_is_named(world: Any) -> None:
    world.stable(world.member())
    assert leave(world) == (ErrorCode.NONE, [])
    assert leave(world, group_id="nowhere") == (ErrorCode.NONE, [])
    assert world.state() is GroupState.STABLE
