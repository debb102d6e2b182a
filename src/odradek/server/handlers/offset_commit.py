"""OffsetCommit: commit offsets of a group."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.topic_ids import with_names
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

SERVES: Final = Serves(8, 2, 10, kips={6: 320, 7: 345, 8: 482, 9: 848, 10: 848})

_FIRST_WITH_IDS: Final = 10


def handle(
    core: BrokerCore, context: RequestContext, request: OffsetCommitRequest, respond: Respond
) -> Steps[None] | None:
    """Answer when the offsets are written."""
    asked = request.topics
    if context.api_version >= _FIRST_WITH_IDS:
        request.topics = with_names(core, asked)

    def committed(codes: Codes) -> None:
        respond(_in_steps(asked, codes))

    if asked and not request.topics:
        committed({})
        return None
    return core.groups.coordinator.offset_writes.commit(request, committed, context.api_version)


def _in_steps(asked: Sequence[OffsetCommitRequestTopic], codes: Codes) -> Steps[Response]:
    """The answer; a partition without a code belongs to a topic id that is unknown here."""
    response = OffsetCommitResponse()
    pace = Pace()
    for topic in asked:
        partitions = yield from stepwise(topic.partitions, partial(_partition, topic.name, codes))
        response.topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
        if pace.is_over(1 + len(partitions)):
            yield
    return response


def _partition(name: str, codes: Codes, part: OffsetCommitRequestPartition) -> OffsetCommitResponsePartition:
    code = codes.get(TopicPartition(name, part.partition_index), ErrorCode.UNKNOWN_TOPIC_ID)
    return OffsetCommitResponsePartition(part.partition_index, code)


def refuse(request: OffsetCommitRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: OffsetCommitResponsePartition(part.partition_index, code),
        lambda topic, parts: OffsetCommitResponseTopic(topic.name, topic.topic_id, parts),
    )
    return OffsetCommitResponse(topics=rows)
