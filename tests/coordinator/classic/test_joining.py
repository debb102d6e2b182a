import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import Caller, GroupState
from tests.coordinator.group_bench import GroupBench, IdentityFields
from tests.coordinator.members import ClassicClient

OLD_CALLER = Caller("c", "/10.0.0.1", takes_member_id=False, can_skip_assignment=False)


def test_a_new_member_is_given_its_id_first(bench: GroupBench) -> None:
    """KIP-394: the coordinator remembers the id it hands out, not the member, until it is used."""
    reply = bench.member().send_join()
    assert reply.code is ErrorCode.MEMBER_ID_REQUIRED
    assert reply.answer.member_id.startswith("c-")
    assert list(bench.group().pending_members) == [reply.answer.member_id]
    assert not bench.group().members


def test_old_versions_join_without_an_id(bench: GroupBench) -> None:
    reply = bench.member(caller=OLD_CALLER).send_join()
    assert reply.code is ErrorCode.NONE
    assert reply.answer.leader == reply.answer.member_id


def test_the_only_member_leads_and_is_told_of_itself(bench: GroupBench) -> None:
    member = bench.member()
    answer = member.take(member.join())
    assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, member.member_id, "range")
    assert [(one.member_id, one.metadata) for one in answer.members] == [(member.member_id, b"meta")]
    assert bench.state() is GroupState.COMPLETING_REBALANCE


def test_only_the_leader_is_told_of_the_members(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    first.take(first.join())
    waiting = second.join()
    again = first.join()
    leader, follower = first.take(again), second.take(waiting)
    assert leader.leader == follower.leader == first.member_id
    assert {one.member_id for one in leader.members} == {first.member_id, second.member_id}
    assert follower.members == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1, "protocols": ()}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1, "protocol_type": ""}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1, "member_id": "stranger"}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": tuple((f"p{number}", b"") for number in range(1_001))}, ErrorCode.POLICY_VIOLATION),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_who_may_not_join_a_group_that_is_not_there(
    bench: GroupBench, changes: IdentityFields, code: ErrorCode
) -> None:
    assert ClassicClient(bench, **changes).send_join().code is code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, ErrorCode.NOT_COORDINATOR),
        ({"session_timeout_ms": 1, "protocols": ()}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"group_id": "", "session_timeout_ms": 1}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_who_may_not_join_where_the_group_is_not_coordinated(
    bench: GroupBench, changes: IdentityFields, code: ErrorCode
) -> None:
    """Kafka looks at the session timeout before it looks for the group."""
    bench.coordinator.resign_all()
    assert ClassicClient(bench, **changes).send_join().code is code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("sticky", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger", "instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_not_join_a_group_that_is_there(
    bench: GroupBench, changes: IdentityFields, code: ErrorCode
) -> None:
    bench.stable(bench.member())
    assert ClassicClient(bench, **changes).send_join().code is code
    assert bench.state() is GroupState.STABLE


def test_a_group_that_is_full_takes_nobody() -> None:
    bench = GroupBench(BrokerSettings(group_max_size=2))
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    assert bench.member().send_join().code is ErrorCode.GROUP_MAX_SIZE_REACHED
    # The members that are in it may rebalance.
    assert not second.join().is_answered or bench.state() is not GroupState.DEAD


def test_places_are_taken_by_those_who_join_first() -> None:
    bench = GroupBench(BrokerSettings(group_max_size=1))
    first = bench.member()
    bench.stable(first)
    assert bench.member().join().code is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_the_protocol_is_one_that_all_offer_and_most_like(bench: GroupBench) -> None:
    members = [
        bench.member(protocols=(("roundrobin", b""), ("range", b""), ("mine", b""))),
        bench.member(protocols=(("range", b""), ("roundrobin", b""))),
        bench.member(protocols=(("range", b""), ("roundrobin", b""))),
    ]
    bench.stable(*members)
    assert bench.group().protocol_name == "range"


def test_a_follower_that_joins_again_as_it_was_disturbs_nobody(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    follower = next(one for one in (first, second) if one.member_id != bench.group().leader_id)
    answer = follower.take(follower.join())
    assert answer.generation_id == bench.group().generation
    assert bench.state() is GroupState.STABLE


def test_a_leader_that_joins_again_assigns_anew(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    leader = next(one for one in (first, second) if one.member_id == bench.group().leader_id)
    assert not leader.join().is_answered
    assert bench.state() is GroupState.PREPARING_REBALANCE


def test_new_metadata_begins_a_rebalance(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first, second)
    follower = next(one for one in (first, second) if one.member_id != bench.group().leader_id)
    follower.protocols = (("range", b"other topics"),)
    assert not follower.join().is_answered
    assert bench.state() is GroupState.PREPARING_REBALANCE


def test_a_join_that_is_repeated_while_the_assignment_is_awaited_is_answered_again(bench: GroupBench) -> None:
    member = bench.member()
    first = member.take(member.join())
    again = member.take(member.join())
    assert (again.generation_id, again.members) == (first.generation_id, first.members)


def test_a_second_join_of_a_member_releases_the_first(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    parked = second.join()
    repeated = second.join()
    assert parked.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert not repeated.is_answered
    first.take(first.join())
    assert repeated.code is ErrorCode.NONE


# --- static members


def test_a_static_member_needs_no_id_first(bench: GroupBench) -> None:
    """KIP-345."""
    member = bench.member("i-1")
    answer = member.take(member.send_join())
    assert answer.member_id.startswith("i-1-")


def test_a_static_member_comes_back_without_a_rebalance(bench: GroupBench) -> None:
    """KIP-345: it keeps its assignment under a new id, and the old id is fenced."""
    first, second = bench.member("i-1"), bench.member("i-2")
    bench.stable(first, second)
    before = bench.group().generation
    back = bench.member("i-2")
    answer = back.take(back.join())
    assert answer.generation_id == before
    assert back.member_id != second.member_id
    assert bench.state() is GroupState.STABLE
    assert back.sync().answer.assignment == second.member_id.encode()
    assert second.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert second.sync().code is ErrorCode.FENCED_INSTANCE_ID
    assert back.heartbeat() is ErrorCode.NONE


def test_a_static_leader_that_comes_back_is_told_not_to_assign(bench: GroupBench) -> None:
    """KIP-814: version 9 says so; before that the leader is still called by its old id."""
    leader, other = bench.member("i-1"), bench.member("i-2")
    bench.stable(leader, other)
    back = bench.member("i-1")
    answer = back.take(back.join())
    assert (answer.skip_assignment, answer.leader) == (True, back.member_id)
    assert len(answer.members) == 2
    old = bench.member("i-1", caller=OLD_CALLER)
    answer = old.take(old.join())
    assert (answer.skip_assignment, answer.leader, answer.members) == (False, back.member_id, [])


def test_a_static_member_that_comes_back_otherwise_begins_a_rebalance(bench: GroupBench) -> None:
    first = bench.member("i-1", protocols=(("range", b""), ("sticky", b"")))
    bench.stable(first)
    back = bench.member("i-1", protocols=(("sticky", b""),))
    assert back.take(back.join()).generation_id == 2


def test_a_static_member_that_comes_back_during_a_rebalance_takes_part(bench: GroupBench) -> None:
    first, second = bench.member("i-1"), bench.member("i-2")
    bench.stable(first)
    waiting = second.join()
    assert not waiting.is_answered
    replaced = bench.member("i-2")
    joins = replaced.join()
    assert waiting.code is ErrorCode.FENCED_INSTANCE_ID
    first.take(first.join())
    assert replaced.take(joins).generation_id == 2


def test_a_replacement_that_cannot_be_written_is_undone(bench: GroupBench) -> None:
    first = bench.member("i-1")
    bench.stable(first)
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    back = bench.member("i-1")
    assert back.join().code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench.log.failure = ErrorCode.NONE
    assert first.heartbeat() is ErrorCode.NONE


def test_an_instance_that_is_not_the_members_is_fenced(bench: GroupBench) -> None:
    first, second = bench.member("i-1"), bench.member("i-2")
    bench.stable(first, second)
    first.instance_id = "i-2"
    assert first.join().code is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_is_replaced_twice_at_once_is_one_member(bench: GroupBench) -> None:
    """KIP-345: the one in the middle was the member for a moment, and is never told the other's id."""
    bench.stable(bench.member("i"))
    bench.log.lags = True
    first, second = bench.member("i"), bench.member("i")
    middle, last = first.send_join(), second.send_join()
    assert not middle.is_answered
    assert not last.is_answered
    bench.log.catch_up()
    assert first.take(middle).member_id != second.take(last).member_id
    assert first.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert second.heartbeat() is ErrorCode.NONE


def test_a_member_id_is_no_longer_than_a_record_can_hold(bench: GroupBench) -> None:
    """Where client and instance ids are as long as they may be, in characters of four bytes or of one."""
    for instance_id in ("i" * 32_767, "\N{GRINNING FACE}" * 8_191):
        member = bench.member(instance_id)
        bench.stable(member)
        assert len(member.member_id.encode()) < 1 << 15
        assert member.leave() == (ErrorCode.NONE, [ErrorCode.NONE])
