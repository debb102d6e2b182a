"""DescribeCluster, against what Apache Kafka 4.1 answers to the same requests."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.node.authorized_operations import NOT_ASKED_FOR
from odradek.testing.sim import SimNode
from odradek.wire.messages.describe_cluster import DescribeClusterRequest

BROKERS = 1


@pytest.mark.parametrize("version", [0, 1, 2])
def test_it_names_the_brokers_and_the_controller(node: SimNode, version: int) -> None:
    found = node.ask(DescribeClusterRequest(), version)
    assert (found.error_code, found.error_message) == (0, None)
    assert (found.cluster_id, found.controller_id) == (node.core.image.cluster_id, 0)
    (broker,) = found.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (0, "broker.example", 9092, "r1")
    assert not broker.is_fenced


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
