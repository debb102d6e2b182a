from odradek.base.error_codes import ErrorCode
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import GroupState
from tests.coordinator.group_bench import GroupBench


def test_members_that_do_not_join_again_are_removed_at_the_rebalance_timeout(bench: GroupBench) -> None:
    """G1: or at the rebalance timeout, which removes those that did not."""
    first, second = bench.member(session_timeout_ms=60_000), bench.member(session_timeout_ms=60_000)
    bench.stable(first)
    waiting = second.join()
    bench.advance(29_999)
    assert not waiting.is_answered
    bench.advance(1)
    answer = second.take(waiting)
    assert [one.member_id for one in answer.members] == [second.member_id]
    assert first.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_ids_handed_out_are_waited_for(bench: GroupBench) -> None:
    """G1: every member id handed out is used."""
    first, second, third = bench.member(), bench.member(), bench.member()
    bench.stable(first)
    third.member_id = third.send_join().answer.member_id
    waiting = second.join()
    rejoined = first.join()
    assert not waiting.is_answered
    third.take(third.join())
    assert waiting.is_answered
    assert rejoined.is_answered


def test_a_first_rebalance_in_a_cluster_waits_for_more_members(bench: GroupBench) -> None:
    """G1: a first rebalance waits min(delay, time left), again while someone joined in between."""
    bench.broker_count = 3
    first, second, third = (bench.member(rebalance_timeout_ms=10_000) for _ in range(3))
    waiting = [first.join()]
    bench.advance(1_000)
    waiting.append(second.join())
    bench.advance(2_000)  # 3 s: somebody came meanwhile
    assert not waiting[0].is_answered
    bench.advance(2_000)
    waiting.append(third.join())
    bench.advance(3_999)  # until 9 s
    assert not any(reply.is_answered for reply in waiting)
    bench.advance(1)
    assert {reply.answer.generation_id for reply in waiting} == {1}


def test_a_first_rebalance_ends_at_the_rebalance_timeout_whoever_comes() -> None:
    """G1: min(group.initial.rebalance.delay.ms, time left)."""
    bench = GroupBench(BrokerSettings(group_initial_rebalance_delay_ms=3_000))
    waiting = [bench.member(rebalance_timeout_ms=8_000).join()]
    for _ in range(7):
        bench.advance(1_000)
        waiting.append(bench.member(rebalance_timeout_ms=8_000).join())
    bench.advance(999)
    assert not waiting[0].is_answered
    bench.advance(1)
    assert {len(waiting), bench.group().generation} == {8, 1}
    assert all(reply.is_answered for reply in waiting)


def test_one_broker_does_not_wait_for_more_members(bench: GroupBench) -> None:
    member = bench.member()
    assert member.take(member.join()).generation_id == 1


def test_static_members_keep_their_places_when_they_are_late(bench: GroupBench) -> None:
    """KIP-345: only their sessions end them."""
    static, other = bench.member("i-1", session_timeout_ms=120_000), bench.member()
    bench.stable(static)
    waiting = other.join()
    bench.advance(30_000)
    answer = other.take(waiting)
    assert answer.leader == other.member_id
    assert {one.group_instance_id for one in answer.members} == {"i-1", None}


def test_a_group_of_absent_static_members_goes_on_waiting(bench: GroupBench) -> None:
    first = bench.member("i-1", session_timeout_ms=120_000)
    second = bench.member("i-2", session_timeout_ms=120_000)
    bench.stable(first, second)
    first.leave()
    bench.advance(30_001)
    assert bench.state() is GroupState.PREPARING_REBALANCE
    assert second.take(second.join()).generation_id == 3


def test_whoever_waits_to_sync_is_told_when_the_next_rebalance_begins(bench: GroupBench) -> None:
    first, second, third = bench.member(), bench.member(), bench.member()
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    follower = second if bench.group().leader_id == first.member_id else first
    syncing = follower.sync()
    assert not syncing.is_answered
    assert not third.join().is_answered
    assert syncing.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_never_sync_are_removed(bench: GroupBench) -> None:
    """G4: members that joined and never sync within the rebalance timeout are removed."""
    first, second = (bench.member(session_timeout_ms=120_000) for _ in range(2))
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    syncing = second.sync()
    bench.advance(29_999)
    assert bench.state() is GroupState.COMPLETING_REBALANCE
    bench.advance(1)
    assert list(bench.group().members) == [second.member_id]
    assert syncing.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert first.sync().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_followers_that_never_sync_are_removed_from_a_stable_group(bench: GroupBench) -> None:
    """G4: the leader has brought the assignment, one follower never came for it."""
    first, second = (bench.member(session_timeout_ms=120_000) for _ in range(2))
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    assert first.sync({first.member_id: b"all"}).code is ErrorCode.NONE
    bench.advance(30_000)
    assert bench.state() is GroupState.PREPARING_REBALANCE
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_nobody_is_left_in_is_empty(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    assert first.leave() == (ErrorCode.NONE, [ErrorCode.NONE])
    assert bench.state() is GroupState.PREPARING_REBALANCE
    second.leave()
    assert bench.state() is GroupState.EMPTY
    assert bench.group().generation == 3
    assert bench.coordinator.purgatories.joins.delayed == 0
