"""Groups whose coordinator dies, is cut off or moves: the next one has what was acknowledged (R19)."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.testing.sim.client import SimRequest
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.elect_leaders import ElectLeadersRequest
from odradek.wire.messages.elect_leaders import TopicPartitions as ElectedTopic
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.server.node.clusters import GROUP, Cluster
from tests.server.node.forwarding.test_forwarding import controller_of

SESSION_MS = 10_000
LOOKS_ELSEWHERE = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers and a topic."""
    made = Cluster()
    made.create("t")
    return made


def joining(member_id: str = "", group_id: str = "g") -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol("range", b"m")]
    return JoinGroupRequest(
        group_id, SESSION_MS, 20_000, member_id, protocol_type="consumer", protocols=protocols
    )


def joined(cluster: Cluster, node: SimNode) -> JoinGroupResponse:
    """The only member of a stable group."""
    answer = cluster.ask(node, joining(), 3)
    assert answer.error_code == 0
    synced = SyncGroupRequest(
        "g",
        answer.generation_id,
        answer.member_id,
        assignments=[SyncGroupRequestAssignment(answer.member_id, b"a")],
    )
    assert cluster.ask(node, synced, 3).error_code == 0
    return answer


def committing(offset: int, member: JoinGroupResponse | None = None) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, offset)])]
    if member is None:
        return OffsetCommitRequest("g", topics=topics)
    return OffsetCommitRequest("g", member.generation_id, member.member_id, topics=topics)


def error_of(sent: SimRequest[Any]) -> ErrorCode:
    """The error of the only partition of a commit."""
    return ErrorCode(sent.answer.topics[0].partitions[0].error_code)


def commit(cluster: Cluster, node: SimNode, offset: int, member: JoinGroupResponse | None = None) -> None:
    sent = node.send(committing(offset, member), 8)
    cluster.wait(lambda: bool(sent.answers))
    assert error_of(sent) is ErrorCode.NONE


def fetching() -> OffsetFetchRequest:
    """A request for one committed offset, in all versions."""
    topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    return OffsetFetchRequest(
        "g",
        [OffsetFetchRequestTopic("t", [0])],
        groups=[OffsetFetchRequestGroup("g", topics=topics)],
    )


def answered_offset(cluster: Cluster, node: SimNode) -> int | ErrorCode:
    (group,) = cluster.ask(node, fetching(), 8).groups
    if group.error_code:
        return ErrorCode(group.error_code)
    offset: int = group.topics[0].partitions[0].committed_offset
    return offset


def committed(cluster: Cluster, node: SimNode) -> int:
    offset = answered_offset(cluster, node)
    assert not isinstance(offset, ErrorCode)
    return offset


def heartbeat(cluster: Cluster, node: SimNode, member: JoinGroupResponse) -> ErrorCode:
    request = HeartbeatRequest("g", member.generation_id, member.member_id)
    return ErrorCode(cluster.ask(node, request, 3).error_code)


def groups_of(node: SimNode) -> list[str]:
    """The groups that a broker coordinates."""
    return [group.group_id for group in node.ask(ListGroupsRequest()).groups]


def test_a_group_goes_on_at_the_next_coordinator(cluster: Cluster) -> None:
    """Its generation and its members are in the log; nobody has to join again."""
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    commit(cluster, first, 7, member)
    first.kill()
    following = cluster.coordinator(GROUP, "g", but=first)
    assert heartbeat(cluster, following, member) is ErrorCode.NONE
    assert committed(cluster, following) == 7
    commit(cluster, following, 8, member)
    again = cluster.world.node(first.broker_id, **first.given_settings)
    assert heartbeat(cluster, again, member) is ErrorCode.NOT_COORDINATOR
    assert groups_of(again) == []


def test_a_member_that_dies_with_its_coordinator_is_missed_by_the_next(cluster: Cluster) -> None:
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    first.kill()
    following = cluster.coordinator(GROUP, "g", but=first)
    cluster.world.advance(SESSION_MS - 1_000)
    assert heartbeat(cluster, following, member) is ErrorCode.NONE
    cluster.world.advance(SESSION_MS + 1_000)
    assert heartbeat(cluster, following, member) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_death_of_a_follower_disturbs_no_group(cluster: Cluster) -> None:
    """The leader epoch rises, and the coordinator is the same."""
    node = cluster.coordinator(GROUP, "g")
    partition = node.core.groups.topic.partition_of("g")
    before = node.topic("__consumer_offsets").partitions[partition].leader_epoch
    member = joined(cluster, node)
    newcomer = node.send(joining(), 3)
    cluster.world.settle()
    next(other for other in cluster.serving if other is not node).kill()
    cluster.wait(lambda: node.topic("__consumer_offsets").partitions[partition].leader_epoch > before)
    assert newcomer.answers == [], "it waits for the other member"
    assert heartbeat(cluster, node, member) is ErrorCode.REBALANCE_IN_PROGRESS
    again = node.send(joining(member.member_id), 3)
    cluster.wait(lambda: bool(newcomer.answers and again.answers))
    assert (newcomer.answer.error_code, newcomer.answer.generation_id) == (0, 2)
    assert again.answer.generation_id == 2


def test_requests_that_wait_are_sent_to_the_next_coordinator(cluster: Cluster) -> None:
    """A stop in good order: a join that waits for others is answered at once."""
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    newcomer = first.send(joining(), 3)
    cluster.world.settle()
    first.begin_stop()
    cluster.wait(lambda: bool(newcomer.answers))
    assert newcomer.answer.error_code == ErrorCode.NOT_COORDINATOR
    following = cluster.coordinator(GROUP, "g", but=first)
    assert heartbeat(cluster, following, member) is ErrorCode.NONE, "the rebalance is not in the log"


def test_a_coordinator_that_moves_forgets_its_groups(cluster: Cluster) -> None:
    """An election of the preferred leader takes a group back to a broker that had it before."""
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    first.stop()
    second = cluster.coordinator(GROUP, "g", but=first)
    commit(cluster, second, 9, member)
    cluster.world.node(first.broker_id, **first.given_settings)
    partition = second.core.groups.topic.partition_of("g")
    wanted = ElectedTopic("__consumer_offsets", [partition])
    cluster.wait(lambda: first.broker_id in second.topic("__consumer_offsets").partitions[partition].isr)
    elected = cluster.ask(controller_of(cluster.world), ElectLeadersRequest(0, [wanted], timeout_ms=5_000))
    assert elected.error_code == 0
    third = cluster.coordinator(GROUP, "g", but=second)
    assert third.broker_id == first.broker_id
    assert (heartbeat(cluster, third, member), committed(cluster, third)) == (ErrorCode.NONE, 9)
    assert heartbeat(cluster, second, member) is ErrorCode.NOT_COORDINATOR
    assert groups_of(second) == []


def test_a_coordinator_that_is_cut_off_acknowledges_nothing(cluster: Cluster) -> None:
    """R19: what it writes is unknown to its clients, and gone when it learns of its successor."""
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    commit(cluster, first, 7, member)
    for other in cluster.serving:
        if other is not first:
            cluster.world.cut(first.broker_id, other.broker_id)
    lost = first.send(committing(8, member), 8)
    cluster.wait(lambda: bool(lost.answers))
    assert error_of(lost) is ErrorCode.COORDINATOR_NOT_AVAILABLE, "it may be written yet"
    cluster.world.cut_store(first.broker_id)
    cluster.world.expire_session(first.broker_id)
    second = cluster.coordinator(GROUP, "g", but=first)
    assert committed(cluster, second) == 7
    commit(cluster, second, 9, member)
    cluster.world.heal()
    cluster.wait(lambda: heartbeat(cluster, first, member) is ErrorCode.NOT_COORDINATOR)
    assert groups_of(first) == []
    assert committed(cluster, cluster.coordinator(GROUP, "g")) == 9


@pytest.mark.parametrize("eighths", [7, 8])
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_coordinator_that_stood_still_answers_with_no_old_offset(seed: int, eighths: int) -> None:
    """R19: it was deposed meanwhile, and finds the request before the news of that.

    Its lease began with its last heartbeat, so less than a session timeout may be enough.
    """
    cluster = Cluster(seed)
    cluster.create("t")
    first = cluster.coordinator(GROUP, "g")
    member = joined(cluster, first)
    commit(cluster, first, 7, member)
    first.is_paused = True
    cluster.world.advance(first.core.settings.store_session_timeout_ms * eighths // 8)
    cluster.world.expire_session(first.broker_id)
    second = cluster.coordinator(GROUP, "g", but=first)
    commit(cluster, second, 9, member)
    asked = [first.send(fetching(), version) for version in (1, 7, 8, 9)]
    first.is_paused = False
    cluster.wait(lambda: all(sent.answers for sent in asked))
    oldest, only, *several = asked
    errors = [
        oldest.answer.topics[0].partitions[0].error_code,
        only.answer.error_code,
        *(sent.answer.groups[0].error_code for sent in several),
    ]
    assert errors == [ErrorCode.NOT_COORDINATOR] * 4
    assert committed(cluster, cluster.coordinator(GROUP, "g")) == 9


def test_a_coordinator_that_stood_still_and_was_not_deposed_goes_on(cluster: Cluster) -> None:
    """R19: the metadata store confirms that its session lives."""
    node = cluster.coordinator(GROUP, "g")
    commit(cluster, node, 7)
    node.is_paused = True
    cluster.world.advance(node.core.settings.store_session_timeout_ms)
    node.is_paused = False
    cluster.world.advance(1)
    assert committed(cluster, node) == 7


def test_a_coordinator_with_a_new_session_goes_on_once_it_is_told_its_roles(cluster: Cluster) -> None:
    """R19: the only one that may lead its partition leads it again."""
    node = cluster.coordinator(GROUP, "g")
    commit(cluster, node, 7)
    for other in cluster.serving:
        if other is not node:
            other.kill()
    cluster.world.expire_session(node.broker_id)
    cluster.wait(lambda: answered_offset(cluster, node) == 7)


def consumer_heartbeat(
    cluster: Cluster, node: SimNode, member_epoch: int, *, owned: list[TopicPartitions] | None = None
) -> ConsumerGroupHeartbeatResponse:
    """A heartbeat of the consumer protocol; with epoch 0 the member joins."""
    is_new = member_epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        "g",
        "member-1",
        member_epoch,
        rebalance_timeout_ms=20_000 if is_new else -1,
        subscribed_topic_names=["t"] if is_new else None,
        topic_partitions=[] if is_new else owned,
    )
    return cluster.ask(node, request)


def test_members_of_the_consumer_protocol_go_on_at_the_next_coordinator(cluster: Cluster) -> None:
    first = cluster.coordinator(GROUP, "g")
    answer = consumer_heartbeat(cluster, first, 0)
    assert (answer.error_code, answer.member_epoch) == (0, 1)
    assert answer.assignment is not None
    assigned = answer.assignment.topic_partitions
    assert [sorted(one.partitions) for one in assigned] == [[0, 1, 2]]
    first.kill()
    second = cluster.coordinator(GROUP, "g", but=first)
    answer = consumer_heartbeat(cluster, second, 1, owned=assigned)
    assert (answer.error_code, answer.member_epoch) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_acknowledged_commit_is_lost_while_coordinators_die(seed: int) -> None:
    """A later commit may be there without an acknowledgement; an earlier one never comes back."""
    cluster = Cluster(seed)
    world = cluster.world
    cluster.create("t")
    offset, acknowledged = 0, -1
    for _ in range(5):
        node = cluster.coordinator(GROUP, "g")
        found = committed(cluster, node)
        assert acknowledged <= found <= offset
        acknowledged = found
        sent, connection = [], node.connect()
        for _ in range(8):
            offset += 1
            sent.append((offset, node.send(committing(offset), 8, on=connection)))
            for _ in range(world.chance.below(20)):
                world.step()
        node.kill()
        world.settle()
        for number, one in sent:
            if one.answers and error_of(one) is ErrorCode.NONE:
                acknowledged = max(acknowledged, number)
        world.advance(world.chance.below(3_000))  # the next coordinator may be the same one
        world.node(node.broker_id, **node.given_settings)
    assert acknowledged > 0
