"""OffsetDelete: delete committed offsets (KIP-496)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

SERVES: Final = Serves(47, 0, 0, kips={0: 496})


def handle(core: BrokerCore, context: RequestContext, request: OffsetDeleteRequest, respond: Respond) -> None:
    """Answer when the offsets are gone."""
    partitions = [
        TopicPartition(topic.name, part.partition_index)
        for topic in request.topics
        for part in topic.partitions
    ]

    def deleted(error: ErrorCode, codes: Codes) -> None:
        if error is not ErrorCode.NONE:
            respond(OffsetDeleteResponse(error_code=error))
            return
        topics = [
            OffsetDeleteResponseTopic(
                topic.name,
                [
                    OffsetDeleteResponsePartition(
                        part.partition_index, codes[TopicPartition(topic.name, part.partition_index)]
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        respond(OffsetDeleteResponse(topics=topics))

    core.groups.coordinator.delete_offsets(request.group_id, partitions, deleted)
