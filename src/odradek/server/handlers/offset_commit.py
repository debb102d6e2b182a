"""OffsetCommit: note where a group goes on."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

SERVES: Final = Serves(8, 2, 9, kips={6: 320, 7: 345, 8: 482, 9: 848})


def handle(core: BrokerCore, context: RequestContext, request: OffsetCommitRequest, respond: Respond) -> None:
    """Answer when the offsets are written."""

    def committed(codes: Codes) -> None:
        respond(
            OffsetCommitResponse(
                topics=[
                    OffsetCommitResponseTopic(
                        topic.name,
                        [
                            OffsetCommitResponsePartition(
                                part.partition_index, codes[TopicPartition(topic.name, part.partition_index)]
                            )
                            for part in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        )

    core.groups.coordinator.commit_offsets(request, committed, context.api_version)


def refuse(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                [OffsetCommitResponsePartition(part.partition_index, code) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    )
