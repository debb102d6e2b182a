"""Subscriptions and assignments of classic members in consumer groups: bytes to values and back.

A JoinGroup carries a subscription, a SyncGroup an assignment; both name topics by name.
"""

from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import assignment_of, in_order
from odradek.coordinator.consumer.topics import Topics
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.versioned import decode_foreign, encode_versioned, version_of


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """The subscription of a member. Raises MalformedRequest."""
    return decode_foreign(ConsumerProtocolSubscription, metadata)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """The assignment of a member; empty if it has none yet. Raises MalformedRequest."""
    return (
        decode_foreign(ConsumerProtocolAssignment, assignment) if assignment else ConsumerProtocolAssignment()
    )


def by_id(told: list[TopicPartition], topics: Topics) -> Assignment:
    """Partitions by topic id; those of topics that are gone are left out."""
    found = ((topics.by_name(one.topic), one.partitions) for one in told)
    return assignment_of((topic.topic_id, partitions) for topic, partitions in found if topic is not None)


def write_assignment(assignment: Assignment, topics: Topics, subscription: bytes) -> bytes:
    """An assignment for a member, in the version in which it wrote its subscription."""
    told = []
    for topic_id, partitions in in_order(assignment):
        topic = topics.by_id(topic_id)
        if topic is not None:
            told.append(TopicPartition(topic.name, partitions))
    version = min(version_of(subscription), ConsumerProtocolAssignment.VERSIONS.highest)
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=told), version)
