"""DeleteRecords: raise the log start of partitions led here; answered when all live replicas followed."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Pace, Steps, deliver, stepwise_in
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.outcomes import DeleteRecordsOutcomes
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

SERVES: Final = Serves(21, 0, 2, kips={0: 107, 2: 482})

NAMED_PER_STEP: Final = 200
"""Of half a microsecond each."""
_NO_LOW_WATERMARK: Final = -1


def handle(
    core: BrokerCore, context: RequestContext, request: DeleteRecordsRequest, respond: Respond
) -> Steps[None]:
    """Delete the records before each offset; -1 means the high watermark."""
    offsets: dict[TopicPartition, Offset] = {}
    pace = Pace(NAMED_PER_STEP)
    for topic in request.topics:
        for part in topic.partitions:
            offsets[TopicPartition(topic.name, part.partition_index)] = part.offset
            if pace.is_over():
                yield
        if pace.is_over():
            yield

    def answered(outcomes: DeleteRecordsOutcomes) -> None:
        respond(in_steps(outcomes))

    def in_steps(outcomes: DeleteRecordsOutcomes) -> Steps[Response]:
        topics: dict[str, DeleteRecordsTopicResult] = {}
        for number, ((topic, index), outcome) in enumerate(outcomes.items()):
            result = topics.setdefault(topic, DeleteRecordsTopicResult(topic))
            result.partitions.append(
                DeleteRecordsPartitionResult(index, outcome.low_watermark, outcome.error_code)
            )
            if number % ITEMS_PER_STEP == ITEMS_PER_STEP - 1:
                yield
        return DeleteRecordsResponse(topics=list(topics.values()))

    deliver(
        (yield from core.replicas.delete_records(offsets, timeout_ms=request.timeout_ms, later=answered)),
        answered,
    )


def refuse(request: DeleteRecordsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: DeleteRecordsPartitionResult(part.partition_index, _NO_LOW_WATERMARK, code),
        lambda topic, parts: DeleteRecordsTopicResult(topic.name, parts),
    )
    return DeleteRecordsResponse(topics=rows)
