from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.consumer_records import read_record
from odradek.coordinator.groups.log_records import read_group_key
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

NONE, ELSEWHERE = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE
T0 = TopicPartition("t", 0)


def everything(world: Any) -> Any:
    """All that is known of the group but whether it was read or made."""
    group = world.consumers()
    return (group.epoch, group.topics_hash, group.target_epoch, group.members, group.target, group.owners)


def changes(world: Any) -> list[str]:
    """The kinds of the records that were written, in order; tombstones with a minus."""
    kinds = []
    for record in world.log.records():
        change = read_record(bytes(record.key), record.value and bytes(record.value)).change
        kinds.append(("" if record.value is not None else "-") + type(change).__name__)
    return kinds


def test_steps_do_not_wait_for_one_anothers_replication(world: Any) -> None:
    """R19: a record counts once it is appended; answers about it wait for HW."""
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    world.log.lags = True
    reply = second.send_join()
    waiting = first.send()
    assert not reply.is_answered
    assert not waiting.is_answered, "it builds on what is not replicated"
    assert (list(world.consumers().members), world.consumers().epoch) == (["a", "b"], 2)
    world.log.catch_up()
    assert reply.code is waiting.code is NONE


def test_what_was_not_replicated_is_lost_with_the_leader(world: Any) -> None:
    """R19"""
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    world.log.lags = True
    reply = second.send_join()
    world.fail_over()
    assert reply.code is ErrorCode.NOT_COORDINATOR
    assert (list(world.consumers().members), world.consumers().epoch) == (["a"], 1)


def test_what_times_out_is_not_undone(world: Any) -> None:
    """R19"""
    world.log.lags = True
    reply = world.consumer("a").send_join()
    world.log.time_out()
    assert reply.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(world.consumers().members) == ["a"]


def test_what_the_log_refuses_is_not_so(world: Any) -> None:
    first = world.consumer("a")
    first.join()
    world.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.consumer("b").send_join().code is ELSEWHERE
    assert first.leave() is ELSEWHERE
    assert first.beat() is NONE, "it changes nothing, and so needs no log"
    world.log.failure = NONE
    assert list(world.consumers().members) == ["a"]
    assert world.consumers().epoch == 1
    assert world.consumer("b").join() is NONE


def test_a_first_join_that_the_log_refuses_leaves_no_group_behind(world: Any) -> None:
    world.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.consumer("a").send_join().code is ELSEWHERE
    assert world.coordinator.list_groups()[1] == []
    assert world.timer.size == 0


def test_a_change_is_one_batch(world: Any) -> None:
    world.consumer("a").join()
    (batches,) = world.log.batches.values()
    assert len(batches) == 1
    assert changes(world) == [
        "MemberChanged",
        "EpochChanged",
        "TargetChanged",
        "TargetEpochChanged",
        "ShareChanged",
    ]


def test_a_leaver_takes_its_records_along(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    before = len(changes(world))
    member.leave()
    assert changes(world)[before:] == ["-ShareChanged", "-TargetChanged", "-MemberChanged", "EpochChanged"]


def test_a_deleted_group_leaves_nothing_in_the_log(world: Any) -> None:
    member = world.consumer("a", topics=None, expression="t")
    member.join()
    replies: list[Any] = []
    world.coordinator.delete_groups(["g"], replies.append)
    member.leave()
    world.coordinator.delete_groups(["g"], replies.append)
    assert replies == [{"g": ErrorCode.NON_EMPTY_GROUP}, {"g": NONE}]
    last = {bytes(record.key): record.value for record in world.log.records()}
    assert set(last.values()) == {None}, "every key ends with a tombstone"
    assert world.coordinator.list_groups()[1] == []


def test_a_group_is_what_it_was_after_a_restart(world: Any) -> None:
    first, second, away = world.consumer("a"), world.consumer("b"), world.consumer("c", "i")
    for member in (first, second, away):
        member.join()
    world.settle_all(first, second, away)
    away.leave(-2)
    world.consumer("d", topics=None, expression="u.*").join()
    first.beat()  # on its way: it has to give back
    before = everything(world)
    world.coordinator.resign_all()
    world.start()
    assert everything(world) == before
    assert [first.settle(), second.settle()] == [NONE, NONE], "members go on with the epochs that they had"


def test_45_s_of_silence_end_a_session(world: Any) -> None:
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    second.join()
    world.settle_all(first, second)
    world.advance(30_000)
    first.beat()
    world.advance(14_999)
    assert list(world.consumers().members) == ["a", "b"]
    world.advance(1)
    assert list(world.consumers().members) == ["a"]
    first.settle()
    assert first.count() == 4
    assert second.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_may_have_a_session_timeout_and_a_heartbeat_interval_of_its_own(world: Any) -> None:
    """KIP-848: dynamic settings of a group, in force from a member's next heartbeat on."""
    member = world.consumer("a")
    member.join()
    world.group_overrides["g"] = {
        "consumer.session.timeout.ms": "60000",
        "consumer.heartbeat.interval.ms": "7000",
    }
    assert member.send().answer.heartbeat_interval_ms == 7_000
    world.advance(59_999)
    assert list(world.consumers().members) == ["a"]
    world.advance(1)
    assert list(world.consumers().members) == []


def test_a_static_member_that_is_away_is_waited_for_as_long(world: Any) -> None:
    member = world.consumer("a", "i")
    member.join()
    world.advance(10_000)
    member.leave(-2)
    world.advance(34_999)
    assert world.consumers().members
    world.advance(1)
    assert not world.consumers().members


def test_sessions_begin_when_a_group_is_loaded(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    world.advance(40_000)
    world.coordinator.resign_all()
    world.start()
    world.advance(44_999)
    assert world.consumers().members
    world.advance(1)
    assert not world.consumers().members


def test_a_member_that_does_not_revoke_in_time_is_removed(world: Any) -> None:
    slow, quick = world.consumer("a", rebalance_timeout_ms=20_000), world.consumer("b")
    slow.join()
    quick.join()
    slow.beat()
    for _ in range(2):
        world.advance(9_999)
        slow.beat()  # alive, but it gives nothing back
    assert "a" in world.consumers().members
    world.advance(2)
    assert list(world.consumers().members) == ["b"]
    quick.beat()
    assert quick.count() == 4


def test_a_member_that_revokes_in_time_stays(world: Any) -> None:
    first, second = world.consumer("a", rebalance_timeout_ms=20_000), world.consumer("b")
    first.join()
    second.join()
    first.beat()
    world.advance(19_999)
    first.settle()
    world.advance(10_000)
    assert "a" in world.consumers().members


def test_the_time_to_revoke_begins_anew_after_a_restart(world: Any) -> None:
    first, second = world.consumer("a", rebalance_timeout_ms=20_000), world.consumer("b")
    first.join()
    second.join()
    first.beat()
    world.advance(15_000)
    world.coordinator.resign_all()
    world.start()
    world.advance(19_999)
    assert "a" in world.consumers().members
    world.advance(1)
    assert "a" not in world.consumers().members


def test_whoever_lets_go_of_a_partition_waits_for_nothing_in_it(world: Any) -> None:
    """D8: for keys whose owner is gone for good."""
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    second.join()
    first.beat()
    world.log.lags = True
    reply = second.send(subscribed_topic_names=["u"])
    behind = first.send()
    world.coordinator.resign_all()
    world.log.catch_up()
    world.run()
    assert reply.code is behind.code is ErrorCode.NOT_COORDINATOR
    assert [purgatory.watched for purgatory in world.coordinator.purgatories.all()] == [0, 0, 0, 0]
    assert world.timer.size == 0


def test_a_session_that_ends_while_the_log_refuses_ends_later(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    world.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(45_000)
    assert "a" in world.consumers().members
    world.log.failure = NONE
    world.advance(45_000)
    assert not world.consumers().members


def test_a_revocation_that_is_late_while_the_log_refuses_is_late_still(world: Any) -> None:
    slow, other = world.consumer("a", rebalance_timeout_ms=20_000), world.consumer("b")
    slow.join()
    other.join()
    slow.beat()
    world.advance(10_000)
    slow.beat()
    world.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(10_000)
    assert "a" in world.consumers().members
    world.log.failure = NONE
    for _ in range(3):
        slow.beat()  # alive all the time
        other.beat()
        world.advance(15_000)
    assert list(world.consumers().members) == ["b"]


def test_members_commit_and_fetch_at_their_epoch(world: Any) -> None:
    member = world.consumer("a")
    member.join()

    def commit(epoch: int, member_id: str = "a", version: int = 9) -> ErrorCode:
        return committed(world, member_id, epoch, version)

    assert commit(1) is NONE
    assert commit(0) is commit(2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(1, "z") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(-1, "") is ErrorCode.UNKNOWN_MEMBER_ID, "the group is in use"
    assert commit(1, version=8) is ErrorCode.UNSUPPORTED_VERSION

    def fetch(member_id: str | None, epoch: int) -> Any:
        return world.coordinator.fetch_offsets(
            "g", [T0], require_stable=True, member_id=member_id, member_epoch=epoch
        )

    assert fetch("a", 1)[0].offset == fetch(None, -1)[0].offset == 7
    assert fetch("a", 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch("z", 1) is fetch("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    member.leave()
    assert commit(-1, "") is NONE, "nobody is a member"
    assert commit(1) is ErrorCode.UNKNOWN_MEMBER_ID


def committed(world: Any, member_id: str, epoch: int, version: int) -> ErrorCode:
    replies: list[Any] = []
    topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 7, -1, "")])]
    request = OffsetCommitRequest("g", epoch, member_id, -1, None, topics)
    world.coordinator.commit_offsets(request, replies.append, version)
    world.run()
    return replies[0][T0]


def test_transactional_commits_know_of_generations_only(world: Any) -> None:
    world.consumer("a").join()

    def stage(member_id: str, generation: int) -> ErrorCode:
        replies: list[Any] = []
        world.coordinator.stage_transactional_offsets(
            "g",
            TransactionalProducer(9, 0),
            {T0: CommittedOffset(3)},
            member_id=member_id,
            instance_id=None,
            generation=generation,
            respond=replies.append,
        )
        return replies[0][T0]

    assert stage("a", 1) is NONE
    assert stage("", -1) is NONE, "a producer that tells no member is not checked to be one (KIP-447)"
    assert stage("a", 2) is ErrorCode.ILLEGAL_GENERATION
    assert stage("z", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_of_a_group_that_is_not_there_are_told_so(world: Any) -> None:
    assert committed(world, "a", 1, 9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert committed(world, "a", 1, 8) is ErrorCode.ILLEGAL_GENERATION


def test_offsets_of_topics_that_members_read_stay(world: Any) -> None:
    member = world.consumer("a", topics=None, expression="t")
    member.join()
    assert committed(world, "a", 1, 9) is NONE
    replies: list[Any] = []
    world.coordinator.delete_offsets("g", [T0, TopicPartition("u", 0)], lambda *told: replies.append(told))
    assert replies == [(NONE, {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, TopicPartition("u", 0): NONE})]
    week_ms = 7 * 24 * 3_600_000
    for _ in range(2):
        world.clock.advance(week_ms)
        member.beat()
        world.coordinator.expire_offsets()
        world.run()
    assert world.committed() == {T0: 7}


def test_a_group_without_members_goes_with_its_offsets(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    committed(world, "a", 1, 9)
    member.leave()
    world.clock.advance(7 * 24 * 3_600_000)
    world.coordinator.expire_offsets()
    world.run()
    assert world.coordinator.list_groups()[1] == []
    last = {bytes(record.key): record.value for record in world.log.records()}
    assert set(last.values()) == {None}, "every key ends with a tombstone"


def test_no_classic_record_is_ever_written(world: Any) -> None:
    world.consumer("a").join()
    keys = [bytes(record.key) for record in world.log.records()]
    assert not [read_group_key(key) for key in keys if key[:2] == b"\0\2"]
