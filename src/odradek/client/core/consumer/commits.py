"""Commits of offsets: the request, and what each partition was answered.

    commit = Commit(core.identity, core.subscription.states, {orders-0: OffsetAndMetadata(17)})
    send = commit.request()
    commit.answered(answer, states)     None: all is committed; an error: send the next request later

Invariant: a commit names the generation in which it was begun, however often it is sent: after a rebalance
another member may have read further. In the protocol of KIP-848, where a member's epoch also rises while it
keeps its partitions, it goes on with the new one as long as the member has held the partitions all the time.
"""

from collections.abc import Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.consumer.positions import Identity
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.requests import Send, ToCoordinator
from odradek.client.refusal import name_of
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
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FENCED_INSTANCE_ID,
}


class Commit:
    """One commit; see the module."""

    def __init__(
        self,
        identity: Identity,
        states: Mapping[TopicPartition, PartitionState],
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
    ) -> None:
        """`states` tells which partitions are held; it is asked once more when the epoch has risen."""
        self._identity = identity
        self._member, self._epoch = identity.member, identity.epoch
        self._held = {one: states.get(one) for one in offsets}
        self.left = dict(offsets)
        """What is not committed yet."""

    def request(self) -> Send:
        """The next request: what is left, by the member if there is one."""
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for (name, number), one in sorted(self.left.items()):
            topic = topics.setdefault(name, OffsetCommitRequestTopic(name))
            topic.partitions.append(
                OffsetCommitRequestPartition(number, one.offset, one.leader_epoch, one.metadata)
            )
        group = self._identity.group
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=self._epoch,
            member_id=self._member,
            group_instance_id=self._identity.instance if self._member else None,
            topics=list(topics.values()),
        )
        return Send(ToCoordinator(group), request, highest=_VERSION_MAX)

    def answered(
        self, answer: OffsetCommitResponse, states: Mapping[TopicPartition, PartitionState]
    ) -> ApiError | None:
        """Take an answer; returns why something is left, None if nothing is.

        Raises ApiError if what is left cannot be committed any more.
        """
        codes = {
            TopicPartition(topic.name, one.partition_index): known_code(one.error_code)
            for topic in answer.topics
            for one in topic.partitions
        }
        refused = {
            one: code
            for one in self.left
            if (code := codes.get(one, ErrorCode.UNKNOWN_SERVER_ERROR)) is not ErrorCode.NONE
        }
        self.left = {one: self.left[one] for one in refused}
        is_held = self._is_held(states)
        for one, code in refused.items():
            if not (code.is_retriable or (code is ErrorCode.STALE_MEMBER_EPOCH and is_held)):
                raise _refusal(self._identity.group, one, code)
        if is_held:
            self._epoch = self._identity.epoch
        return next((_refusal(self._identity.group, one, code) for one, code in refused.items()), None)

    def _is_held(self, states: Mapping[TopicPartition, PartitionState]) -> bool:
        """Whether the epoch may rise: the member is the same and has held the partitions ever since."""
        is_same = self._identity.checks_epoch and self._identity.member == self._member
        return is_same and all(states.get(one) is self._held[one] for one in self.left)


def may_ask_again(code: ErrorCode) -> bool:
    """Whether committed offsets may be asked for later; a member's epoch may just have changed (KIP-848)."""
    return code.is_retriable or code is ErrorCode.STALE_MEMBER_EPOCH


def _refusal(group: str, one: TopicPartition, code: ErrorCode) -> ApiError:
    if code in _MEMBERSHIP_ENDED:
        said = "the group has given its partitions to others, or is about to; poll to take part again"
        return ApiError(code, f"group {group} refuses the commit of {one}: {said}")
    return ApiError(code, f"group {group} refuses the commit of {one}: {name_of(code)}")
