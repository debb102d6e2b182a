import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import HeartbeatFields

INVALID = ErrorCode.INVALID_REQUEST
FIRST: HeartbeatFields = {
    "topic_partitions": {},
    "subscribed_topic_names": ["t"],
    "rebalance_timeout_ms": 1000,
}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**FIRST, "group_id": ""}, "a heartbeat names a group"),
        ({**FIRST, "member_id": ""}, "a heartbeat names its member; it has an empty id"),
        ({**FIRST, "instance_id": ""}, "an instance id has at least one character"),
        ({**FIRST, "rack_id": ""}, "a rack has at least one character"),
        ({"member_epoch": -3}, "a member epoch is -2 or more"),
        ({"member_epoch": -2}, "only static members, with an instance id, leave for a while (epoch -2)"),
        ({**FIRST, "rebalance_timeout_ms": -1}, "a member that joins must send its rebalance timeout"),
        (
            {**FIRST, "topic_partitions": None},
            "a member that joins must send an empty list of partitions: it owns none yet",
        ),
        (
            {**FIRST, "subscribed_topic_names": None},
            "a member that joins must subscribe to topic names or to a regular expression",
        ),
    ],
)
def test_what_no_heartbeat_may_hold_is_an_invalid_request(
    bench: GroupBench, fields: HeartbeatFields, words: str
) -> None:
    answer = bench.consumer("a").send(**fields).answer
    assert (answer.error_code, answer.error_message) == (INVALID, words)
    assert not bench.log.records(), "a refused member left something in the log"
    assert exhaust(bench.coordinator.list_groups())[1] == [], "a refused member left a group behind"


def test_who_joins_owns_nothing(bench: GroupBench) -> None:
    own = {bench.topics.topic_id("t"): [0]}
    fields: HeartbeatFields = {**FIRST, "topic_partitions": own}
    answer = bench.consumer("a").send(**fields).answer
    assert answer.error_code == INVALID
    assert (
        answer.error_message == "a member that joins must send an empty list of partitions: it owns none yet"
    )


def test_an_assignor_that_is_not_enabled_is_unsupported(bench: GroupBench) -> None:
    fields: HeartbeatFields = {**FIRST, "server_assignor": "mine"}
    answer = bench.consumer("a").send(**fields).answer
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == ("there is no assignor mine; this broker has: uniform, range")


def test_version_0_is_given_a_member_id(bench: GroupBench) -> None:
    """KIP-1082: later versions bring their own."""
    answer = bench.consumer("").send(0, **FIRST).answer
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id
    assert list(bench.consumers().members) == [answer.member_id]
    assert bench.consumer("").send(0, member_epoch=1).code is INVALID
