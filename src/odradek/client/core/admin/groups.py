"""Consumer groups: list, describe, delete, remove members; their committed offsets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition, by_topic
from odradek.client.core.admin.answering import Missing, ask_those_there, missing_of
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_once
from odradek.client.core.operation import Operation, ask, ask_all, check_all_told, only
from odradek.client.core.requests import Send, ToCoordinator, ToNode
from odradek.client.group_description import GroupDescription, of_classic_group, of_consumer_group
from odradek.client.refusal import raise_for
from odradek.wire.message import Message
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from odradek.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

OFFSET_FETCH_VERSION_MAX: Final = 7
"""The last version whose layout names one group; later ones can name several."""
OFFSET_COMMIT_VERSION_MAX: Final = 9
"""The last version that names topics by name; later ones only name them by id."""
DESCRIBE_VERSION_MAX: Final = 5
_FIRST_WITH_STATES, _FIRST_WITH_KINDS = 4, 5
_FIRST_WITH_MEMBERS: Final = 3
_REMOVAL_REASON: Final = "member was removed by an admin"
_REASON_MAX: Final = 255
"""Characters of a reason, which the broker only logs (KIP-800)."""


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One group of a list; state and type are empty where the broker does not return them."""

    group: str
    state: str
    kind: str
    protocol_type: str


# --- requests and answers


def listed_groups(answer: ListGroupsResponse) -> list[GroupListing]:
    """The groups that one broker coordinates. Raises ApiError if it refuses."""
    raise_for(answer.error_code, about="listing groups")
    return [
        GroupListing(one.group_id, one.group_state, one.group_type, one.protocol_type)
        for one in answer.groups
    ]


def consumer_group_of(answer: ConsumerGroupDescribeResponse, group: str) -> GroupDescription | None:
    """The described group; None if it does not use the consumer protocol."""
    found = only(answer.groups, f"group {group}", name=group, named="group_id")
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    raise_for(found.error_code, about=f"group {group}")
    return of_consumer_group(found)


def classic_group_of(answer: DescribeGroupsResponse, group: str) -> GroupDescription:
    """The described group. Raises ApiError if there is none."""
    found = only(answer.groups, f"group {group}", name=group, named="group_id")
    raise_for(found.error_code, about=f"group {group}")
    if found.group_state == "Dead":
        raise_for_group(ErrorCode.GROUP_ID_NOT_FOUND, group)
    return of_classic_group(found)


def committed_offsets(answer: OffsetFetchResponse, group: str) -> dict[TopicPartition, Offset]:
    """The committed offsets of an answer, by partition. Raises ApiError for the first one that is refused."""
    raise_for(answer.error_code, about=f"group {group}")
    found = {}
    for topic in answer.topics:
        for one in topic.partitions:
            partition = TopicPartition(topic.name, one.partition_index)
            raise_for(one.error_code, about=f"group {group}: no offset of {partition}")
            if one.committed_offset >= 0:
                found[partition] = one.committed_offset
    return found


def commit_request(
    group: str, offsets: Mapping[TopicPartition, Offset], member: str = "", epoch: int = -1
) -> OffsetCommitRequest:
    """Commits offsets as a member in its epoch, or, without one, while the group has no members."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, number), offset in sorted(offsets.items()):
        partition = OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=""
        )
        topics[topic].append(partition)
    return OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=epoch,
        topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
    )


def raise_for_commit(answer: OffsetCommitResponse, group: str, member: str = "") -> None:
    """Raise ApiError for the first offset that was not committed."""
    for answered in answer.topics:
        for one in answered.partitions:
            refused = known_code(one.error_code)
            if refused is ErrorCode.UNKNOWN_MEMBER_ID and not member:
                said = f"group {group} has members, and only they may change its offsets: stop them first"
                raise ApiError(refused, said)
            raise_for(refused, about=f"{answered.name}-{one.partition_index}")


def offset_deletion(group: str, partitions: Sequence[TopicPartition]) -> OffsetDeleteRequest:
    """Deletes a group's committed offsets of these partitions."""
    return OffsetDeleteRequest(
        group,
        [
            OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(one) for one in numbers])
            for topic, numbers in by_topic(partitions).items()
        ],
    )


def raise_for_offset_deletion(answer: OffsetDeleteResponse, group: str) -> None:
    """Raise ApiError for the first offset that was not deleted."""
    if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group} has members: it is still in use")
    raise_for_group(answer.error_code, group)
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
                said = f"members of group {group} read topic {topic.name}: stop them first"
                raise ApiError(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, said)
            raise_for(one.error_code, about=str(TopicPartition(topic.name, one.partition_index)))


def raise_for_deletion(answer: DeleteGroupsResponse, group: str) -> None:
    """Raise ApiError if the group was not deleted."""
    found = only(answer.results, f"group {group}", name=group, named="group_id")
    if found.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group} has members: it is still in use")
    raise_for_group(found.error_code, group)


def raise_for_group(error_code: int, group: str) -> None:
    """Raise ApiError unless the code is NONE, with a sentence for a group that does not exist."""
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group}")
    raise_for(error_code, about=f"group {group}")


# --- operations


def list_groups(*, states: Sequence[str] = (), kinds: Sequence[str] = ()) -> Operation[list[GroupListing]]:
    """The groups of the cluster, by name: all, or those in one of these states, of one of these kinds.

    Kafka's states are `Stable`, `Empty` and others (KIP-518), its kinds `classic` and `consumer` (KIP-848).
    """
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(kinds))
    lowest = _FIRST_WITH_KINDS if kinds else _FIRST_WITH_STATES if states else 0
    brokers = yield from broker_ids()
    answers = yield from ask_all(
        [Send(ToNode(one), request, lowest=lowest) for one in brokers],
        ListGroupsResponse,
        lambda answer: [answer.error_code],
    )
    return _by_name(answers)


def list_groups_there() -> Operation[tuple[list[GroupListing], Missing]]:
    """The groups of the brokers that answer, by name, and the brokers that do not."""
    brokers = yield from broker_ids()
    answers, silent = yield from ask_those_there(
        {one: Send(ToNode(one), ListGroupsRequest()) for one in brokers},
        ListGroupsResponse,
        lambda answer: [answer.error_code],
    )
    return _by_name(answers.values()), missing_of(silent)


def _by_name(answers: Iterable[ListGroupsResponse]) -> list[GroupListing]:
    return sorted((one for answer in answers for one in listed_groups(answer)), key=lambda one: one.group)


def describe_group(group: str) -> Operation[GroupDescription]:
    """A group's state and members, of either protocol. Raises ApiError if there is none."""
    try:
        newer = yield from ask(
            Send(ToCoordinator(group), ConsumerGroupDescribeRequest(group_ids=[group])),
            ConsumerGroupDescribeResponse,
            lambda answer: [one.error_code for one in answer.groups],
        )
        found = consumer_group_of(newer, group)
        if found is not None:
            return found
    except ApiError as refused:
        if refused.code is not ErrorCode.UNSUPPORTED_VERSION:
            raise
    classic = yield from ask(
        Send(ToCoordinator(group), DescribeGroupsRequest(groups=[group]), highest=DESCRIBE_VERSION_MAX),
        DescribeGroupsResponse,
        lambda answer: [one.error_code for one in answer.groups],
    )
    return classic_group_of(classic, group)


def delete_group(group: str) -> Operation[None]:
    """Delete a group without members, with its offsets."""
    answer = yield from ask(
        Send(ToCoordinator(group), DeleteGroupsRequest(groups_names=[group])),
        DeleteGroupsResponse,
        lambda answer: [one.error_code for one in answer.results],
    )
    raise_for_deletion(answer, group)


def list_group_offsets(group: str, *, require_stable: bool = True) -> Operation[dict[TopicPartition, Offset]]:
    """All committed offsets of a group, by partition; none for a group that does not exist.

    Where an open transaction commits others, its end is waited for, or without `require_stable` those before
    it are returned (KIP-447).
    """
    request = OffsetFetchRequest(group_id=group, topics=None, require_stable=require_stable)
    answer = yield from ask(
        Send(ToCoordinator(group), request, highest=OFFSET_FETCH_VERSION_MAX),
        OffsetFetchResponse,
        lambda answer: [
            answer.error_code,
            *(one.error_code for topic in answer.topics for one in topic.partitions),
        ],
    )
    return committed_offsets(answer, group)


def alter_group_offsets(group: str, offsets: Mapping[TopicPartition, Offset]) -> Operation[None]:
    """Set a group's committed offsets, while the group has no members.

    Raises ApiError for the first partition that refuses; in the others the offsets are then set.
    """
    answer = yield from ask(
        Send(ToCoordinator(group), commit_request(group, offsets), highest=OFFSET_COMMIT_VERSION_MAX),
        OffsetCommitResponse,
        lambda answer: [one.error_code for topic in answer.topics for one in topic.partitions],
    )
    raise_for_commit(answer, group)
    check_all_told(sorted(offsets), _partitions_of(answer))


def delete_group_offsets(group: str, partitions: Sequence[TopicPartition]) -> Operation[None]:
    """Delete a group's committed offsets of these partitions.

    Raises ApiError for the first partition that refuses; in the others the offsets are then deleted.
    """
    answer = yield from ask(
        Send(ToCoordinator(group), offset_deletion(group, partitions)),
        OffsetDeleteResponse,
        lambda answer: [answer.error_code],
    )
    raise_for_offset_deletion(answer, group)
    check_all_told(partitions, _partitions_of(answer))


def _partitions_of(answer: OffsetCommitResponse | OffsetDeleteResponse) -> set[TopicPartition]:
    return {
        TopicPartition(topic.name, one.partition_index) for topic in answer.topics for one in topic.partitions
    }


def remove_members_from_group(
    group: str, instances: Sequence[str] | None = None, *, reason: str = ""
) -> Operation[None]:
    """Remove static members from a classic group, by their `group.instance.id`s, or all members (KIP-345).

    A member that still runs joins again. Raises ElementsRefused, with UNKNOWN_MEMBER_ID for one that the
    group does not have.
    """
    if instances is None:
        described = yield from describe_group(group)
        wanted = [(one.instance, "" if one.instance is not None else one.member) for one in described.members]
    else:
        wanted = [(instance, "") for instance in instances]
    names = {instance if instance is not None else member: (instance, member) for instance, member in wanted}
    said = f"{_REMOVAL_REASON}: {reason}" if reason else _REMOVAL_REASON

    def request(some: Sequence[str]) -> Message:
        members = [MemberIdentity(names[one][1], names[one][0], said[:_REASON_MAX]) for one in some]
        return LeaveGroupRequest(group, members=members)

    def answered(answer: LeaveGroupResponse, asked: Sequence[str]) -> Answered[str, None]:
        if answer.error_code:
            return [(one, answer.error_code, None, None) for one in asked]
        return [
            (
                one.group_instance_id if one.group_instance_id is not None else one.member_id,
                one.error_code,
                None,
                None,
            )
            for one in answer.members
        ]

    requests = at_once(ToCoordinator(group), request, lowest=_FIRST_WITH_MEMBERS)
    results: Results[str, None] = yield from ask_each(names, requests, LeaveGroupResponse, answered)
    results.all_or_raise("removed")
