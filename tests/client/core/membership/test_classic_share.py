"""What members of a classic group tell each other with `sticky`, in the bytes of Kafka's own assignor."""

import pytest
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1

from odradek.base.ids import TopicPartition
from odradek.client.core.membership.classic_share import (
    NO_GENERATION,
    Previous,
    assignment,
    shares,
    subscriber_of,
    subscription,
)
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.join_group import JoinGroupResponseMember
from odradek.wire.versioned import decode_versioned, encode_versioned

HAD = frozenset([TopicPartition("t", 0), TopicPartition("t", 3), TopicPartition("u", 1)])
IN_BYTES = bytes.fromhex("00000002 0001 74 00000002 00000000 00000003 0001 75 00000001 00000001 00000007")
"""HAD in generation 7: two topics, "t" with 0 and 3, "u" with 1; then the generation."""


def member(user_data: bytes | None, name: str = "m1") -> JoinGroupResponseMember:
    told = ConsumerProtocolSubscription(topics=["t", "u"], user_data=user_data)
    return JoinGroupResponseMember(name, None, encode_versioned(told, 0))


def test_what_a_member_had_is_told_as_kafkas_assignor_tells_it() -> None:
    told = decode_versioned(
        ConsumerProtocolSubscription, subscription(["t", "u"], (), 7, "", Previous(HAD, 7))
    )
    assert bytes(told.user_data or b"") == IN_BYTES
    assert told.owned_partitions == []
    assert StickyAssignorUserDataV1([("t", [0, 3]), ("u", [1])], 7).encode() == IN_BYTES


@pytest.mark.parametrize(
    ("user_data", "had", "generation"),
    [
        (IN_BYTES, HAD, 7),
        (IN_BYTES[:-4], HAD, NO_GENERATION),  # version 0
        (b"\x00\x01" + IN_BYTES, HAD, 7),  # kafka-python 3
        (bytes.fromhex("00000000 00000002"), frozenset(), 2),
        (None, frozenset(), NO_GENERATION),
        (b"", frozenset(), NO_GENERATION),
        (b"\xff\xff", frozenset(), NO_GENERATION),
        (IN_BYTES[:-6], frozenset(), NO_GENERATION),
        (bytes.fromhex("7fffffff") + IN_BYTES, frozenset(), NO_GENERATION),
    ],
    ids=["latest", "first", "kafka-python", "nothing", "null", "empty", "garbage", "cut off", "too many"],
)
def test_what_other_libraries_tell_is_read_and_what_is_no_assignment_counts_as_none(
    user_data: bytes | None, had: frozenset[TopicPartition], generation: int
) -> None:
    read = subscriber_of(member(user_data), "sticky")
    assert (read.owned, read.generation) == (had, generation)
    assert read.topics == {"t", "u"}


def test_other_strategies_do_not_look_at_it() -> None:
    assert subscriber_of(member(IN_BYTES), "cooperative-sticky").owned == frozenset()


def test_the_leader_gives_members_what_they_had() -> None:
    found = {
        one.member_id: assignment(bytes(one.assignment))
        for one in shares("sticky", [member(None, "m0"), member(IN_BYTES, "m1")], {"t": 4, "u": 2})
    }
    assert found["m1"] == HAD
    assert len(found["m0"]) == 3
