from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import GroupState
from odradek.coordinator.classic.joining import NEW_MEMBER_TIMEOUT_MS
from tests.coordinator.group_bench import GroupBench, IdentityFields


def test_a_member_that_is_silent_for_its_session_timeout_is_removed(bench: GroupBench) -> None:
    """G2: expiry removes the member and rebalances."""
    member = bench.member(session_timeout_ms=45_000)
    bench.stable(member)
    bench.advance(44_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY
    assert member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_begins_the_session_anew(bench: GroupBench) -> None:
    """G2: last heartbeat + session timeout > this operation's deadline."""
    member = bench.member()
    bench.stable(member)
    for _ in range(5):
        bench.advance(9_000)
        assert member.heartbeat() is ErrorCode.NONE
    assert bench.coordinator.purgatories.heartbeats.delayed == 1
    bench.advance(9_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY


def test_heartbeats_within_a_session_leave_its_delayed_operation_alone(bench: GroupBench) -> None:
    """G2: it looks at its deadline whether the member was heard, and watches on for what is left then."""
    member = bench.member(session_timeout_ms=45_000)
    bench.stable(member)
    (watched,) = bench.coordinator.purgatories.heartbeats.watchers().values()
    for _ in range(14):
        bench.advance(3_000)
        assert member.heartbeat() is ErrorCode.NONE
    assert list(bench.coordinator.purgatories.heartbeats.watchers().values()) == [watched]
    bench.advance(3_000)
    (other,) = bench.coordinator.purgatories.heartbeats.watchers().values()
    assert other != watched
    bench.advance(41_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY, "45 s after the last heartbeat"


def test_a_shorter_session_timeout_holds_from_the_next_join_on(bench: GroupBench) -> None:
    """G2: the deadline of the session before is too late for it."""
    member = bench.member(session_timeout_ms=60_000)
    bench.stable(member)
    member.session_timeout_ms = 10_000
    bench.stable(member)
    bench.advance(9_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY


def test_a_static_member_that_came_back_is_watched_under_its_new_id(bench: GroupBench) -> None:
    """G2, KIP-345: the old id is gone before its deadline."""
    bench.stable(bench.member("i"))
    again = bench.member("i")
    again.take(again.join())
    bench.advance(9_000)
    assert again.heartbeat() is ErrorCode.NONE
    bench.advance(9_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY


def test_a_member_that_waited_beyond_its_deadline_is_watched_again(bench: GroupBench) -> None:
    """G2: nothing watches it while it waits to join; its answer begins the next session."""
    patient, slow = bench.member(), bench.member(session_timeout_ms=60_000)
    bench.stable(patient, slow)
    waiting = patient.join()
    if not bench.group().is_rebalancing:
        bench.member().join()
        waiting = patient.join()
    bench.advance(15_000)
    assert not waiting.is_answered
    assert slow.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    slow.join()
    assert waiting.is_answered
    bench.advance(10_000)
    assert patient.member_id not in bench.group().members


def test_a_commit_is_a_heartbeat(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    bench.advance(9_000)
    member.commit({TopicPartition("t", 0): 1})
    bench.advance(9_000)
    assert bench.state() is GroupState.STABLE


def test_a_member_that_waits_to_join_does_not_expire(bench: GroupBench) -> None:
    """G2: satisfied when the member waits in join."""
    first, second = bench.member(), bench.member(session_timeout_ms=60_000)
    bench.stable(first, second)
    waiting = first.join() if bench.group().leader_id == first.member_id else second.join()
    bench.advance(15_000)
    assert not waiting.is_answered
    assert len(bench.group().members) == (2 if bench.group().leader_id == first.member_id else 1)


def test_a_member_that_waits_to_sync_does_not_expire(bench: GroupBench) -> None:
    """G2: satisfied when the member waits in sync."""
    first, second = (bench.member() for _ in range(2))
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    leader, follower = (first, second) if bench.group().leader_id == first.member_id else (second, first)
    syncing = follower.sync()
    for _ in range(2):
        bench.advance(8_000)
        assert leader.heartbeat() is ErrorCode.NONE
    assert follower.member_id in bench.group().members
    leader.sync({follower.member_id: b"all"})
    assert syncing.answer.assignment == b"all"


def test_a_first_join_that_nobody_reads_expires() -> None:
    """G2: a new member in its first join still expires, after 5 minutes."""
    bench = GroupBench(BrokerSettings(group_max_session_timeout_ms=1_800_000))
    first = bench.member(rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000)
    second = bench.member(rebalance_timeout_ms=1_800_000, session_timeout_ms=1_800_000)
    bench.stable(first)
    waiting = second.join()
    bench.advance(NEW_MEMBER_TIMEOUT_MS - 1)
    assert len(bench.group().members) == 2
    bench.advance(1)
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(bench.group().members) == [first.member_id]


def test_a_member_id_that_is_not_used_expires(bench: GroupBench) -> None:
    """KIP-394: after the session timeout that it was asked for with; whoever waits for it waits no longer."""
    first, second, third = bench.member(), bench.member(), bench.member()
    bench.stable(first)
    third.send_join()
    waiting = second.join()
    rejoined = first.join()
    bench.advance(9_999)
    assert not waiting.is_answered
    bench.advance(1)
    assert waiting.is_answered
    assert rejoined.is_answered


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "nobody's"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_heartbeats_that_are_refused(bench: GroupBench, changes: IdentityFields, code: ErrorCode) -> None:
    member = bench.member()
    bench.stable(member)
    assert replace(member, **changes).heartbeat() is code


def test_a_heartbeat_tells_of_a_rebalance(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    second.join()
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
