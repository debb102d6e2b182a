"""A commit names the generation in which it was begun, however often it is sent."""

from dataclasses import dataclass

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.commits import Commit
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


@dataclass
class Member:
    """An `Identity`."""

    checks_epoch: bool
    epoch: int = 4
    member: str = "m1"
    group: str = "billing"
    instance: str | None = None


def answer(*codes: ErrorCode) -> OffsetCommitResponse:
    parts = [
        OffsetCommitResponsePartition(partition_index=number, error_code=code)
        for number, code in enumerate(codes)
    ]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="orders", partitions=parts)])


def epoch_of(commit: Commit) -> int:
    request = commit.request().request
    assert isinstance(request, OffsetCommitRequest)
    return request.generation_id_or_member_epoch


def begun(member: Member, states: dict[TopicPartition, PartitionState]) -> Commit:
    return Commit(member, states, {P0: OffsetAndMetadata(5), P1: OffsetAndMetadata(6)})


def test_what_is_retried_names_the_generation_of_the_beginning_and_is_refused_after_a_rebalance() -> None:
    member, states = Member(checks_epoch=False), {P0: PartitionState(), P1: PartitionState()}
    commit = begun(member, states)
    problem = commit.answered(answer(ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), states)
    assert problem is not None
    assert problem.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    member.epoch = 5
    assert epoch_of(commit) == 4
    assert list(commit.left) == [P1]
    refused = answer(ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION)
    with pytest.raises(ApiError, match="the group has given its partitions to others") as error:
        commit.answered(refused, states)
    assert error.value.code is ErrorCode.ILLEGAL_GENERATION


def test_a_newer_epoch_is_named_only_while_the_partitions_were_held_all_the_time() -> None:
    member, states = Member(checks_epoch=True), {P0: PartitionState(), P1: PartitionState()}
    stale = answer(ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.STALE_MEMBER_EPOCH)
    commit = begun(member, states)
    member.epoch = 5
    assert commit.answered(stale, states) is not None
    assert epoch_of(commit) == 5
    states[P1] = PartitionState()  # it was revoked, and has come back
    member.epoch = 6
    with pytest.raises(ApiError) as error:
        commit.answered(stale, states)
    assert error.value.code is ErrorCode.STALE_MEMBER_EPOCH
    assert epoch_of(commit) == 5


def test_a_partition_that_the_answer_leaves_out_is_not_committed() -> None:
    states = {P0: PartitionState(), P1: PartitionState()}
    with pytest.raises(ApiError, match="orders-1: unknown server error"):
        begun(Member(checks_epoch=True), states).answered(answer(ErrorCode.NONE), states)
