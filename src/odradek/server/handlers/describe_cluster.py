"""DescribeCluster: the cluster's id, its controller and its brokers (KIP-700, KIP-919)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.authorized_operations import CLUSTER_OPERATIONS
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

SERVES: Final = Serves(60, 0, 2, kips={0: 700, 1: 919, 2: 1073})

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeClusterRequest, respond: Respond
) -> None:
    """Describe the cluster, with the addresses for clients of this listener."""
    if request.endpoint_type != _BROKERS:
        respond(_refusal(request.endpoint_type))
        return
    image = core.image
    response = DescribeClusterResponse(cluster_id=image.cluster_id, controller_id=core.controller_id)
    for broker in image.brokers.values():
        endpoint = broker.endpoint(context.listener)
        if endpoint is not None:
            response.brokers.append(
                DescribeClusterBroker(broker.broker_id, endpoint.host, endpoint.port, broker.rack)
            )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    respond(response)


def _refusal(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLERS:
        code, message = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's endpoint, not a controller's"
    else:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there are no endpoints of type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=message)
