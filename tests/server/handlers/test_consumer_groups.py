"""Groups of the consumer protocol (KIP-848) through the handlers of all APIs that concern them."""

from typing import Any
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.node.authorized_operations import GROUP_OPERATIONS
from odradek.testing.sim import CountedTime, SimNode
from odradek.testing.sim.client import SimRequest
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)


@pytest.fixture
def groups(node: SimNode) -> SimNode:
    """A node with a topic `t` of two partitions, and somewhere to keep groups."""
    node.ask(CreateTopicsRequest([CreatableTopic("t", 2, 1)], timeout_ms=1000))
    assert node.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0].error_code == 0
    return node


def join(node: SimNode, member_id: str = "a", topics: tuple[str, ...] = ("t",), **fields: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest("g", member_id, 0, rebalance_timeout_ms=10_000)
    request.topic_partitions, request.subscribed_topic_names = [], list(topics)
    for name, value in fields.items():
        setattr(request, name, value)
    return node.ask(request)


def beat(node: SimNode, epoch: int, member_id: str = "a", owned: dict[UUID, list[int]] | None = None) -> Any:
    told = None if owned is None else [TopicPartitions(topic, parts) for topic, parts in owned.items()]
    return node.ask(ConsumerGroupHeartbeatRequest("g", member_id, epoch, topic_partitions=told))


def parts(answer: Any) -> dict[UUID, list[int]]:
    return {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}


def commit(node: SimNode, epoch: int, version: int = 9) -> ErrorCode:
    topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])]
    asked = node.send(OffsetCommitRequest("g", epoch, "a", topics=topics), version)
    node.settle()
    return ErrorCode(asked.answer.topics[0].partitions[0].error_code)


def test_a_member_joins_reads_and_leaves(groups: SimNode) -> None:
    answer = join(groups)
    topic_id = groups.topic("t").topic_id
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 1)
    assert answer.heartbeat_interval_ms == 5_000
    assert parts(answer) == {topic_id: [0, 1]}
    assert beat(groups, 1).assignment is None
    left = beat(groups, -1)
    assert (left.error_code, left.member_id, left.member_epoch) == (0, "a", -1)
    assert beat(groups, 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_topics_that_are_made_grow_and_go_reach_the_group(groups: SimNode) -> None:
    answer = join(groups, topics=("t", "new"))
    old = parts(answer)
    groups.ask(CreateTopicsRequest([CreatableTopic("new", 1, 1)], timeout_ms=1000))
    new_id = groups.topic("new").topic_id
    answer = beat(groups, 1, owned=old)
    assert (answer.member_epoch, parts(answer)) == (2, {**old, new_id: [0]})
    groups.ask(CreatePartitionsRequest([CreatePartitionsTopic("new", 3, None)], 1000))
    answer = beat(groups, 2, owned=parts(answer))
    assert (answer.member_epoch, parts(answer)) == (3, {**old, new_id: [0, 1, 2]})
    groups.ask(DeleteTopicsRequest(topic_names=["new"], timeout_ms=1000), 5)
    assert parts(beat(groups, 3, owned=parts(answer))) == old
    assert beat(groups, 3, owned=old).member_epoch == 4


def test_a_group_is_described(groups: SimNode) -> None:
    join(groups, instance_id="i", rack_id="r")
    (told,) = groups.ask(ConsumerGroupDescribeRequest(["g"], include_authorized_operations=True)).groups
    assert (told.error_code, told.group_state, told.group_epoch, told.assignment_epoch) == (0, "Stable", 1, 1)
    assert (told.assignor_name, told.authorized_operations) == ("uniform", GROUP_OPERATIONS)
    (member,) = told.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("a", "i", "r", 1)
    assert (member.client_id, member.client_host) == ("test", "/10.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t"], "")
    (assigned,), (target,) = member.assignment.topic_partitions, member.target_assignment.topic_partitions
    assert (
        (assigned.topic_name, assigned.partitions) == (target.topic_name, target.partitions) == ("t", [0, 1])
    )
    assert member.member_type == 1


def test_what_is_not_of_this_protocol_is_not_described(groups: SimNode) -> None:
    commit(groups, -1, 8)
    told = groups.ask(ConsumerGroupDescribeRequest(["g", "none"])).groups
    assert [one.error_code for one in told] == [ErrorCode.GROUP_ID_NOT_FOUND] * 2
    assert [one.error_message for one in told] == [
        "the group g speaks the classic protocol",
        "the group none does not exist",
    ]


def test_the_classic_description_knows_no_such_group(groups: SimNode) -> None:
    """KIP-1043: an error from version 6 on, a dead group before."""
    join(groups)
    (told,) = groups.ask(DescribeGroupsRequest(["g"]), 6).groups
    assert (told.error_code, told.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert told.error_message == "the group g speaks the consumer protocol"
    (told,) = groups.ask(DescribeGroupsRequest(["g"]), 5).groups
    assert (told.error_code, told.group_state) == (0, "Dead")


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([], [], True),
        ([], ["Consumer"], True),
        ([], ["classic"], False),
        (["stable"], ["consumer"], True),
        (["Empty"], [], False),
    ],
)
def test_groups_are_listed_by_state_and_type(
    groups: SimNode, states: list[str], types: list[str], is_listed: bool
) -> None:
    join(groups)
    listed = groups.ask(ListGroupsRequest(states, types)).groups
    rows = [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in listed]
    assert rows == ([("g", "consumer", "Stable", "consumer")] if is_listed else [])


def test_offsets_go_by_epochs(groups: SimNode) -> None:
    join(groups)
    assert commit(groups, 1) is ErrorCode.NONE
    assert commit(groups, 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(groups, 1, 8) is ErrorCode.UNSUPPORTED_VERSION

    def fetch(member_id: str | None, epoch: int) -> tuple[int, list[int]]:
        asked = OffsetFetchRequestGroup(
            "g", member_id, epoch, [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        )
        (told,) = groups.ask(OffsetFetchRequest(groups=[asked]), 9).groups
        return told.error_code, [one.committed_offset for topic in told.topics for one in topic.partitions]

    assert fetch("a", 1) == fetch(None, -1) == (0, [5])
    assert fetch("a", 2) == (ErrorCode.STALE_MEMBER_EPOCH, [])
    assert fetch("z", 1) == (ErrorCode.UNKNOWN_MEMBER_ID, [])


def test_only_a_group_without_members_is_deleted(groups: SimNode) -> None:
    join(groups)
    delete = DeleteGroupsRequest(["g"])
    assert groups.ask(delete).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    beat(groups, -1)
    assert groups.ask(delete).results[0].error_code == 0
    assert groups.ask(ListGroupsRequest()).groups == []


def test_a_group_that_is_coordinated_elsewhere_is_refused(groups: SimNode) -> None:
    join(groups)
    groups.core.groups.coordinator.resign_all()
    assert beat(groups, 1).error_code == ErrorCode.NOT_COORDINATOR
    (told,) = groups.ask(ConsumerGroupDescribeRequest(["g"])).groups
    assert told.error_code == ErrorCode.NOT_COORDINATOR


# --- heartbeats in several steps


def send(node: SimNode, epoch: int, member_id: str, topics: tuple[str, ...] | None = None) -> SimRequest[Any]:
    owned: list[TopicPartitions] | None = [] if epoch == 0 else None
    names = None if topics is None else list(topics)
    return node.send(
        ConsumerGroupHeartbeatRequest(
            "g",
            member_id,
            epoch,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=names,
            topic_partitions=owned,
        )
    )


def steps_of(node: SimNode, sent: SimRequest[Any]) -> int:
    """Run the world until the request is answered; returns how many steps that took."""
    count = 0
    while sent.outcome is None:
        assert node.world.step()
        count += 1
    return count


@pytest.fixture
def paused(groups: SimNode, monkeypatch: pytest.MonkeyPatch) -> SimNode:
    """The same, where each topic that is handled ends a step of a heartbeat."""
    monkeypatch.setattr("odradek.coordinator.consumer.draft.ITEMS_PER_STEP", 1)
    groups.short_clock = CountedTime()
    return groups


def test_a_heartbeat_in_steps_ends_where_one_in_a_single_step_does(paused: SimNode) -> None:
    assert steps_of(paused, send(paused, 0, "a", ("t",))) > 8
    topic_id = paused.topic("t").topic_id
    assert join(paused, "b").member_epoch == 2
    assert parts(beat(paused, 1, owned={topic_id: [0, 1]})) == {topic_id: [0]}
    assert beat(paused, 1, owned={topic_id: [0]}).member_epoch == 2
    assert parts(beat(paused, 2, "b", owned={})) == {topic_id: [1]}


@pytest.mark.parametrize("after", range(1, 14))
def test_a_member_that_leaves_between_two_steps_has_no_partitions(paused: SimNode, after: int) -> None:
    """The draft of the member that joins was begun with both."""
    join(paused)
    joining = send(paused, 0, "b", ("t",))
    for _ in range(after):
        paused.world.step()
    leaving = paused.send(LeaveGroupRequest("g", members=[MemberIdentity("a")]))
    paused.settle()
    assert (joining.answer.error_code, leaving.answer.error_code) == (0, 0)
    topic_id = paused.topic("t").topic_id
    answer = beat(paused, joining.answer.member_epoch, "b", owned=parts(joining.answer))
    held = parts(joining.answer) if answer.assignment is None else parts(answer)
    assert (answer.error_code, held) == (0, {topic_id: [0, 1]})
    (told,) = paused.ask(ConsumerGroupDescribeRequest(["g"])).groups
    assert [member.member_id for member in told.members] == ["b"]


@pytest.mark.parametrize("after", range(1, 14))
def test_a_topic_that_grows_between_two_steps_is_shared_as_it_is_then(paused: SimNode, after: int) -> None:
    joining = send(paused, 0, "a", ("t",))
    for _ in range(after):
        paused.world.step()
    paused.ask(CreatePartitionsRequest([CreatePartitionsTopic("t", 3, None)], timeout_ms=1000))
    paused.settle()
    epoch = joining.answer.member_epoch
    topic_id = paused.topic("t").topic_id
    answer = beat(paused, epoch, owned=parts(joining.answer))
    held = parts(answer) if answer.assignment is not None else parts(joining.answer)
    assert held == {topic_id: [0, 1, 2]}


@pytest.mark.parametrize("after", range(1, 10))
def test_a_group_that_is_led_elsewhere_between_two_steps_refuses(paused: SimNode, after: int) -> None:
    joining = send(paused, 0, "a", ("t",))
    for _ in range(after):
        paused.world.step()
    paused.node.core.groups.coordinator.resign_all()
    paused.settle()
    assert joining.answer.error_code in (0, ErrorCode.NOT_COORDINATOR)
    assert beat(paused, 1).error_code == ErrorCode.NOT_COORDINATOR
