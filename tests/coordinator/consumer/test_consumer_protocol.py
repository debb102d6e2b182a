from collections.abc import Mapping

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.consumer_records import read_record
from odradek.coordinator.groups.log_records import read_group_key
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.coordinator.group_bench import GroupBench

NONE, ELSEWHERE = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE
T0 = TopicPartition("t", 0)


def everything(bench: GroupBench) -> tuple[object, ...]:
    """All that is known of the group but whether it was read or made."""
    group = bench.consumers()
    return (group.epoch, group.topics_hash, group.target_epoch, group.members, group.target, group.owners)


def changes(bench: GroupBench) -> list[str]:
    """The kinds of the records that were written, in order; tombstones with a minus."""
    kinds = []
    for record in bench.log.records():
        change = read_record(bytes(record.key or b""), record.value and bytes(record.value)).change
        kinds.append(("" if record.value is not None else "-") + type(change).__name__)
    return kinds


def test_steps_do_not_wait_for_one_anothers_replication(bench: GroupBench) -> None:
    """R19: a record counts once it is appended; answers about it wait for HW."""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    bench.log.lags = True
    reply = second.send_join()
    waiting = first.send()
    assert not reply.is_answered
    assert not waiting.is_answered, "it builds on what is not replicated"
    assert (list(bench.consumers().members), bench.consumers().epoch) == (["a", "b"], 2)
    bench.log.catch_up()
    assert reply.code is waiting.code is NONE


def test_what_was_not_replicated_is_lost_with_the_leader(bench: GroupBench) -> None:
    """R19"""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    bench.log.lags = True
    reply = second.send_join()
    bench.fail_over()
    assert reply.code is ErrorCode.NOT_COORDINATOR
    assert (list(bench.consumers().members), bench.consumers().epoch) == (["a"], 1)


def test_what_times_out_is_not_undone(bench: GroupBench) -> None:
    """R19"""
    bench.log.lags = True
    reply = bench.consumer("a").send_join()
    bench.log.time_out()
    assert reply.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(bench.consumers().members) == ["a"]


def test_what_the_log_refuses_is_not_so(bench: GroupBench) -> None:
    first = bench.consumer("a")
    first.join()
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert bench.consumer("b").send_join().code is ELSEWHERE
    assert first.leave() is ELSEWHERE
    assert first.beat() is NONE, "it changes nothing, and so needs no log"
    bench.log.failure = NONE
    assert list(bench.consumers().members) == ["a"]
    assert bench.consumers().epoch == 1
    assert bench.consumer("b").join() is NONE


def test_a_first_join_that_the_log_refuses_leaves_no_group_behind(bench: GroupBench) -> None:
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert bench.consumer("a").send_join().code is ELSEWHERE
    assert exhaust(bench.coordinator.list_groups())[1] == []
    assert bench.timer.size == 0


def test_a_change_is_one_batch(bench: GroupBench) -> None:
    bench.consumer("a").join()
    (batches,) = bench.log.batches.values()
    assert len(batches) == 1
    assert changes(bench) == [
        "MemberChanged",
        "EpochChanged",
        "TargetChanged",
        "TargetEpochChanged",
        "ShareChanged",
    ]


def test_a_leaver_takes_its_records_along(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    before = len(changes(bench))
    member.leave()
    assert changes(bench)[before:] == ["-ShareChanged", "-TargetChanged", "-MemberChanged", "EpochChanged"]


def test_a_deleted_group_leaves_nothing_in_the_log(bench: GroupBench) -> None:
    member = bench.consumer("a", topics=None, expression="t")
    member.join()
    replies: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], replies.append))
    member.leave()
    exhaust(bench.coordinator.delete_groups(["g"], replies.append))
    assert replies == [{"g": ErrorCode.NON_EMPTY_GROUP}, {"g": NONE}]
    last = {bytes(record.key or b""): record.value for record in bench.log.records()}
    assert set(last.values()) == {None}, "every key ends with a tombstone"
    assert exhaust(bench.coordinator.list_groups())[1] == []


def test_a_group_is_what_it_was_after_a_restart(bench: GroupBench) -> None:
    first, second, away = bench.consumer("a"), bench.consumer("b"), bench.consumer("c", "i")
    for member in (first, second, away):
        member.join()
    bench.settle_all(first, second, away)
    away.leave(-2)
    bench.consumer("d", topics=None, expression="u.*").join()
    first.beat()  # on its way: it has to give back
    before = everything(bench)
    bench.coordinator.resign_all()
    bench.start()
    assert everything(bench) == before
    assert [first.settle(), second.settle()] == [NONE, NONE], "members go on with the epochs that they had"


def test_45_s_of_silence_end_a_session(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.settle_all(first, second)
    bench.advance(30_000)
    first.beat()
    bench.advance(14_999)
    assert list(bench.consumers().members) == ["a", "b"]
    bench.advance(1)
    assert list(bench.consumers().members) == ["a"]
    first.settle()
    assert first.count() == 4
    assert second.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_may_have_a_session_timeout_and_a_heartbeat_interval_of_its_own(bench: GroupBench) -> None:
    """KIP-848: dynamic settings of a group, in force from a member's next heartbeat on."""
    member = bench.consumer("a")
    member.join()
    bench.group_overrides["g"] = {
        "consumer.session.timeout.ms": "60000",
        "consumer.heartbeat.interval.ms": "7000",
    }
    assert member.send().answer.heartbeat_interval_ms == 7_000
    bench.advance(59_999)
    assert list(bench.consumers().members) == ["a"]
    bench.advance(1)
    assert list(bench.consumers().members) == []


def test_a_static_member_that_is_away_is_waited_for_as_long(bench: GroupBench) -> None:
    member = bench.consumer("a", "i")
    member.join()
    bench.advance(10_000)
    member.leave(-2)
    bench.advance(34_999)
    assert bench.consumers().members
    bench.advance(1)
    assert not bench.consumers().members


def test_sessions_begin_when_a_group_is_loaded(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    bench.advance(40_000)
    bench.coordinator.resign_all()
    bench.start()
    bench.advance(44_999)
    assert bench.consumers().members
    bench.advance(1)
    assert not bench.consumers().members


def test_a_member_that_does_not_revoke_in_time_is_removed(bench: GroupBench) -> None:
    slow, quick = bench.consumer("a", rebalance_timeout_ms=20_000), bench.consumer("b")
    slow.join()
    quick.join()
    slow.beat()
    for _ in range(2):
        bench.advance(9_999)
        slow.beat()  # alive, but it gives nothing back
    assert "a" in bench.consumers().members
    bench.advance(2)
    assert list(bench.consumers().members) == ["b"]
    quick.beat()
    assert quick.count() == 4


def test_a_member_that_revokes_in_time_stays(bench: GroupBench) -> None:
    first, second = bench.consumer("a", rebalance_timeout_ms=20_000), bench.consumer("b")
    first.join()
    second.join()
    first.beat()
    bench.advance(19_999)
    first.settle()
    bench.advance(10_000)
    assert "a" in bench.consumers().members


def test_the_time_to_revoke_begins_anew_after_a_restart(bench: GroupBench) -> None:
    first, second = bench.consumer("a", rebalance_timeout_ms=20_000), bench.consumer("b")
    first.join()
    second.join()
    first.beat()
    bench.advance(15_000)
    bench.coordinator.resign_all()
    bench.start()
    bench.advance(19_999)
    assert "a" in bench.consumers().members
    bench.advance(1)
    assert "a" not in bench.consumers().members


def test_whoever_lets_go_of_a_partition_waits_for_nothing_in_it(bench: GroupBench) -> None:
    """D8: for keys whose owner is gone for good."""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    first.beat()
    bench.log.lags = True
    reply = second.send(subscribed_topic_names=["u"])
    behind = first.send()
    bench.coordinator.resign_all()
    bench.log.catch_up()
    bench.run()
    assert reply.code is behind.code is ErrorCode.NOT_COORDINATOR
    assert [purgatory.watched for purgatory in bench.coordinator.purgatories.all()] == [0, 0, 0, 0]
    assert bench.timer.size == 0


def test_a_session_that_ends_while_the_log_refuses_ends_later(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.advance(45_000)
    assert "a" in bench.consumers().members
    bench.log.failure = NONE
    bench.advance(45_000)
    assert not bench.consumers().members


def test_a_revocation_that_is_late_while_the_log_refuses_is_late_still(bench: GroupBench) -> None:
    slow, other = bench.consumer("a", rebalance_timeout_ms=20_000), bench.consumer("b")
    slow.join()
    other.join()
    slow.beat()
    bench.advance(10_000)
    slow.beat()
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.advance(10_000)
    assert "a" in bench.consumers().members
    bench.log.failure = NONE
    for _ in range(3):
        slow.beat()  # alive all the time
        other.beat()
        bench.advance(15_000)
    assert list(bench.consumers().members) == ["b"]


def test_a_commit_may_be_as_old_as_the_partition_is_the_members(bench: GroupBench) -> None:
    """KIP-1251, and what Kafka 4.3.1 answers."""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.settle_all(first, second)
    (kept,) = first.told.values()
    (others,) = second.told.values()
    assert (first.epoch, second.epoch) == (2, 2)

    def codes(member_id: str, epoch: int, partitions: list[int]) -> set[ErrorCode]:
        return set(all_committed(bench, member_id, epoch, partitions).values())

    stale = {ErrorCode.STALE_MEMBER_EPOCH}
    for _ in range(2):
        assert codes("a", 1, kept) == {NONE}
        assert codes("a", 1, others) == codes("a", 1, [kept[0], others[0]]) == stale, "all or nothing"
        assert codes("a", 0, kept) == codes("a", 3, kept) == codes("b", 1, others) == stale
        assert codes("a", 2, others) == {NONE}, "of this epoch any partition"
        bench.start()  # and after a load
        bench.run()


def test_members_commit_and_fetch_at_their_epoch(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()

    def commit(epoch: int, member_id: str = "a", version: int = 9) -> ErrorCode:
        return committed(bench, member_id, epoch, version)

    assert commit(1) is NONE
    assert commit(0) is commit(2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(1, "z") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(-1, "") is ErrorCode.UNKNOWN_MEMBER_ID, "the group is in use"
    assert commit(1, version=8) is ErrorCode.UNSUPPORTED_VERSION

    def fetch(member_id: str | None, epoch: int) -> int | ErrorCode:
        found = bench.coordinator.fetch_offsets(
            "g", [T0], require_stable=True, member_id=member_id, member_epoch=epoch
        )
        return found if isinstance(found, ErrorCode) else exhaust(found)[0].offset

    assert fetch("a", 1) == fetch(None, -1) == 7
    assert fetch("a", 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch("z", 1) is fetch("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    member.leave()
    assert commit(-1, "") is NONE, "nobody is a member"
    assert commit(1) is ErrorCode.UNKNOWN_MEMBER_ID


def committed(bench: GroupBench, member_id: str, epoch: int, version: int) -> ErrorCode:
    return all_committed(bench, member_id, epoch, [0], version)[T0]


def all_committed(
    bench: GroupBench, member_id: str, epoch: int, partitions: list[int], version: int = 9
) -> Codes:
    replies: list[Codes] = []
    told = [OffsetCommitRequestPartition(number, 7, -1, "") for number in partitions]
    topics = [OffsetCommitRequestTopic("t", partitions=told)]
    request = OffsetCommitRequest("g", epoch, member_id, -1, None, topics)
    bench.coordinator.offset_writes.commit(request, replies.append, version)
    bench.run()
    return replies[0]


def test_transactional_commits_know_of_generations_only(bench: GroupBench) -> None:
    bench.consumer("a").join()

    def stage(member_id: str, generation: int) -> ErrorCode:
        replies: list[Codes] = []
        writes, producer = bench.coordinator.offset_writes, TransactionalProducer(9, 0)
        writes.commit_in_transaction(
            "g",
            producer,
            exhaust(writes.prepare("g", iter([(T0, CommittedOffset(3))]), producer)),
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


def test_commits_of_a_group_that_is_not_there_are_told_so(bench: GroupBench) -> None:
    assert committed(bench, "a", 1, 9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert committed(bench, "a", 1, 8) is ErrorCode.ILLEGAL_GENERATION


def test_offsets_of_topics_that_members_read_stay(bench: GroupBench) -> None:
    member = bench.consumer("a", topics=None, expression="t")
    member.join()
    assert committed(bench, "a", 1, 9) is NONE
    replies: list[tuple[ErrorCode, Codes]] = []
    partitions = [T0, TopicPartition("u", 0)]
    bench.coordinator.offset_writes.delete("g", partitions, lambda *told: replies.append(told))
    assert replies == [(NONE, {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, TopicPartition("u", 0): NONE})]
    week_ms = 7 * 24 * 3_600_000
    for _ in range(2):
        bench.clock.advance(week_ms)
        member.beat()
        bench.coordinator.expire_offsets()
        bench.run()
    assert bench.committed() == {T0: 7}


def test_a_group_without_members_goes_with_its_offsets(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    committed(bench, "a", 1, 9)
    member.leave()
    bench.clock.advance(7 * 24 * 3_600_000)
    bench.coordinator.expire_offsets()
    bench.run()
    assert exhaust(bench.coordinator.list_groups())[1] == []
    last = {bytes(record.key or b""): record.value for record in bench.log.records()}
    assert set(last.values()) == {None}, "every key ends with a tombstone"


def test_no_classic_record_is_ever_written(bench: GroupBench) -> None:
    bench.consumer("a").join()
    keys = [bytes(record.key or b"") for record in bench.log.records()]
    assert not [read_group_key(key) for key in keys if key[:2] == b"\0\2"]
