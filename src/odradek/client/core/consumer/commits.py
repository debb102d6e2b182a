"""Commits of offsets: the request, and what each partition was answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset, TopicPartition
from odradek.client.core.consumer.positions import Identity
from odradek.client.core.requests import Send, ToCoordinator
from odradek.client.refusal import known_code
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

# The last version that names topics by name.
_VERSION_MAX: Final = 9
_MEMBERSHIP_ENDED: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FENCED_INSTANCE_ID,
}


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A committed position: the offset of the next record to read, and a note beside it."""

    offset: Offset
    metadata: str = ""
    leader_epoch: LeaderEpoch = NO_EPOCH


def commit_request(
    identity: Identity, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: int
) -> Send:
    """The commit of these offsets, by the member if there is one."""
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (name, number), one in sorted(offsets.items()):
        topic = topics.setdefault(name, OffsetCommitRequestTopic(name))
        topic.partitions.append(
            OffsetCommitRequestPartition(number, one.offset, one.leader_epoch, one.metadata)
        )
    request = OffsetCommitRequest(
        group_id=identity.group,
        generation_id_or_member_epoch=identity.epoch,
        member_id=identity.member,
        group_instance_id=identity.instance,
        topics=list(topics.values()),
    )
    return Send(ToCoordinator(identity.group), request, timeout_ms=timeout_ms, highest=_VERSION_MAX)


def refusals(answer: OffsetCommitResponse) -> dict[TopicPartition, ErrorCode]:
    """Why partitions were not committed; empty if all were."""
    return {
        TopicPartition(topic.name, one.partition_index): known_code(one.error_code)
        for topic in answer.topics
        for one in topic.partitions
        if one.error_code != ErrorCode.NONE
    }


def may_try_again(code: ErrorCode) -> bool:
    """Whether the same commit may succeed later; a member's epoch may just have changed (KIP-848)."""
    return code.is_retriable or code is ErrorCode.STALE_MEMBER_EPOCH


def refusal(group: str, refused: Mapping[TopicPartition, ErrorCode]) -> ApiError:
    """The error that tells the application."""
    one, code = next(iter(refused.items()))
    if code in _MEMBERSHIP_ENDED:
        said = "the group has given its partitions to others, or is about to; poll to take part again"
        return ApiError(code, f"group {group} refuses the commit of {one}: {said}")
    return ApiError(code, f"group {group} refuses the commit of {one}: {code.name.lower().replace('_', ' ')}")
