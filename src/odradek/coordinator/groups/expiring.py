"""Expiry: deletes offsets that are no longer needed, and groups without members and offsets.

    members    protocol type    an offset expires `offsets.retention.minutes` after
    none       none             its commit: a consumer that assigns for itself
    none       any              the last member went, or its commit where that is not known
    none       of KIP-848       its commit
    some       consumer         its commit, if no member reads its topic
    some       other            never

A group's generation counts on while the group exists. So only expiry deletes a group: the deletion of a topic
takes offsets, and leaves a group whose members are just away.

A commit that named its own expiry (OffsetCommit 2 to 4) keeps to that while the group has no members.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from odradek.base.execution import Steps
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic.classic_membership import CONSUMER_PROTOCOL_TYPE
from odradek.coordinator.classic.delayed_heartbeat import MemberKey
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.groups.committing import forget_offsets
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from odradek.coordinator.groups.shard import Shard

OFFSETS_PER_STEP: Final = 100
"""Offsets that are checked, and at most deleted, in one step."""
GROUPS_PER_STEP: Final = 10
"""Groups that are checked in one step if nothing in them has expired."""


def expire(shard: Shard, now_ms: int, retention_ms: int) -> Steps[None]:
    """Expire the offsets of a shard; yields between steps."""
    yield from _in_steps(
        shard, lambda group, keys: expired_offsets(group, keys, now_ms, retention_ms), ends_groups=True
    )


def expire_member(group: Group, purgatories: GroupPurgatories, member_id: str) -> bool:
    """End a member's session now, for tests; returns False if the member has no session."""
    group.classic.expire(member_id)
    watched = purgatories.heartbeats.watchers().get(MemberKey(group.group_id, member_id), [])
    sessions = [one for one in watched if not one.is_completed]
    for session in sessions:
        session.run()
    return bool(sessions)


def forget_topics(shard: Shard, gone: frozenset[str]) -> Steps[None]:
    """Called when topics were deleted: delete their offsets; yields between steps."""
    yield from _in_steps(
        shard, lambda group, keys: [key for key in keys if key.topic in gone], ends_groups=False
    )


def _in_steps(
    shard: Shard,
    doomed_of: Callable[[Group, list[TopicPartition]], list[TopicPartition]],
    *,
    ends_groups: bool,
) -> Steps[None]:
    """Delete doomed offsets from every group of a shard; with `ends_groups`, also groups that are then empty.

    The tombstones of one step are appended as one batch, at its end.
    """
    looked_at = 0
    for group in list(shard.groups.values()):
        keys = list(group.offsets.known())
        doomed: list[TopicPartition] = []
        for first in range(0, len(keys), OFFSETS_PER_STEP):
            some = keys[first : first + OFFSETS_PER_STEP]
            shard.run(partial(_forget_some, shard, group, some, doomed_of, doomed))
            looked_at += len(some)
            if looked_at >= OFFSETS_PER_STEP:
                looked_at = 0
                shard.run(shard.flush)
                yield
        if ends_groups:
            shard.run(partial(_end, shard, group, doomed))
        looked_at += OFFSETS_PER_STEP // GROUPS_PER_STEP
        if looked_at >= OFFSETS_PER_STEP:
            looked_at = 0
            shard.run(shard.flush)
            yield
        if shard.is_closed:
            return
    shard.run(shard.flush)
    yield


def _forget_some(
    shard: Shard,
    group: Group,
    keys: list[TopicPartition],
    doomed_of: Callable[[Group, list[TopicPartition]], list[TopicPartition]],
    doomed: list[TopicPartition],
) -> None:
    if shard.groups.get(group.group_id) is group:
        found = doomed_of(group, keys)
        doomed += found
        forget_offsets(shard, group, found)


def _end(shard: Shard, group: Group, doomed: list[TopicPartition]) -> None:
    """Delete a group without members whose offsets have all expired."""
    if shard.groups.get(group.group_id) is not group or not group.is_empty or group.has_members:
        return
    if frozenset(group.offsets.known()) <= frozenset(doomed) and not group.offsets.has_writes:
        shard.delete_spent(group)


def expired_offsets(
    group: Group, keys: Iterable[TopicPartition], now_ms: int, retention_ms: int
) -> list[TopicPartition]:
    """The partitions among these whose offsets have expired."""
    membership, offsets = group.membership, group.offsets
    is_empty = group.is_empty
    subscribed: frozenset[str] = frozenset()
    if not is_empty:
        read = group.subscribed_topics()
        if group.protocol_type != CONSUMER_PROTOCOL_TYPE or read is None:
            return []
        subscribed = read
    is_known = is_empty and group.consumer is None and membership.protocol_type
    empty_since_ms = membership.state_since_ms if is_known else -1

    def is_expired(offset: CommittedOffset | None) -> bool:
        if offset is None:
            return False
        if offset.expire_ms != NO_EXPIRY:
            return is_empty and now_ms >= offset.expire_ms
        since_ms = empty_since_ms if empty_since_ms >= 0 else offset.commit_ms
        return now_ms - since_ms >= retention_ms

    return [
        key
        for key in keys
        if key.topic not in subscribed and is_expired(offsets.get(key)) and offsets.is_settled(key)
    ]
