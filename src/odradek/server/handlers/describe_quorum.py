"""DescribeQuorum: who decides on metadata, as Kafka's tools ask for it (KIP-595, KIP-836, KIP-853).

There is no quorum that replicates a metadata log: the brokers share a metadata store, and one of them is the
controller. So the answer has the controller as the leader, its epoch, and all live brokers as voters that
lack nothing. What would be offsets in the log are 0, and times of fetches are unknown.
"""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import NO_BROKER
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    PartitionDataResponse,
    ReplicaState,
    TopicData,
    TopicDataResponse,
)

SERVES: Final = Serves(55, 0, 2, kips={0: 595, 1: 836, 2: 853})

_NOTHING: Final = 0
"""The end of a log that there is not."""


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeQuorumRequest, respond: Respond
) -> None:
    """Answer from this broker's view of the cluster. Any other partition is unknown."""
    if _is_for_metadata(request.topics):
        respond(_quorum(core, context))
    else:
        respond(_unknown(request.topics))


def _is_for_metadata(topics: Sequence[TopicData]) -> bool:
    """Whether the request is for the one partition, as Kafka demands."""
    if len(topics) != 1 or topics[0].topic_name != KRAFT_METADATA_TOPIC:
        return False
    partitions = topics[0].partitions
    return len(partitions) == 1 and partitions[0].partition_index == 0


def _quorum(core: BrokerCore, context: RequestContext) -> DescribeQuorumResponse:
    image, controller_id = core.image, core.controller_id
    if controller_id == NO_BROKER:
        code = ErrorCode.LEADER_NOT_AVAILABLE
        found = PartitionDataResponse(0, code, "the cluster has no controller at this moment")
        return DescribeQuorumResponse(topics=[TopicDataResponse(KRAFT_METADATA_TOPIC, [found])])
    voters = [ReplicaState(one, log_end_offset=_NOTHING) for one in sorted(image.brokers)]
    found = PartitionDataResponse(0, 0, None, controller_id, image.controller_epoch, _NOTHING, voters, [])
    nodes = []
    for broker_id, broker in sorted(image.brokers.items()):
        endpoint = broker.endpoint(context.listener)
        if endpoint is not None:
            nodes.append(Node(broker_id, [Listener(endpoint.listener, endpoint.host, endpoint.port)]))
    return DescribeQuorumResponse(topics=[TopicDataResponse(KRAFT_METADATA_TOPIC, [found])], nodes=nodes)


def _unknown(topics: Sequence[TopicData]) -> Steps[Response]:
    """Without a sentence for each: a request may name a partition many times."""
    response = DescribeQuorumResponse()
    for topic in topics:
        partitions = yield from stepwise(topic.partitions, _refusal)
        response.topics.append(TopicDataResponse(topic.topic_name, partitions))
        yield
    return response


def _refusal(asked: PartitionData) -> PartitionDataResponse:
    return PartitionDataResponse(
        asked.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=None
    )
