from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.classic.joining import NEW_MEMBER_TIMEOUT_MS


def test_a_member_that_is_silent_for_its_session_timeout_is_removed(world: Any) -> None:
    """G2: expiry removes the member and rebalances."""
    member = world.member(session_timeout_ms=45_000)
    world.stable(member)
    world.advance(44_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY
    assert member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_begins_the_session_anew(world: Any) -> None:
    """G2: last heartbeat + session timeout > this operation's deadline."""
    member = world.member()
    world.stable(member)
    for _ in range(5):
        world.advance(9_000)
        assert member.heartbeat() is ErrorCode.NONE
    assert world.coordinator.purgatories.heartbeats.delayed == 1
    world.advance(9_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY


def test_heartbeats_within_a_session_leave_its_delayed_operation_alone(world: Any) -> None:
    """G2: it looks at its deadline whether the member was heard, and watches on for what is left then."""
    member = world.member(session_timeout_ms=45_000)
    world.stable(member)
    (watched,) = world.coordinator.purgatories.heartbeats.watchers().values()
    for _ in range(14):
        world.advance(3_000)
        assert member.heartbeat() is ErrorCode.NONE
    assert list(world.coordinator.purgatories.heartbeats.watchers().values()) == [watched]
    world.advance(3_000)
    (other,) = world.coordinator.purgatories.heartbeats.watchers().values()
    assert other != watched
    world.advance(41_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY, "45 s after the last heartbeat"


def test_a_shorter_session_timeout_holds_from_the_next_join_on(world: Any) -> None:
    """G2: the deadline of the session before is too late for it."""
    member = world.member(session_timeout_ms=60_000)
    world.stable(member)
    member.session_timeout_ms = 10_000
    world.stable(member)
    world.advance(9_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY


def test_a_static_member_that_came_back_is_watched_under_its_new_id(world: Any) -> None:
    """G2, KIP-345: the old id is gone before its deadline."""
    world.stable(world.member("i"))
    again = world.member("i")
    again.take(again.join())
    world.advance(9_000)
    assert again.heartbeat() is ErrorCode.NONE
    world.advance(9_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY


def test_a_member_that_waited_beyond_its_deadline_is_watched_again(world: Any) -> None:
    """G2: nothing watches it while it waits to join; its answer begins the next session."""
    patient, slow = world.member(), world.member(session_timeout_ms=60_000)
    world.stable(patient, slow)
    waiting = patient.join()
    if not world.group().is_rebalancing:
        world.member().join()
        waiting = patient.join()
    world.advance(15_000)
    assert not waiting.is_answered
    assert slow.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    slow.join()
    assert waiting.is_answered
    world.advance(10_000)
    assert patient.member_id not in world.group().members


def test_a_commit_is_a_heartbeat(world: Any) -> None:
    member = world.member()
    world.stable(member)
    world.advance(9_000)
    member.commit({TopicPartition("t", 0): 1})
    world.advance(9_000)
    assert world.state() is GroupState.STABLE


def test_a_member_that_waits_to_join_does_not_expire(world: Any) -> None:
    """G2: satisfied when the member waits in join."""
    first, second = world.member(), world.member(session_timeout_ms=60_000)
    world.stable(first, second)
    waiting = first.join() if world.group().leader_id == first.member_id else second.join()
    world.advance(15_000)
    assert not waiting.is_answered
    assert len(world.group().members) == (2 if world.group().leader_id == first.member_id else 1)


def test_a_member_that_waits_to_sync_does_not_expire(world: Any) -> None:
    """G2: satisfied when the member waits in sync."""
    first, second = (world.member() for _ in range(2))
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    leader, follower = (first, second) if world.group().leader_id == first.member_id else (second, first)
    syncing = follower.sync()
    for _ in range(2):
        world.advance(8_000)
        assert leader.heartbeat() is ErrorCode.NONE
    assert follower.member_id in world.group().members
    leader.sync({follower.member_id: b"all"})
    assert syncing.answer.assignment == b"all"


def test_a_first_join_that_nobody_reads_expires(new_world: Any) -> None:
    """G2: a new member in its first join still expires, after 5 minutes."""
    world = new_world(group_max_session_timeout_ms=1_800_000)
    first = world.member(rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000)
    second = world.member(rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000)
    world.stable(first)
    waiting = second.join()
    world.advance(NEW_MEMBER_TIMEOUT_MS - 1)
    assert len(world.group().members) == 2
    world.advance(1)
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(world.group().members) == [first.member_id]


def test_a_member_id_that_is_not_used_expires(world: Any) -> None:
    """KIP-394: after the session timeout that it was asked for with; whoever waits for it waits no longer."""
    first, second, third = world.member(), world.member(), world.member()
    world.stable(first)
    third.send_join()
    waiting = second.join()
    rejoined = first.join()
    world.advance(9_999)
    assert not waiting.is_answered
    world.advance(1)
    assert waiting.is_answered
    assert rejoined.is_answered


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "nobody's"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_heartbeats_that_are_refused(world: Any, changes: Any, code: ErrorCode) -> None:
    member = world.member()
    world.stable(member)
    assert member.heartbeat(**changes) is code


def test_a_heartbeat_tells_of_a_rebalance(world: Any) -> None:
    first, second = world.member(), world.member()
    world.stable(first)
    second.join()
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
