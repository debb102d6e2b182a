"""Groups that change their protocol, with members in them and without."""

from typing import Unpack

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition as Key
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import GroupState
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartition
from odradek.wire.versioned import encode_versioned
from tests.coordinator.group_bench import ClassicFields, GroupBench
from tests.coordinator.members import ClassicClient

NONE = ErrorCode.NONE
T0 = Key("t", 0)


def assigned(*parts: int, user_data: bytes | None = None) -> bytes:
    told = [TopicPartition("t", list(parts))] if parts else []
    return encode_versioned(ConsumerProtocolAssignment(told, user_data), 1)


def classic_group(
    bench: GroupBench, *assignments: bytes, **fields: Unpack[ClassicFields]
) -> list[ClassicClient]:
    """A stable classic group whose members have these assignments."""
    members = [bench.classic("t", **fields) for _ in assignments]
    bench.stable(members[0]) if len(members) == 1 else bench.stable(*members)
    replies = [member.send_join() for member in members]
    bench.advance(0)
    given = {}
    for member, reply in zip(members, replies, strict=True):
        if reply.is_answered:
            member.take(reply)
    for member, assignment in zip(members, assignments, strict=True):
        given[member.member_id] = assignment
    leader = bench.group().leader_id
    for member in sorted(members, key=lambda one: one.member_id == leader):
        member.generation = bench.group().generation
        member.sync(given if member.member_id == leader else None)
    assert bench.state() is GroupState.STABLE
    return members


def kinds(bench: GroupBench) -> list[str]:
    return [row.group_type for row in exhaust(bench.coordinator.list_groups())[1]]


def test_a_consumer_joins_a_classic_group(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    generation = bench.group().generation
    newcomer = bench.consumer("n")
    assert newcomer.join() is NONE
    assert kinds(bench) == ["consumer"]
    assert newcomer.epoch == generation + 1
    assert newcomer.count() == 0, "its partitions are read by the member that was there before"
    share = bench.consumers().members[old.member_id].share
    assert share.epoch == generation
    assert share.assigned == {bench.topics.topic_id("t"): frozenset(range(4))}
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_upgrade_is_one_batch_and_survives_a_restart(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    (batches,) = bench.log.batches.values()
    before = len(batches)
    bench.consumer("n").join()
    assert len(batches) == before + 1
    members = bench.consumers().members
    bench.coordinator.resign_all()
    bench.start()
    assert kinds(bench) == ["consumer"]
    assert bench.consumers().members == members
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_whoever_waits_in_the_classic_group_is_told_to_join_again(bench: GroupBench) -> None:
    first, second = classic_group(bench, assigned(0, 1), assigned(2, 3))
    parked = first.send_join()
    assert not parked.is_answered
    assert bench.consumer("n").join() is NONE
    assert parked.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    reply = first.send_join()
    assert reply.code is NONE
    assert first.take(reply).leader == ""


@pytest.mark.parametrize("policy", ["downgrade", "disabled"])
def test_the_policy_may_forbid_an_upgrade(policy: str) -> None:
    bench = GroupBench(BrokerSettings(group_consumer_migration_policy=policy))
    (old,) = classic_group(bench, assigned(0))
    answer = bench.consumer("n").send_join().answer
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == (
        "the classic group g cannot take members of the consumer protocol: "
        "group.consumer.migration.policy forbids it"
    )
    assert kinds(bench) == ["classic"]
    assert old.heartbeat() is NONE
    assert old.leave() == (NONE, [NONE])
    assert bench.consumer("n").join() is NONE, "groups without members always may"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        (b"\0", "what a member said of its subscription cannot be read"),
        (
            assigned(0, user_data=b"mine"),
            "its assignor keeps data of its own with the members, which would be lost",
        ),
    ],
)
def test_what_is_not_understood_is_not_upgraded(bench: GroupBench, assignment: bytes, words: str) -> None:
    (old,) = classic_group(bench, assignment)
    answer = bench.consumer("n").send_join().answer
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (
        answer.error_message == f"the classic group g cannot take members of the consumer protocol: {words}"
    )
    assert old.heartbeat() is NONE


def test_groups_of_other_protocol_types_stay_what_they_are(bench: GroupBench) -> None:
    member = bench.member(protocol_type="connect")
    bench.stable(member)
    answer = bench.consumer("n").send_join().answer
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "of the type connect" in (answer.error_message or "")
    assert member.heartbeat() is NONE


def test_a_group_too_large_is_not_upgraded() -> None:
    bench = GroupBench(BrokerSettings(group_consumer_max_size=1))
    classic_group(bench, assigned(0), assigned(1))
    answer = bench.consumer("n").send_join().answer
    assert "more members than group.consumer.max.size" in (answer.error_message or "")


def test_an_upgrade_that_the_log_refuses_did_not_happen(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert bench.consumer("n").send_join().code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench.log.failure = NONE
    assert kinds(bench) == ["classic"]
    assert old.heartbeat() is NONE


def test_a_refused_newcomer_upgrades_nothing(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    reply = bench.consumer("n", topics=None, expression="(").send_join()
    assert reply.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert kinds(bench) == ["classic"]
    assert old.heartbeat() is NONE


@pytest.mark.parametrize("how", ["leaves", "is silent", "is removed by the classic protocol"])
def test_the_last_consumer_leaves_a_classic_group_behind(bench: GroupBench, how: str) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3), session_timeout_ms=100_000)
    last = bench.consumer("n")
    last.join()
    generation = last.epoch
    if how == "leaves":
        assert last.leave() is NONE
    elif how == "is silent":
        bench.advance(20_000)
        old.heartbeat()
        bench.advance(25_000)
    else:
        assert bench.member(member_id="n").leave() == (NONE, [NONE])
    assert kinds(bench) == ["classic"]
    assert bench.state() is GroupState.PREPARING_REBALANCE, "what the leaver had is to be shared"
    assert bench.group().generation == generation, "members that were up to date only hear of a rebalance"
    reply = old.send_join()
    assert old.take(reply).leader == old.member_id
    old.sync({old.member_id: assigned(0, 1, 2, 3)})
    assert old.heartbeat() is NONE


def test_a_downgraded_group_survives_a_restart(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    last = bench.consumer("n")
    last.join()
    last.leave()
    generation = bench.group().generation
    bench.coordinator.resign_all()
    bench.start()
    assert kinds(bench) == ["classic"]
    assert (bench.group().generation, list(bench.group().members)) == (generation, [old.member_id])


@pytest.mark.parametrize("policy", ["upgrade", "disabled"])
def test_the_policy_may_forbid_a_downgrade(policy: str) -> None:
    bench = GroupBench(BrokerSettings(group_consumer_migration_policy=policy))
    newcomer, old = bench.consumer("n"), bench.classic("t")
    newcomer.join()
    old.take(old.join())
    newcomer.leave()
    assert kinds(bench) == ["consumer"]
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_without_members_is_of_whichever_protocol_comes_next(bench: GroupBench) -> None:
    bench.commit("g", {T0: 3})
    bench.run()
    first = bench.consumer("n")
    assert first.join() is NONE
    first.leave()
    assert kinds(bench) == ["consumer"]
    old = bench.classic("t")
    old.take(old.join())
    assert kinds(bench) == ["classic"]
    old.sync({old.member_id: assigned(0)})
    assert old.leave() == (NONE, [NONE])
    assert kinds(bench) == ["classic"]
    assert bench.consumer("n").join() is NONE
    assert kinds(bench) == ["consumer"]
    assert bench.committed() == {T0: 3}
    bench.coordinator.resign_all()
    bench.start()
    assert kinds(bench) == ["consumer"]
    assert bench.committed() == {T0: 3}


def test_requests_that_come_while_a_group_changes_wait_for_it(bench: GroupBench) -> None:
    (old,) = classic_group(bench, assigned(0, 1, 2, 3))
    bench.log.lags = True
    newcomer = bench.consumer("n")
    reply = newcomer.send_join()
    parked = old.send_join()
    assert not reply.is_answered
    assert not parked.is_answered
    bench.log.catch_up()
    assert reply.code is NONE
    assert parked.code is NONE, "it has joined the consumer group"
    assert parked.answer.leader == ""
