"""What the members of a classic group tell each other: subscriptions, and the leader's assignments."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.base.ids import TopicPartition
from odradek.client.classic_assignors import ASSIGNORS, Subscriber
from odradek.wire.decoding import elements_max_of
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.messages.consumer_protocol import TopicPartition as Partitions
from odradek.wire.messages.join_group import JoinGroupResponseMember
from odradek.wire.messages.sticky_assignor import StickyAssignorUserData
from odradek.wire.messages.sticky_assignor import TopicPartitions as OfTopic
from odradek.wire.messages.sync_group import SyncGroupRequestAssignment
from odradek.wire.versioned import decode_foreign, decode_versioned, encode_versioned, version_of

STICKY: Final = "sticky"
NO_GENERATION: Final = -1
_SUBSCRIPTION_VERSION: Final = 3
_USER_DATA_VERSION: Final = 1


class Previous(NamedTuple):
    """What a member was given last, and in which generation. `sticky` lets it have the same again."""

    partitions: frozenset[TopicPartition]
    generation: int


def subscription(
    topics: Iterable[str],
    owned: Iterable[TopicPartition],
    generation: int,
    rack: str,
    previous: Previous | None = None,
) -> bytes:
    """A member's subscription, with what it still has and since which generation.

    `previous` is for `sticky` alone: what it had, as Java's `StickyAssignor` tells it.
    """
    told = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=None if previous is None else _user_data(previous),
        owned_partitions=_by_topic(owned),
        generation_id=generation,
        rack_id=rack or None,
    )
    return encode_versioned(told, _SUBSCRIPTION_VERSION)


def subscriber_of(member: JoinGroupResponseMember, strategy: str = "") -> Subscriber:
    """What a member told, in the words of this strategy. Raises MalformedRequest."""
    read = decode_foreign(ConsumerProtocolSubscription, bytes(member.metadata))
    if strategy == STICKY:
        owned, generation = _previous(read.user_data)
    else:
        owned, generation = frozenset(_partitions(read.owned_partitions)), read.generation_id
    return Subscriber(member.member_id, member.group_instance_id, frozenset(read.topics), owned, generation)


def shares(
    strategy: str, members: Sequence[JoinGroupResponseMember], counts: Mapping[str, int]
) -> list[SyncGroupRequestAssignment]:
    """The leader's assignments, each in the version that its member knows."""
    versions = {
        one.member_id: min(version_of(bytes(one.metadata)), ConsumerProtocolAssignment.VERSIONS.highest)
        for one in members
    }
    found = ASSIGNORS[strategy]([subscriber_of(one, strategy) for one in members], counts)
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
    return frozenset(_partitions(decode_foreign(ConsumerProtocolAssignment, told).assigned_partitions))


def _user_data(previous: Previous) -> bytes:
    by_topic = [OfTopic(one.topic, one.partitions) for one in _by_topic(previous.partitions)]
    return StickyAssignorUserData(by_topic, previous.generation).encode(_USER_DATA_VERSION)


def _previous(told: Buffer | None) -> Previous:
    """What a member had. As in Kafka, what cannot be read counts as nothing.

    Java's assignor and aiokafka's tell no version: the bytes are read as the latest one, which is longer, or
    else as an earlier one. kafka-python 3 puts the version before them.
    """
    data = bytes(told or b"")
    for version in (1, 0, None):
        try:
            if version is None:
                read = decode_versioned(StickyAssignorUserData, data)
            else:
                elements_max = elements_max_of(len(data))
                read = StickyAssignorUserData.decode(data, version, array_elements_max=elements_max)
        except MalformedRequest:
            continue
        return Previous(frozenset(_partitions(read.previous_assignment)), read.generation)
    return Previous(frozenset(), NO_GENERATION)


def _partitions(by_topic: Iterable[Partitions | OfTopic]) -> Iterator[TopicPartition]:
    for one in by_topic:
        for number in one.partitions:
            yield TopicPartition(one.topic, number)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[Partitions]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return [Partitions(topic, numbers) for topic, numbers in by_topic.items()]
