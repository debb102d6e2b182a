"""What time takes from groups: offsets that nobody needs, and groups that nothing is left of.

    members    protocol type    an offset expires `offsets.retention.minutes` after
    none       none             its commit: a consumer that assigns for itself
    none       any              the last member went, or its commit where that is not known
    none       of KIP-848       its commit
    some       consumer         its commit, if no member reads its topic
    some       other            never

A commit that named its own expiry (OffsetCommit 2 to 4) keeps to that while the group has no members.
"""

from collections.abc import Iterator
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic.group import CONSUMER_PROTOCOL_TYPE
from odradek.coordinator.groups.committing import forget_offsets
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from odradek.coordinator.groups.shard import Shard

OFFSETS_PER_TURN: Final = 2_000
"""Offsets that are looked at in one turn of the loop."""
TOMBSTONES_PER_BATCH: Final = 1_000


def expire(shard: Shard, now_ms: int, retention_ms: int) -> Iterator[None]:
    """Look through a shard; yields between turns of the loop."""
    looked_at = 0
    for group in list(shard.groups.values()):
        if shard.is_closed:
            return
        if shard.groups.get(group.group_id) is not group:
            continue
        looked_at += 1 + len(group.offsets)
        expired = expired_offsets(group, now_ms, retention_ms)
        if _is_spent(group, expired):
            shard.delete(group, _ignore)
        else:
            for first in range(0, len(expired), TOMBSTONES_PER_BATCH):
                forget_offsets(shard, group, expired[first : first + TOMBSTONES_PER_BATCH], _ignore)
        if looked_at >= OFFSETS_PER_TURN:
            looked_at = 0
            yield


def forget_topics(shard: Shard, gone: frozenset[str]) -> Iterator[None]:
    """Topics were deleted: take their offsets back; yields between turns of the loop."""
    for group in list(shard.groups.values()):
        doomed = [key for key in group.offsets.known() if key.topic in gone]
        forget_offsets(shard, group, doomed, _ignore)
        if doomed:
            yield


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The partitions whose offsets have had their time."""
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

    def is_expired(offset: CommittedOffset) -> bool:
        if offset.expire_ms != NO_EXPIRY:
            return is_empty and now_ms >= offset.expire_ms
        since_ms = empty_since_ms if empty_since_ms >= 0 else offset.commit_ms
        return now_ms - since_ms >= retention_ms

    return [
        key
        for key, offset in offsets.items()
        if key.topic not in subscribed and is_expired(offset) and offsets.is_settled(key)
    ]


def _is_spent(group: Group, expired: list[TopicPartition]) -> bool:
    """Whether nothing is left of a group when these offsets have gone."""
    offsets = group.offsets
    return (
        group.is_empty
        and not group.has_members
        and len(expired) == len(offsets)
        and all(offsets.is_settled(key) for key in expired)
        and not offsets.open_producers
    )


def _ignore(code: ErrorCode) -> None:
    """What could not be written now is written the next time."""
