from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic import GroupState
from tests.coordinator.group_bench import GroupBench, IdentityFields


def test_followers_wait_for_the_leader(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    assert bench.state() is GroupState.STABLE
    assert second.sync().answer.assignment == second.member_id.encode()


def test_nobody_is_answered_before_the_assignment_is_replicated(bench: GroupBench) -> None:
    member = bench.member()
    member.take(member.join())
    bench.log.lags = True
    syncing = member.sync({member.member_id: b"all"})
    assert not syncing.is_answered
    bench.log.catch_up()
    assert syncing.answer.assignment == b"all"
    assert syncing.answer.protocol_name == "range"


def test_a_member_that_the_leader_left_out_gets_an_empty_assignment(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    first.take(first.join())
    parked = second.join()
    first.take(first.join())
    second.take(parked)
    follower = second.sync()
    first.sync({first.member_id: b"all"})
    assert follower.answer.assignment == b""


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_is_not_written_means_another_rebalance(
    bench: GroupBench, failure: ErrorCode, code: ErrorCode
) -> None:
    member = bench.member()
    member.take(member.join())
    bench.log.failure = failure
    assert member.sync({member.member_id: b"all"}).code is code
    assert bench.state() is GroupState.PREPARING_REBALANCE
    bench.log.failure = ErrorCode.NONE
    assert member.take(member.join()).generation_id == 2


def test_an_assignment_counts_when_it_is_appended(bench: GroupBench) -> None:
    """R19: the next step builds on it, and its members are told when it is replicated."""
    first, second = bench.member(), bench.member("i")
    first.take(first.join())
    bench.log.lags = True
    synced = first.sync({first.member_id: b"all"})
    assert bench.state() is GroupState.STABLE
    assert first.heartbeat() is None, "whoever only asks waits, too"
    assert not second.join().is_answered
    assert bench.state() is GroupState.PREPARING_REBALANCE
    assert not synced.is_answered
    bench.log.catch_up()
    assert (synced.code, synced.answer.assignment) == (ErrorCode.NONE, b"all")


def test_an_assignment_whose_fate_is_not_known_counts_all_the_same(bench: GroupBench) -> None:
    """R19: its members are told to join again, and find that they are stable."""
    member = bench.member()
    member.take(member.join())
    bench.log.lags = True
    synced = member.sync({member.member_id: b"all"})
    bench.log.time_out()
    assert synced.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.state() is GroupState.STABLE
    bench.log.catch_up()
    assert member.sync().answer.assignment == b"all"


def test_an_assignment_that_was_not_replicated_is_lost_with_the_leader(bench: GroupBench) -> None:
    """R19"""
    member = bench.member()
    bench.stable(member)
    bench.log.lags = True
    assert member.take(member.send_join()).generation_id == 2
    synced = member.sync({member.member_id: b"all"})
    bench.fail_over()
    assert synced.code is ErrorCode.NOT_COORDINATOR
    bench.log.catch_up()
    assert member.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    member.generation = 1
    assert member.sync().answer.assignment == member.member_id.encode(), "as in the generation before"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "nobody's"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 7}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_who_may_not_sync(bench: GroupBench, changes: IdentityFields, code: ErrorCode) -> None:
    member = bench.member()
    bench.stable(member)
    assert replace(member, **changes).sync().code is code


def test_whoever_syncs_names_the_protocol_that_was_chosen(bench: GroupBench) -> None:
    """KIP-559: or none."""
    member = bench.member()
    bench.stable(member)
    assert member.sync(protocol_type="consumer", protocol_name="range").code is ErrorCode.NONE
    assert member.sync(protocol_type="connect").code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert member.sync(protocol_name="sticky").code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_syncing_during_a_rebalance_means_joining_again(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    second.join()
    assert first.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
