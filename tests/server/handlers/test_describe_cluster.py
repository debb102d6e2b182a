"""DescribeCluster, against what Apache Kafka 4.1 answers to the same requests."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.server.node.authorized_operations import NOT_ASKED_FOR
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.describe_cluster import DescribeClusterRequest
from odradek.wire.messages.metadata import MetadataRequest

BROKERS = 1


@pytest.mark.parametrize("version", [0, 1, 2])
def test_it_names_the_brokers_and_the_controller(node: SimNode, version: int) -> None:
    found = node.ask(DescribeClusterRequest(), version)
    assert (found.error_code, found.error_message) == (0, None)
    assert (found.cluster_id, found.controller_id) == (node.core.image.cluster_id, 0)
    (broker,) = found.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (0, "broker.example", 9092, "r1")
    assert not broker.is_fenced


@pytest.mark.parametrize("place", ["controller", "other"])
def test_a_broker_without_the_metadata_store_names_no_controller(place: str) -> None:
    """It would not learn of the next one. A loss shorter than the session timeout changes no answer."""
    world = World(brokers=3)
    is_asked = place == "controller"
    node = next(one for one in world.nodes.values() if one.core.controller.is_active is is_asked)
    named = controllers(node)
    assert set(named) == {node.core.image.controller_id}
    world.cut_store(node.broker_id)
    world.advance(node.core.settings.store_session_timeout_ms - 1)
    assert controllers(node) == named
    world.advance(1)
    assert controllers(node) == [NO_BROKER] * 2
    world.heal()
    assert controllers(node) == named


def test_a_broker_that_was_the_controller_names_no_controller_until_it_hears_of_one() -> None:
    """Its session has ended, and with it its office; the next controller cannot reach it."""
    world = World(brokers=3)
    node = next(one for one in world.nodes.values() if one.core.controller.is_active)
    for other in world.nodes:
        if other != node.broker_id:
            world.cut(node.broker_id, other)
    world.expire_session(node.broker_id)
    world.advance(5_000)
    assert node.core.store_session.is_connected
    assert not node.core.controller.is_active
    assert node.core.image.controller_id == node.broker_id
    assert controllers(node) == [NO_BROKER] * 2


def controllers(node: SimNode) -> list[BrokerId]:
    """Who is the controller by DescribeCluster and by Metadata, as the node's own host asks."""
    return [node.ask(DescribeClusterRequest()).controller_id, node.ask(MetadataRequest([])).controller_id]


def test_what_may_be_done_is_told_when_asked(node: SimNode) -> None:
    """KIP-430: every operation that means something for a cluster; its bits are those of Apache Kafka."""
    silent = node.ask(DescribeClusterRequest())
    asked = node.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert silent.cluster_authorized_operations == NOT_ASKED_FOR
    assert asked.cluster_authorized_operations == 8_096


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_what_is_no_endpoint_of_brokers_is_refused(
    node: SimNode, endpoint_type: int, code: ErrorCode
) -> None:
    """KIP-919: the refusal itself comes from an endpoint of brokers."""
    refused = node.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (refused.error_code, refused.endpoint_type, refused.brokers) == (code, BROKERS, [])
    assert refused.error_message
