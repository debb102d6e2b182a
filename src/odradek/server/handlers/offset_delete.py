"""OffsetDelete: delete committed offsets (KIP-496)."""

from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

SERVES: Final = Serves(47, 0, 0, kips={0: 496})


def handle(
    core: BrokerCore, context: RequestContext, request: OffsetDeleteRequest, respond: Respond
) -> Steps[None] | None:
    """Answer when the offsets are gone."""
    partitions = [
        TopicPartition(topic.name, part.partition_index)
        for topic in request.topics
        for part in topic.partitions
    ]

    def deleted(error: ErrorCode, codes: Codes) -> None:
        respond(OffsetDeleteResponse(error_code=error) if error else _in_steps(request, codes))

    return core.groups.coordinator.offset_writes.delete(request.group_id, partitions, deleted)


def _in_steps(request: OffsetDeleteRequest, codes: Codes) -> Steps[Response]:
    response = OffsetDeleteResponse()
    for topic in request.topics:
        partitions = yield from stepwise(topic.partitions, partial(_partition, topic.name, codes))
        response.topics.append(OffsetDeleteResponseTopic(topic.name, partitions))
    return response


def _partition(name: str, codes: Codes, part: OffsetDeleteRequestPartition) -> OffsetDeleteResponsePartition:
    code = codes[TopicPartition(name, part.partition_index)]
    return OffsetDeleteResponsePartition(part.partition_index, code)
