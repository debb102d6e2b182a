"""Requests that write many offsets, in steps between which others are served."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.offset_writes import COMMITTED_AT_ONCE, DELETED_AT_ONCE
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.coordinator.group_bench import GroupBench

MANY = 5 * COMMITTED_AT_ONCE
KEYS = [TopicPartition("t", number) for number in range(MANY)]


def wide_commit(bench: GroupBench, offset: int, codes: list[Any], *, generation: int = -1) -> Steps[None]:
    parts = [OffsetCommitRequestPartition(key.partition, offset) for key in KEYS]
    request = OffsetCommitRequest("g", generation, topics=[OffsetCommitRequestTopic("t", partitions=parts)])
    steps: Steps[None] | None = bench.coordinator.offset_writes.commit(request, codes.append)
    assert steps is not None
    return steps


def delete(bench: GroupBench, answers: list[Any]) -> Steps[None]:
    steps: Steps[None] | None = bench.coordinator.offset_writes.delete(
        "g", KEYS, lambda *answer: answers.append(answer)
    )
    assert steps is not None
    return steps


def kept(bench: GroupBench) -> int:
    """How many offsets are committed."""
    found = bench.committed()
    assert not isinstance(found, ErrorCode)
    return len(found)


@pytest.mark.parametrize("steps_before", [1, 7, 12])
def test_a_wide_commit_counts_whole_or_not_yet(bench: GroupBench, steps_before: int) -> None:
    codes: list[Any] = []
    steps = wide_commit(bench, 7, codes)
    for _ in range(steps_before):
        next(steps)
        assert bench.committed() == {}
    exhaust(steps)
    assert codes == [dict.fromkeys(KEYS, ErrorCode.NONE)]
    assert bench.committed() == dict.fromkeys(KEYS, 7)
    (batches,) = bench.log.batches.values()
    assert len(batches) == 1, "all of it is one batch"
    bench.start()
    assert bench.committed() == dict.fromkeys(KEYS, 7)


def test_a_wide_commit_is_checked_when_it_is_written(bench: GroupBench) -> None:
    """A member joined while the commit was prepared: then it is none of the group's."""
    codes: list[Any] = []
    steps = wide_commit(bench, 7, codes)
    next(steps)
    bench.stable(bench.member(group_id="g"))
    exhaust(steps)
    assert set(codes[0].values()) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert bench.committed() == {}


def test_a_commit_that_came_meanwhile_stands_before_a_wide_one(bench: GroupBench) -> None:
    steps = wide_commit(bench, 7, [])
    next(steps)
    bench.send_commit("g", {KEYS[0]: 1})
    exhaust(steps)
    bench.run()
    assert bench.committed() == dict.fromkeys(KEYS, 7)


def test_a_wide_commit_of_a_lost_partition_is_refused(bench: GroupBench) -> None:
    codes: list[Any] = []
    steps = wide_commit(bench, 7, codes)
    next(steps)
    bench.coordinator.resign_all()
    exhaust(steps)
    assert set(codes[0].values()) == {ErrorCode.NOT_COORDINATOR}


def test_a_topic_that_goes_while_its_offsets_are_prepared_keeps_none(bench: GroupBench) -> None:
    codes: list[Any] = []
    steps = wide_commit(bench, 7, codes)
    for _ in range(15):
        next(steps)
    bench.known_topics.remove("t")
    bench.touch_topics()
    exhaust(steps)
    assert codes == [dict.fromkeys(KEYS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert bench.committed() == {}


def test_many_offsets_are_deleted_in_parts(bench: GroupBench) -> None:
    exhaust(wide_commit(bench, 7, []))
    answers: list[Any] = []
    steps = delete(bench, answers)
    assert kept(bench) == MANY - DELETED_AT_ONCE
    next(steps)
    assert kept(bench) == MANY - 2 * DELETED_AT_ONCE
    assert answers == []
    exhaust(steps)
    assert answers == [(ErrorCode.NONE, dict.fromkeys(KEYS, ErrorCode.NONE))]
    assert bench.committed() == {}


def test_what_is_left_of_a_deletion_is_refused_when_members_have_come(bench: GroupBench) -> None:
    exhaust(wide_commit(bench, 7, []))
    answers: list[Any] = []
    steps = delete(bench, answers)
    bench.stable(bench.member(group_id="g", protocol_type="connect"))
    exhaust(steps)
    ((error, codes),) = answers
    assert error is ErrorCode.NONE
    assert list(codes.values()).count(ErrorCode.NONE) == DELETED_AT_ONCE
    assert list(codes.values()).count(ErrorCode.NON_EMPTY_GROUP) == MANY - DELETED_AT_ONCE
    assert kept(bench) == MANY - DELETED_AT_ONCE


def test_a_group_that_goes_with_its_last_offset_ends_no_deletion(bench: GroupBench) -> None:
    bench.commit("g", {KEYS[0]: 1})
    answers: list[Any] = []
    exhaust(delete(bench, answers))
    assert answers == [(ErrorCode.NONE, dict.fromkeys(KEYS, ErrorCode.NONE))]
