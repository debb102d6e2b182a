"""What groups look like from outside: ListGroups, DescribeGroups, OffsetFetch and `/describe/groups`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import NO_EPOCH, NO_OFFSET, LeaderEpoch, Offset, TopicPartition
from odradek.coordinator.classic import ClassicMembership, GroupState
from odradek.coordinator.classic.classic_words import waits_for
from odradek.coordinator.classic.member import Member
from odradek.coordinator.groups.consumer_listing import consumer_in_words
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.offsets import StoredOffset
from odradek.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from odradek.wire.messages.list_groups import ListedGroup


class FetchedOffset(NamedTuple):
    """One partition's part of an OffsetFetch."""

    topic_partition: TopicPartition
    offset: Offset = NO_OFFSET
    """-1: the group has committed nothing there."""
    leader_epoch: LeaderEpoch = NO_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


def fetched(
    group: Group | None, partitions: Collection[TopicPartition] | None, *, require_stable: bool
) -> Steps[list[FetchedOffset]]:
    """The offsets of these partitions, or of all (None) for which there are some (KIP-447).

    The first step reads all of them, later steps build the rows.
    """
    if group is None:
        return (yield from stepwise(partitions or (), FetchedOffset))
    keys = list(group.offsets if partitions is None else partitions)
    stored = group.offsets.stored(keys)
    unstable = group.offsets.unstable() if require_stable else frozenset()

    def row(one: tuple[TopicPartition, StoredOffset | None]) -> FetchedOffset:
        key, committed = one
        if key in unstable:
            return FetchedOffset(key, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return FetchedOffset(key) if committed is None else FetchedOffset(key, *committed[:3])

    return (yield from stepwise(zip(keys, stored, strict=True), row))


def listed(groups: Iterable[Group], states: Sequence[str], types: Sequence[str]) -> Steps[list[ListedGroup]]:
    """The groups in one of these states and of one of these types; in any, where none are named."""
    wanted_states = {state.lower() for state in states}
    wanted_types = {kind.lower() for kind in types}

    def line(group: Group) -> ListedGroup | None:
        if wanted_states and group.state.lower() not in wanted_states:
            return None
        if wanted_types and group.kind not in wanted_types:
            return None
        return ListedGroup(group.group_id, group.protocol_type or "", group.state, group.kind)

    lines = yield from stepwise(groups, line)
    return [one for one in lines if one is not None]


def described(group: Group) -> Steps[DescribedGroup]:
    """One group with its members, as they are now; what they offered is shown only while it is stable.

    Kafka does so, too. The first step copies the members' data, later steps build the answer.
    """
    membership = group.membership
    protocol = membership.protocol_name if membership.state is GroupState.STABLE else None
    told = [
        (
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            b"" if protocol is None else member.metadata(protocol),
            member.assignment,
        )
        for member in membership.members.values()
    ]
    answer = DescribedGroup(
        group_id=group.group_id,
        group_state=membership.state.value,
        protocol_type=membership.protocol_type or "",
        protocol_data=protocol or "",
    )
    answer.members = yield from stepwise(told, lambda member: DescribedGroupMember(*member))
    return answer


def absent(group_id: str, words: str, *, is_error: bool) -> DescribedGroup:
    """No such classic group, in words; older versions get the state Dead (KIP-1043)."""
    group = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if is_error:
        group.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        group.error_message = f"the group {group_id} {words}"
    return group


def in_words(group: Group) -> Mapping[str, Any]:
    """A group for `/describe/groups`, the CLI and the console."""
    if group.consumer is not None:
        return consumer_in_words(group, group.consumer)
    membership = group.membership
    now_ms = membership.clock.monotonic_ms()
    return {
        "group": group.group_id,
        "type": group.kind,
        "state": membership.state.value,
        "protocol_type": membership.protocol_type,
        "protocol": membership.protocol_name,
        "generation": membership.generation,
        "leader": membership.leader_id,
        "members": [_member(membership, member, now_ms) for member in membership.members.values()],
        "pending_members": list(membership.pending_members),
        "offsets": len(group.offsets),
        "open_transactions": len(group.offsets.open_producers),
        "waits_for": waits_for(membership),
    }


def _member(membership: ClassicMembership, member: Member, now_ms: int) -> Mapping[str, Any]:
    return {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": member.client_id,
        "host": member.client_host,
        "last_heartbeat_ms_ago": now_ms - member.last_heartbeat_ms,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "waits": "to join" if member.awaiting_join else "to sync" if member.awaiting_sync else "no",
        "has_synced": member.member_id not in membership.unsynced,
    }
