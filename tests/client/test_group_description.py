"""What brokers answer of groups becomes one description, whichever protocol the group speaks."""

from uuid import UUID

import pytest

from odradek.base.ids import TopicPartition
from odradek.client.group_description import in_ranges, of_classic_group, of_consumer_group
from odradek.wire.messages import consumer_group_describe, describe_groups
from odradek.wire.messages.consumer_group_describe import Assignment, Member, TopicPartitions
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.messages.consumer_protocol import TopicPartition as Assigned
from odradek.wire.messages.describe_groups import DescribedGroupMember
from odradek.wire.versioned import encode_versioned

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def given(*partitions: TopicPartition) -> Assignment:
    """As brokers list it: topics in the order of their ids, which is not that of their names."""
    topics = sorted({one.topic for one in partitions}, reverse=True)
    return Assignment(
        [
            TopicPartitions(UUID(int=1), topic, [one.partition for one in partitions if one.topic == topic])
            for topic in topics
        ]
    )


def test_a_consumer_group_has_epochs_and_targets() -> None:
    found = consumer_group_describe.DescribedGroup(
        group_id="g",
        group_state="Reconciling",
        group_epoch=5,
        assignment_epoch=4,
        assignor_name="uniform",
        members=[
            Member(
                member_id="m",
                instance_id="i",
                member_epoch=3,
                client_id="c",
                client_host="/h",
                subscribed_topic_names=["u", "t"],
                subscribed_topic_regex="",
                assignment=given(T1, T0, U0),
                target_assignment=given(T0),
                member_type=1,
            )
        ],
    )
    group = of_consumer_group(found)
    assert (group.kind, group.state, group.epoch, group.target_epoch) == ("consumer", "Reconciling", 5, 4)
    (member,) = group.members
    assert (member.protocol, member.epoch, member.topics, member.expression) == (
        "consumer",
        3,
        ["t", "u"],
        None,
    )
    assert (member.partitions, member.target) == ([T0, T1, U0], [T0])


@pytest.mark.parametrize(("told", "protocol"), [(-1, "consumer"), (0, "classic"), (1, "consumer")])
def test_members_say_which_protocol_they_speak_from_version_1_on(told: int, protocol: str) -> None:
    found = consumer_group_describe.DescribedGroup(group_id="g", members=[Member(member_type=told)])
    assert of_consumer_group(found).members[0].protocol == protocol


@pytest.mark.parametrize(
    ("protocol_type", "assignment", "partitions"),
    [
        (
            "consumer",
            encode_versioned(ConsumerProtocolAssignment([Assigned("u", [0]), Assigned("t", [1, 0])]), 0),
            [T0, T1, U0],
        ),
        ("consumer", b"", []),
        ("consumer", b"\0", []),
        ("connect", b"\0\1", []),
    ],
)
def test_what_classic_members_have_is_read_where_it_is_kafkas_own(
    protocol_type: str, assignment: bytes, partitions: list[TopicPartition]
) -> None:
    found = describe_groups.DescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type=protocol_type,
        protocol_data="range",
        members=[DescribedGroupMember(member_id="m", member_assignment=assignment)],
    )
    group = of_classic_group(found)
    assert (group.kind, group.assignor, group.epoch) == ("classic", "range", None)
    assert group.members[0].partitions == partitions
    assert group.members[0].target is None


@pytest.mark.parametrize(
    ("partitions", "words"),
    [
        ([], "-"),
        ([T0], "t 0"),
        ([T0, T1, TopicPartition("t", 2)], "t 0-2"),
        (
            [T0, *(TopicPartition("t", number) for number in (2, 3, 7)), TopicPartition("u", 1)],
            "t 0 2-3 7, u 1",
        ),
        ([T1, TopicPartition("u", 2), TopicPartition("u", 3)], "t 1, u 2-3"),
    ],
)
def test_partitions_are_said_in_ranges(partitions: list[TopicPartition], words: str) -> None:
    assert in_ranges(partitions) == words
