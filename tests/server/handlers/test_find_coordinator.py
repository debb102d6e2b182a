"""FindCoordinator in a cluster: every broker knows every coordinator (R17)."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.server.node.clusters import GROUP, TRANSACTION, Cluster

KEYS = [f"key-{number}" for number in range(12)]
TOPICS = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state"}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Three brokers with both internal topics; tests change nothing."""
    made = Cluster()
    for key_type in TOPICS:
        made.coordinator(key_type, "k")
    return made


def leader_of(node: SimNode, key_type: int, key: str) -> int:
    """The leader of the key's partition, as this broker knows it."""
    topic = node.core.coordinating_topics[key_type]
    return node.topic(TOPICS[key_type]).partitions[topic.partition_of(key)].leader


@pytest.mark.parametrize("key_type", TOPICS)
@pytest.mark.parametrize("version", range(7))
def test_every_broker_names_the_leaders_of_the_keys_partitions(
    cluster: Cluster, key_type: int, version: int
) -> None:
    expected = {key: leader_of(cluster.nodes[1], key_type, key) for key in KEYS}
    assert set(expected.values()) == {1, 2, 3}, "every broker coordinates some"
    for node in cluster.nodes.values():
        if version >= 4:
            rows = node.ask(
                FindCoordinatorRequest(key_type=key_type, coordinator_keys=KEYS), version
            ).coordinators
            assert {row.key: row.node_id for row in rows} == expected
            assert {(row.error_code, row.host) for row in rows} == {
                (0, cluster.nodes[broker].host) for broker in (1, 2, 3)
            }
        elif key_type == GROUP or version >= 1:
            for key in KEYS[:3]:
                answer = node.ask(FindCoordinatorRequest(key, key_type), version)
                assert (answer.error_code, answer.node_id) == (0, expected[key])


def test_the_others_are_not_the_coordinator(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        for key in KEYS:
            is_ours = {one: leader_of(node, one, key) == node.broker_id for one in TOPICS}
            fetched = node.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(key, topics=None)]), 8)
            error = ErrorCode.NONE if is_ours[GROUP] else ErrorCode.NOT_COORDINATOR
            assert fetched.groups[0].error_code == error
            if not is_ours[TRANSACTION]:
                answer = node.ask(InitProducerIdRequest(key, 60_000))
                assert answer.error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("key_type", TOPICS)
def test_a_coordinator_that_dies_is_not_named_and_then_replaced(key_type: int) -> None:
    cluster = Cluster()
    dead = cluster.coordinator(key_type, "k")
    asked = next(node for node in cluster.serving if node is not dead)
    dead.kill()
    codes = set()

    def is_replaced() -> bool:
        row = cluster.found(key_type, "k", asked)
        codes.add(row.error_code)
        return row.error_code == 0 and row.node_id != dead.broker_id

    cluster.wait(is_replaced)
    assert codes <= {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}


def test_while_a_partition_has_no_leader_there_is_no_coordinator() -> None:
    """R17: a topic with one replica each, whose broker is gone."""
    cluster = Cluster(offsets_topic_replication_factor="1")
    gone = cluster.coordinator(GROUP, "g")
    asked = next(node for node in cluster.serving if node is not gone)
    gone.stop()
    cluster.world.settle()
    assert cluster.found(GROUP, "g", asked).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.world.node(gone.broker_id, **gone.given_settings)
    assert cluster.coordinator(GROUP, "g").broker_id == gone.broker_id
