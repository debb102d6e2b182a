from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode

INVALID = ErrorCode.INVALID_REQUEST
FIRST = {"topic_partitions": {}, "subscribed_topic_names": ["t"], "rebalance_timeout_ms": 1000}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**FIRST, "group_id": ""}, "GroupId can't be empty."),
        ({**FIRST, "member_id": ""}, "MemberId can't be empty."),
        ({**FIRST, "instance_id": ""}, "InstanceId can't be empty."),
        ({**FIRST, "rack_id": ""}, "RackId can't be empty."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({**FIRST, "rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({**FIRST, "topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {**FIRST, "subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
    ],
)
def test_what_no_heartbeat_may_hold_is_an_invalid_request(
    world: Any, fields: dict[str, Any], words: str
) -> None:
    answer = world.consumer("a").send(**fields).answer
    assert (answer.error_code, answer.error_message) == (INVALID, words)
    assert not world.log.records(), "a refused member left something in the log"
    assert world.coordinator.list_groups()[1] == [], "a refused member left a group behind"


def test_who_joins_owns_nothing(world: Any) -> None:
    own = {world.topics.topic_id("t"): [0]}
    answer = world.consumer("a").send(**{**FIRST, "topic_partitions": own}).answer
    assert answer.error_code == INVALID
    assert answer.error_message == "TopicPartitions must be empty when (re-)joining."


def test_an_assignor_that_is_not_enabled_is_unsupported(world: Any) -> None:
    answer = world.consumer("a").send(**FIRST, server_assignor="mine").answer
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == (
        "ServerAssignor mine is not supported. Supported assignors: uniform, range."
    )


def test_version_0_is_given_a_member_id(world: Any) -> None:
    """KIP-1082: later versions bring their own."""
    answer = world.consumer("").send(**FIRST, version=0).answer
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id
    assert list(world.consumers().members) == [answer.member_id]
    assert world.consumer("").send(member_epoch=1, version=0).code is INVALID
