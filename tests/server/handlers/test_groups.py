"""Group APIs through their handlers, in old versions and new ones."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER
from odradek.coordinator.placement import partition_for
from odradek.server.node.authorized_operations import GROUP_OPERATIONS
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


@pytest.fixture
def groups(node: SimNode) -> SimNode:
    """A node with a topic `t` of two partitions, and somewhere to keep groups."""
    node.ask(CreateTopicsRequest([CreatableTopic("t", 2, 1)], timeout_ms=1000))
    assert node.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0].error_code == 0
    return node


def join(node: SimNode, version: int = 3, **fields: Any) -> Any:
    request = JoinGroupRequest(
        "g", 10_000, 20_000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"m")]
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return node.ask(request, version)


def stable(node: SimNode) -> str:
    """A group of one member; its id."""
    joined = join(node)
    assert joined.error_code == 0
    assigned = [SyncGroupRequestAssignment(joined.member_id, b"all")]
    synced = node.ask(SyncGroupRequest("g", 1, joined.member_id, assignments=assigned))
    assert (synced.error_code, synced.assignment) == (0, b"all")
    return str(joined.member_id)


def commit(node: SimNode, version: int = 9, group_id: str = "g", **fields: Any) -> Any:
    parts = [OffsetCommitRequestPartition(index, 7 + index, 3, "m") for index in range(2)]
    request = OffsetCommitRequest(
        group_id, topics=[OffsetCommitRequestTopic("t", partitions=parts)], **fields
    )
    return [part.error_code for part in node.ask(request, version).topics[0].partitions]


# --- FindCoordinator


def test_the_offsets_topic_is_made_for_the_first_who_needs_it(node: SimNode) -> None:
    (found,) = node.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
    assert (found.key, found.node_id, found.host, found.port) == ("g", 0, "broker.example", 9092)
    topic = node.topic("__consumer_offsets")
    assert len(topic.partitions) == 50
    assert {len(state.replicas) for state in topic.partitions.values()} == {1}
    assert node.core.topic_config("__consumer_offsets").cleanup_policy == {"compact"}
    assert node.core.topic_config("__consumer_offsets").segment_bytes == 104_857_600


def test_before_version_4_one_key_is_asked_for(node: SimNode) -> None:
    found = node.ask(FindCoordinatorRequest(key="g"), 3)
    assert (found.error_code, found.node_id, found.coordinators) == (0, 0, [])


def test_the_same_key_may_be_asked_for_twice(node: SimNode) -> None:
    found = node.ask(FindCoordinatorRequest(coordinator_keys=["a", "b", "a"])).coordinators
    assert [(one.key, one.node_id) for one in found] == [("a", 0), ("b", 0), ("a", 0)]
    assert node.ask(FindCoordinatorRequest(coordinator_keys=[])).coordinators == []


def test_keys_of_an_unknown_type_are_invalid(node: SimNode) -> None:
    (found,) = node.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=["g"])).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, NO_BROKER)


def test_without_the_topic_there_is_no_coordinator(node: SimNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.core.controller, "submit", lambda request, answered: None)
    asked = node.send(FindCoordinatorRequest(coordinator_keys=["g"]))
    assert asked.answers == []
    assert join(node).error_code == ErrorCode.NOT_COORDINATOR


# --- members


def test_members_join_sync_live_and_leave(groups: SimNode) -> None:
    member_id = stable(groups)
    assert groups.ask(HeartbeatRequest("g", 1, member_id)).error_code == 0
    assert groups.ask(LeaveGroupRequest("g", member_id), 2).error_code == 0
    assert groups.ask(HeartbeatRequest("g", 1, member_id)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_from_version_4_on_a_member_is_given_its_id_first(groups: SimNode) -> None:
    refused = join(groups, 4)
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert refused.member_id.startswith("test-")
    assert join(groups, 4, member_id=refused.member_id).error_code == 0


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_a_join_is_answered(groups: SimNode, version: int) -> None:
    assert join(groups, version, protocols=[]).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join(groups, version, member_id="x").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_is_answered_for_each_from_version_3_on(groups: SimNode) -> None:
    member_id = stable(groups)
    leavers = [MemberIdentity(member_id), MemberIdentity("x")]
    answer = groups.ask(LeaveGroupRequest("g", members=leavers), 5)
    assert answer.error_code == 0
    assert [(one.member_id, one.error_code) for one in answer.members] == [
        (member_id, 0),
        ("x", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert groups.ask(LeaveGroupRequest("g", members=[]), 5).members == []
    assert groups.ask(LeaveGroupRequest("g", "x"), 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_groups_go_with_their_log_directory(groups: SimNode) -> None:
    """R6: that log directory goes offline, and whoever looks for its groups is sent to look again."""
    member_id = stable(groups)
    groups.core.replicas.directory_failed("/data", "Input/output error")
    assert groups.ask(HeartbeatRequest("g", 1, member_id)).error_code == ErrorCode.NOT_COORDINATOR
    assert commit(groups) == [ErrorCode.NOT_COORDINATOR] * 2


# --- offsets


@pytest.mark.parametrize("version", range(2, 10))
def test_offsets_are_committed_in_every_version(groups: SimNode, version: int) -> None:
    assert commit(groups, version) == [0, 0]


@pytest.mark.parametrize("version", range(1, 8))
def test_offsets_are_fetched_of_one_group_in_old_versions(groups: SimNode, version: int) -> None:
    commit(groups)
    answer = groups.ask(OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [1, 5])]), version)
    (topic,) = answer.topics
    rows = [(part.partition_index, part.committed_offset, part.metadata) for part in topic.partitions]
    assert rows == [(1, 8, "m"), (5, -1, "")]


def test_offsets_are_fetched_of_several_groups(groups: SimNode) -> None:
    commit(groups)
    asked = [
        OffsetFetchRequestGroup("g", topics=None),
        OffsetFetchRequestGroup("h", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0])]),
        OffsetFetchRequestGroup("i", topics=None),
    ]
    everything, nothing, nobody = groups.ask(OffsetFetchRequest(groups=asked), 9).groups
    assert [part.committed_offset for part in everything.topics[0].partitions] == [7, 8]
    assert [part.committed_leader_epoch for part in everything.topics[0].partitions] == [3, 3]
    assert [part.committed_offset for part in nothing.topics[0].partitions] == [-1]
    assert nobody.topics == []


def test_a_fetch_is_told_when_the_coordinator_is_elsewhere(groups: SimNode) -> None:
    groups.core.groups.coordinator.resign(partition_for("g", 50))
    asked = [OffsetFetchRequestTopic("t", [0])]
    code = ErrorCode.NOT_COORDINATOR
    assert groups.ask(OffsetFetchRequest("g", asked), 7).error_code == code
    (part,) = groups.ask(OffsetFetchRequest("g", asked), 1).topics[0].partitions
    assert part.error_code == code
    (group,) = groups.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g")]), 8).groups
    assert group.error_code == code


def test_offsets_are_deleted(groups: SimNode) -> None:
    commit(groups)
    topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
    answer = groups.ask(OffsetDeleteRequest("g", topics))
    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (0, 0)
    assert groups.ask(OffsetDeleteRequest("h", topics)).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_a_group_without_a_name_are_not_deleted(groups: SimNode) -> None:
    """As in Kafka, where such a group may have offsets."""
    assert groups.ask(OffsetDeleteRequest("")).error_code == ErrorCode.INVALID_GROUP_ID


def test_offsets_go_with_their_topic(groups: SimNode) -> None:
    commit(groups)
    groups.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    groups.advance(0)
    (group,) = groups.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)]), 9).groups
    assert group.topics == []


# --- groups


def test_groups_are_listed_described_and_deleted(groups: SimNode) -> None:
    stable(groups)
    commit(groups, group_id="h")
    listed = groups.ask(ListGroupsRequest()).groups
    assert {(one.group_id, one.group_state) for one in listed} == {("g", "Stable"), ("h", "Empty")}
    described, absent = groups.ask(DescribeGroupsRequest(["g", "x"], True)).groups
    assert described.authorized_operations == GROUP_OPERATIONS
    assert described.members[0].client_host == "/10.0.0.1"
    assert absent.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    (dead,) = groups.ask(DescribeGroupsRequest(["x"]), 5).groups
    assert (dead.error_code, dead.group_state) == (0, "Dead")
    results = groups.ask(DeleteGroupsRequest(["g", "h", "x"])).results
    assert [one.error_code for one in results] == [
        ErrorCode.NON_EMPTY_GROUP,
        0,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]
    assert [bool(one.error_message) for one in results] == [True, False, True]
    results = groups.ask(DeleteGroupsRequest(["x", "y", "x"])).results
    assert [one.group_id for one in results] == ["x", "y"]


def test_group_operations_wait_where_a_person_can_see_them(groups: SimNode) -> None:
    """D7, D9: join and heartbeat purgatories are separate instances."""
    stable(groups)
    groups.send(
        JoinGroupRequest("g", 10_000, 20_000, "", None, "consumer", [JoinGroupRequestProtocol("range")]), 3
    )
    groups.settle()
    waiting = {one.name: one.delayed for one in groups.core.purgatories()}
    assert (waiting["Rebalance"], waiting["Heartbeat"], waiting["Sync"]) == (1, 2, 0)
    (group,) = groups.core.groups.coordinator.describe()
    assert group["waits_for"].startswith("1 of 2 members rejoined; waiting up to 20 s for member test-")
