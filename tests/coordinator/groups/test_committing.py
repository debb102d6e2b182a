from collections.abc import Mapping

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.listing import FetchedOffset
from tests.coordinator.group_bench import GroupBench

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
PRODUCER = TransactionalProducer(9, 0)


def stage(
    bench: GroupBench,
    offsets: dict[TopicPartition, int],
    group_id: str = "g",
    *,
    producer: TransactionalProducer = PRODUCER,
    member_id: str = "",
    generation: int = -1,
) -> Codes:
    answers: list[Codes] = []
    writes, now_ms = bench.coordinator.offset_writes, bench.clock.wall_ms()
    offers = ((key, CommittedOffset(offset, 5, "", now_ms)) for key, offset in offsets.items())
    writes.commit_in_transaction(
        group_id,
        producer,
        exhaust(writes.prepare(group_id, offers, producer)),
        member_id=member_id,
        instance_id=None,
        generation=generation,
        respond=answers.append,
    )
    (codes,) = answers
    return codes


def complete(bench: GroupBench, *, committed: bool, group_id: str = "g") -> None:
    partition = bench.coordinator._partition_of(group_id)
    bench.coordinator.complete_transaction(partition, PRODUCER.producer_id, committed=committed)


def fetch(bench: GroupBench, *keys: TopicPartition, require_stable: bool = False) -> list[FetchedOffset]:
    found = bench.coordinator.fetch_offsets("g", keys or None, require_stable=require_stable)
    assert not isinstance(found, ErrorCode), found.name
    return exhaust(found)


# --- commits


def test_a_group_without_members_takes_commits_of_anybody(bench: GroupBench) -> None:
    assert bench.commit("g", {T0: 7, U0: 9}, "noted").answer == {T0: ErrorCode.NONE, U0: ErrorCode.NONE}
    (row,) = fetch(bench, T0)
    assert (row.offset, row.leader_epoch, row.metadata, row.error) == (7, 5, "noted", ErrorCode.NONE)
    assert bench.state() is GroupState.EMPTY


def test_a_commit_counts_once_it_is_in_the_log(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.log.lags = True
    reply = bench.commit("g", {T0: 2})
    assert not reply.is_answered
    bench.log.catch_up()
    assert reply.answer == {T0: ErrorCode.NONE}
    assert bench.committed() == {T0: 2}


def test_the_commit_that_is_later_in_the_log_counts(bench: GroupBench) -> None:
    bench.log.lags = True
    bench.commit("g", {T0: 1})
    bench.commit("g", {T0: 2})
    bench.log.catch_up()
    assert bench.committed() == {T0: 2}


@pytest.mark.parametrize("is_replicated", [True, False])
def test_what_was_read_is_told_when_it_is_replicated(bench: GroupBench, is_replicated: bool) -> None:
    """R19: for OffsetFetch."""
    bench.log.lags = True
    bench.commit("g", {T0: 1})
    told: list[object] = []
    read = bench.committed()
    bench.coordinator.answer_when_replicated(["g", "other", "g"], told.append, read, lambda error: error)
    assert told == []
    if is_replicated:
        bench.log.catch_up()
    else:
        bench.fail_over()
    assert told == [{T0: 1} if is_replicated else ErrorCode.NOT_COORDINATOR]


def test_each_partition_has_its_own_answer(bench: GroupBench) -> None:
    nowhere = TopicPartition("nowhere", 0)
    assert bench.commit("g", {T0: 1, nowhere: 1}).answer == {
        T0: ErrorCode.NONE,
        nowhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert bench.committed() == {T0: 1}


def test_a_commit_of_nothing_that_may_be_leaves_no_group(bench: GroupBench) -> None:
    bench.commit("g", {TopicPartition("nowhere", 0): 1})
    assert bench.state() is None


def test_metadata_has_a_limit() -> None:
    bench = GroupBench(BrokerSettings(offset_metadata_max_bytes=4))
    assert bench.commit("g", {T0: 1}, "12345").answer == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert bench.commit("g", {T0: 1}, "1234").answer == {T0: ErrorCode.NONE}
    assert bench.commit("g", {T0: 1}, "é" * 4).answer == {T0: ErrorCode.NONE}
    assert bench.commit("g", {T0: 1}, "😀" * 2).answer == {T0: ErrorCode.NONE}
    too_long = bench.commit("g", {T0: 1}, "😀" * 2 + "!")
    assert too_long.answer == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}, "counted as Java counts"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_committers_are_told_of_a_failed_write(
    bench: GroupBench, failure: ErrorCode, code: ErrorCode
) -> None:
    bench.log.failure = failure
    assert bench.commit("g", {T0: 1}).answer == {T0: code}
    assert bench.state() is None


def test_members_commit_in_their_generation(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    assert member.commit({T0: 3}).answer == {T0: ErrorCode.NONE}
    member.generation -= 1
    assert member.commit({T0: 4}).answer == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert bench.committed() == {T0: 3}


@pytest.mark.parametrize(
    ("who", "code"),
    [
        (("", -1, None), ErrorCode.UNKNOWN_MEMBER_ID),
        (("stranger", 1, None), ErrorCode.UNKNOWN_MEMBER_ID),
        (("m", 1, "i"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_strangers_do_not_commit_for_a_group_that_has_members(
    bench: GroupBench, who: tuple[str, int, str | None], code: ErrorCode
) -> None:
    bench.stable(bench.member())
    assert bench.commit("g", {T0: 1}, "", *who).answer == {T0: code}


def test_a_fenced_instance_does_not_commit(bench: GroupBench) -> None:
    member = bench.member("i")
    bench.stable(member)
    back = bench.member("i")
    back.take(back.join())
    assert member.commit({T0: 1}).answer == {T0: ErrorCode.FENCED_INSTANCE_ID}


def test_a_generation_of_a_group_that_is_not_there_is_illegal(bench: GroupBench) -> None:
    assert bench.commit("g", {T0: 1}, "", "m", 3).answer == {T0: ErrorCode.ILLEGAL_GENERATION}


def test_members_commit_before_they_join_again_and_not_before_they_sync(bench: GroupBench) -> None:
    first, second = bench.member(), bench.member()
    bench.stable(first)
    waiting = second.join()
    assert first.commit({T0: 1}).answer == {T0: ErrorCode.NONE}
    first.take(first.join())
    second.take(waiting)
    assert first.commit({T0: 2}).answer == {T0: ErrorCode.REBALANCE_IN_PROGRESS}


# --- fetches


def test_what_was_never_committed_is_minus_one(bench: GroupBench) -> None:
    (row,) = fetch(bench, T0)
    assert (row.offset, row.leader_epoch, row.metadata, row.error) == (-1, -1, "", ErrorCode.NONE)
    bench.commit("g", {T0: 1})
    assert [row.offset for row in fetch(bench, T1, T0)] == [-1, 1]


# --- transactions


def test_offsets_of_a_transaction_count_when_it_commits(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    assert stage(bench, {T0: 5, T1: 6}) == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert bench.committed() == {T0: 1}
    complete(bench, committed=True)
    assert bench.committed() == {T0: 5, T1: 6}


def test_offsets_of_a_transaction_that_aborts_never_count(bench: GroupBench) -> None:
    stage(bench, {T0: 5})
    complete(bench, committed=False)
    assert bench.state() is None


def test_whoever_wants_stable_offsets_waits_for_the_transaction(bench: GroupBench) -> None:
    """KIP-447."""
    bench.commit("g", {T0: 1, T1: 1})
    stage(bench, {T0: 5})
    rows = fetch(bench, T0, T1, require_stable=True)
    assert [row.error for row in rows] == [ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.NONE]
    assert [row.offset for row in fetch(bench, T0, T1)] == [1, 1]
    complete(bench, committed=True)
    assert [row.offset for row in fetch(bench, T0, T1, require_stable=True)] == [5, 1]


def test_a_commit_after_a_transactions_counts_although_the_transaction_ends_later(bench: GroupBench) -> None:
    stage(bench, {T0: 5})
    bench.commit("g", {T0: 3})
    complete(bench, committed=True)
    assert bench.committed() == {T0: 3}


def test_a_transaction_that_names_a_member_must_be_in_its_generation(bench: GroupBench) -> None:
    """KIP-447: zombies are fenced by their generation; whoever names nobody is not checked."""
    member = bench.member()
    bench.stable(member)
    who, now = member.member_id, member.generation
    assert stage(bench, {T0: 1}, member_id=who, generation=now) == {T0: ErrorCode.NONE}
    assert stage(bench, {T0: 1}, member_id=who, generation=now - 1) == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert stage(bench, {T0: 1}) == {T0: ErrorCode.NONE}


# --- deletion


def delete(bench: GroupBench, *keys: TopicPartition, group_id: str = "g") -> tuple[ErrorCode, Codes]:
    answers: list[tuple[ErrorCode, Codes]] = []
    bench.coordinator.offset_writes.delete(group_id, keys, lambda *answer: answers.append(answer))
    (answer,) = answers
    return answer


def test_offsets_are_deleted_one_by_one(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1, T1: 2})
    nowhere = TopicPartition("nowhere", 0)
    assert delete(bench, T0, nowhere) == (
        ErrorCode.NONE,
        {T0: ErrorCode.NONE, nowhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    )
    assert bench.committed() == {T1: 2}
    bench.start()
    assert bench.committed() == {T1: 2}


@pytest.mark.parametrize("announced", [0, 1, 3, 32_767, -1])
def test_offsets_of_topics_that_members_read_stay(bench: GroupBench, announced: int) -> None:
    """As in Kafka whatever version is announced: some clients announce 1 and send version 0."""
    version = announced.to_bytes(2, "big", signed=True)
    subscription = version + b"\0\0\0\1" + b"\0\1t" + b"\xff\xff\xff\xff"
    member = bench.member(protocols=(("range", subscription),))
    bench.stable(member)
    member.commit({T0: 1, U0: 2})
    assert delete(bench, T0, U0) == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, U0: ErrorCode.NONE},
    )


def test_offsets_of_members_that_do_not_say_what_they_read_stay(bench: GroupBench) -> None:
    member = bench.member()  # with metadata that is no subscription
    bench.stable(member)
    member.commit({T0: 1})
    assert delete(bench, T0) == (ErrorCode.NONE, {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC})


def test_offsets_of_a_group_of_another_kind_in_use_stay(bench: GroupBench) -> None:
    bench.stable(bench.member(protocol_type="connect"))
    assert delete(bench, T0) == (ErrorCode.NON_EMPTY_GROUP, {})


def test_offsets_of_no_group(bench: GroupBench) -> None:
    assert delete(bench, T0) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


def test_a_commit_that_came_after_the_tombstone_stays(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.log.lags = True
    answers: list[tuple[ErrorCode, Codes]] = []
    bench.coordinator.offset_writes.delete("g", [T0], lambda *answer: answers.append(answer))
    bench.commit("g", {T0: 2})
    bench.log.catch_up()
    assert bench.committed() == {T0: 2}
    assert len(answers) == 1


@pytest.mark.parametrize("is_restarted", [False, True])
def test_an_offset_that_is_deleted_does_not_come_back_with_a_transaction(
    bench: GroupBench, is_restarted: bool
) -> None:
    """OffsetDelete stands behind the transaction's commit in the log, in memory and after a restart."""
    bench.commit("g", {T0: 1, T1: 1})
    stage(bench, {T0: 42, T1: 43})
    assert delete(bench, T0) == (ErrorCode.NONE, {T0: ErrorCode.NONE})
    assert [row.error for row in fetch(bench, T0, require_stable=True)] == [ErrorCode.NONE]
    if is_restarted:
        bench.start()
    complete(bench, committed=True)
    assert bench.committed() == {T1: 43}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_deleted_group_does_not_come_back_with_a_transaction(bench: GroupBench, is_restarted: bool) -> None:
    bench.commit("g", {T0: 1})
    stage(bench, {T0: 42, T1: 43})
    codes: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], codes.append))
    assert codes == [{"g": ErrorCode.NONE}]
    if is_restarted:
        bench.start()
    complete(bench, committed=True)
    assert bench.state() is None


def test_what_a_transaction_commits_after_a_deletion_counts(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    stage(bench, {T0: 42})
    exhaust(bench.coordinator.delete_groups(["g"], lambda codes: None))
    stage(bench, {T0: 44})
    complete(bench, committed=True)
    assert bench.committed() == {T0: 44}


def test_an_offset_that_is_only_pending_can_be_deleted(bench: GroupBench) -> None:
    stage(bench, {T0: 42})
    assert delete(bench, T0) == (ErrorCode.NONE, {T0: ErrorCode.NONE})
    bench.start()
    complete(bench, committed=True)
    assert bench.state() is None
