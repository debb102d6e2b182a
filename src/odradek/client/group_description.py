"""A description of a group and its members, of either protocol.

It only converts responses to descriptions; `core/admin/groups` sends the requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from odradek.base.errors import MalformedRequest
from odradek.base.ids import TopicPartition
from odradek.wire.messages import consumer_group_describe, describe_groups
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.versioned import decode_versioned

CONSUMER_PROTOCOL_TYPE = "consumer"
CLASSIC, CONSUMER = "classic", "consumer"

AWAY_EPOCH = -2
"""The epoch of a static member (KIP-345) that left for a while: its place is kept for a session timeout."""

# The member type of classic members in ConsumerGroupDescribe (KIP-848, version 1).
_CLASSIC_MEMBER = 0


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One member of a group and the partitions that it has."""

    member: str
    instance: str | None
    client: str
    host: str
    # Which of the two protocols it speaks.
    protocol: str
    partitions: list[TopicPartition]
    # The fields below exist for consumer groups only. The member's epoch; None for classic groups.
    epoch: int | None = None
    # The topics that it subscribed to by name, and by regular expression.
    topics: list[str] | None = None
    expression: str | None = None
    # Its target assignment.
    target: list[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group with its members."""

    group: str
    kind: str
    state: str
    # The members' assignment strategy, or the broker's assignor. May be empty.
    assignor: str
    members: list[MemberDescription]
    # The group epoch, raised by every change of members, subscriptions and topics; None for classic groups.
    epoch: int | None = None
    # The epoch that the target was computed for.
    target_epoch: int | None = None


def in_ranges(partitions: Sequence[TopicPartition]) -> str:
    """Sorted partitions as ranges: `flights 0-3 7, planes 0`; a dash for none."""
    said = []
    for topic, found in groupby(partitions, key=lambda one: one.topic):
        # Numbers of one run have the same distance from their places.
        runs = groupby(
            enumerate(one.partition for one in found), key=lambda numbered: numbered[1] - numbered[0]
        )
        said.append(f"{topic} {' '.join(_run([number for _, number in run]) for _, run in runs)}")
    return ", ".join(said) or "-"


def of_consumer_group(found: consumer_group_describe.DescribedGroup) -> GroupDescription:
    """What ConsumerGroupDescribe answered (KIP-848)."""
    return GroupDescription(
        group=found.group_id,
        kind=CONSUMER,
        state=found.group_state,
        assignor=found.assignor_name,
        members=[
            MemberDescription(
                member=one.member_id,
                instance=one.instance_id,
                client=one.client_id,
                host=one.client_host,
                protocol=CLASSIC if one.member_type == _CLASSIC_MEMBER else CONSUMER,
                partitions=_listed(one.assignment.topic_partitions),
                epoch=one.member_epoch,
                topics=sorted(one.subscribed_topic_names),
                expression=one.subscribed_topic_regex or None,
                target=_listed(one.target_assignment.topic_partitions),
            )
            for one in found.members
        ],
        epoch=found.group_epoch,
        target_epoch=found.assignment_epoch,
    )


def of_classic_group(found: describe_groups.DescribedGroup) -> GroupDescription:
    """What DescribeGroups answered."""
    return GroupDescription(
        group=found.group_id,
        kind=CLASSIC,
        state=found.group_state,
        assignor=found.protocol_data,
        members=[
            MemberDescription(
                member=one.member_id,
                instance=one.group_instance_id,
                client=one.client_id,
                host=one.client_host,
                protocol=CLASSIC,
                partitions=_decoded(one.member_assignment, found.protocol_type),
            )
            for one in found.members
        ],
    )


def _decoded(assignment: bytes, protocol_type: str) -> list[TopicPartition]:
    if protocol_type != CONSUMER_PROTOCOL_TYPE or not assignment:
        return []
    try:
        read = decode_versioned(ConsumerProtocolAssignment, assignment)
    except MalformedRequest:
        return []  # An assignor of the client's own: its bytes mean nothing here.
    return sorted(
        TopicPartition(topic.topic, number)
        for topic in read.assigned_partitions
        for number in topic.partitions
    )


def _listed(topics: Sequence[consumer_group_describe.TopicPartitions]) -> list[TopicPartition]:
    return sorted(TopicPartition(topic.topic_name, number) for topic in topics for number in topic.partitions)


def _run(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
