"""OffsetForLeaderEpoch: where an epoch ends in the leader's log (X4, KIP-101, KIP-320)."""

from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

SERVES: Final = Serves(23, 2, 4, kips={2: 320, 3: 392, 4: 482}, by_brokers=True)


def handle(
    core: BrokerCore, context: RequestContext, request: OffsetForLeaderEpochRequest, respond: Respond
) -> None:
    """Look every partition up."""

    def look_up(topic: str, part: OffsetForLeaderPartition) -> EpochEndOffset:
        found = core.replicas.end_offset_for_epoch(
            TopicPartition(topic, part.partition),
            part.leader_epoch,
            current_leader_epoch=part.current_leader_epoch,
        )
        return EpochEndOffset(found.error_code, part.partition, found.leader_epoch, found.end_offset)

    def in_steps() -> Steps[Response]:
        response = OffsetForLeaderEpochResponse()
        for topic in request.topics:
            ends = yield from stepwise(topic.partitions, partial(look_up, topic.topic))
            response.topics.append(OffsetForLeaderTopicResult(topic.topic, ends))
            yield
        return response

    respond(in_steps())


def refuse(request: OffsetForLeaderEpochRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: EpochEndOffset(code, part.partition),
        lambda topic, parts: OffsetForLeaderTopicResult(topic.topic, parts),
    )
    return OffsetForLeaderEpochResponse(topics=rows)
