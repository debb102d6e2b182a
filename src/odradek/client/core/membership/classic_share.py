"""What the members of a classic group tell each other: subscriptions, and the leader's assignments."""

from collections.abc import Iterable, Mapping, Sequence

from odradek.base.ids import TopicPartition
from odradek.client.classic_assignors import ASSIGNORS, Subscriber
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.messages.consumer_protocol import TopicPartition as Partitions
from odradek.wire.messages.join_group import JoinGroupResponseMember
from odradek.wire.messages.sync_group import SyncGroupRequestAssignment
from odradek.wire.versioned import decode_foreign, encode_versioned, version_of

_SUBSCRIPTION_VERSION = 3


def subscription(topics: Iterable[str], owned: Iterable[TopicPartition], generation: int, rack: str) -> bytes:
    """A member's subscription, with what it still has and since which generation."""
    told = ConsumerProtocolSubscription(
        topics=sorted(topics),
        owned_partitions=_by_topic(owned),
        generation_id=generation,
        rack_id=rack or None,
    )
    return encode_versioned(told, _SUBSCRIPTION_VERSION)


def subscriber_of(member: JoinGroupResponseMember) -> Subscriber:
    """What a member told. Raises MalformedRequest."""
    read = decode_foreign(ConsumerProtocolSubscription, bytes(member.metadata))
    owned = frozenset(
        TopicPartition(topic.topic, number) for topic in read.owned_partitions for number in topic.partitions
    )
    return Subscriber(
        member.member_id, member.group_instance_id, frozenset(read.topics), owned, read.generation_id
    )


def shares(
    strategy: str, members: Sequence[JoinGroupResponseMember], counts: Mapping[str, int]
) -> list[SyncGroupRequestAssignment]:
    """The leader's assignments, each in the version that its member knows."""
    versions = {
        one.member_id: min(version_of(bytes(one.metadata)), ConsumerProtocolAssignment.VERSIONS.highest)
        for one in members
    }
    found = ASSIGNORS[strategy]([subscriber_of(one) for one in members], counts)
    return [
        SyncGroupRequestAssignment(
            member,
            encode_versioned(
                ConsumerProtocolAssignment(assigned_partitions=_by_topic(found[member])), version
            ),
        )
        for member, version in versions.items()
    ]


def assignment(told: bytes) -> frozenset[TopicPartition]:
    """The partitions that the leader gave this member. Raises MalformedRequest."""
    if not told:
        return frozenset()
    return frozenset(
        TopicPartition(topic.topic, number)
        for topic in decode_foreign(ConsumerProtocolAssignment, told).assigned_partitions
        for number in topic.partitions
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> list[Partitions]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return [Partitions(topic, numbers) for topic, numbers in by_topic.items()]
