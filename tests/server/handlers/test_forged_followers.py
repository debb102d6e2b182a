"""Clients that give the replica id of a broker: served as consumers or refused, never as followers."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.testing.sim import SimNode
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.server.node.test_replica_fetchers import Cluster, P, code_of

VERSIONS = (4, 12, 14, 15, 18)


def fetch_as(
    node: SimNode, replica: BrokerId, offset: int, *, version: int, broker_epoch: int = -1
) -> PartitionData:
    topic_id = node.core.image.topics["orders"].topic_id
    request = FetchRequest(
        replica_id=replica,
        replica_state=ReplicaState(replica, broker_epoch),
        max_wait_ms=0,
        topics=[FetchTopic("orders", topic_id, [FetchPartition(0, -1, offset, -1, 0, 1 << 20)])],
    )
    (topic,) = node.ask(request, version, client_id="mallory").responses
    (part,) = topic.partitions
    return part


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_poses_as_a_follower_moves_nothing(version: int) -> None:
    """R9, R10: no record is acknowledged that no follower has."""
    cluster = Cluster(min_insync_replicas="2")
    cluster.produce(2)
    cluster.world.advance(1_000)
    leader = cluster[1]
    for follower in (2, 3):
        cluster.world.cut(1, follower)
    sent = cluster.produce(3)
    cluster.world.settle()
    for follower in (2, 3):
        part = fetch_as(leader, follower, 5, version=version)
        assert part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert not part.records
    assert sent.answers == []
    assert leader.log("orders").high_watermark.offset == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_an_id_that_no_broker_has_is_refused_as_by_kafka(version: int) -> None:
    """R9"""
    cluster = Cluster()
    assert fetch_as(cluster[1], 77, 0, version=version).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("replica", [-1, -2])
@pytest.mark.parametrize("version", VERSIONS)
def test_consumers_and_debugging_consumers_are_served(replica: BrokerId, version: int) -> None:
    """R9"""
    cluster = Cluster()
    cluster.produce(2)
    cluster.world.advance(1_000)
    part = fetch_as(cluster[1], replica, 0, version=version)
    assert (part.error_code, part.high_watermark) == (ErrorCode.NONE, 2)
    assert part.records


def test_the_session_of_a_follower_is_not_for_clients() -> None:
    """F10, R10: a client that guesses it changes nothing, nor the session's epoch."""
    cluster = Cluster()
    cluster.produce()
    cluster.world.advance(1_000)
    leader = cluster[1]
    for session_id in list(leader.core.fetch_sessions._sessions):
        request = FetchRequest(replica_state=ReplicaState(2, -1), session_id=session_id, session_epoch=0)
        assert leader.ask(request).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    sent = cluster.produce()
    cluster.world.advance(1_000)
    assert code_of(sent) is ErrorCode.NONE
    for _, fetch in cluster.fetches()[-2:]:
        assert fetch.session_epoch > 0, "no follower had to begin another session"


def test_a_client_that_asks_as_a_follower_sees_no_offset_above_the_high_watermark() -> None:
    """L6, R9"""
    cluster = Cluster()
    cluster.produce(2)
    cluster.world.advance(1_000)
    for follower in (2, 3):
        cluster.world.cut(1, follower)
    cluster.produce(3)
    cluster.world.settle()
    assert cluster[1].log(*P).end_offset == 5
    for replica in (-1, -2, 2, 77):
        topic = ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1)])
        (answer,) = cluster[1].ask(ListOffsetsRequest(replica, 0, [topic])).topics
        (part,) = answer.partitions
        assert (part.error_code, part.offset) == (ErrorCode.NONE, 2)
