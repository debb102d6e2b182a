"""OffsetCommit: note where a group goes on."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.topic_ids import with_names
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

SERVES: Final = Serves(8, 2, 10, kips={6: 320, 7: 345, 8: 482, 9: 848, 10: 848})

_FIRST_WITH_IDS: Final = 10


def handle(core: BrokerCore, context: RequestContext, request: OffsetCommitRequest, respond: Respond) -> None:
    """Answer when the offsets are written."""
    asked = request.topics
    if context.api_version >= _FIRST_WITH_IDS:
        request.topics = with_names(core, asked)

    def committed(codes: Codes) -> None:
        respond(OffsetCommitResponse(topics=[_topic(topic, codes) for topic in asked]))

    if asked and not request.topics:
        committed({})
        return
    core.groups.coordinator.commit_offsets(request, committed, context.api_version)


def _topic(topic: OffsetCommitRequestTopic, codes: Codes) -> OffsetCommitResponseTopic:
    """The answer for one topic; a topic id that is unknown here is the only thing without a code."""
    partitions = [
        OffsetCommitResponsePartition(
            part.partition_index,
            codes.get(TopicPartition(topic.name, part.partition_index), ErrorCode.UNKNOWN_TOPIC_ID),
        )
        for part in topic.partitions
    ]
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)


def refuse(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [OffsetCommitResponsePartition(part.partition_index, code) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    )
