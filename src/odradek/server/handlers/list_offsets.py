"""ListOffsets: the offset for a timestamp, or for one of the names -1 to -5 (L6)."""

from collections import Counter
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.records.work import RecordSteps
from odradek.replication.fetch_request import CONSUMER_ID, DEBUGGING_CONSUMER_ID, Isolation
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.record_work import RecordJob
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

SERVES: Final = Serves(
    2, 1, 11, kips={2: 98, 4: 320, 6: 482, 7: 734, 8: 405, 9: 1005, 10: 1075, 11: 1023}, by_brokers=True
)

_READ_COMMITTED: Final = 1
_PARTITIONS_PER_STEP: Final = 20
_COUNTED_PER_STEP: Final = 500
"""How many partitions are looked up in one step; a lookup by name takes a few microseconds."""

# The first version that supports each negative timestamp: latest, earliest, maximum timestamp, earliest
# local, latest tiered.
_NAMED_SINCE: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}


def handle_client(
    core: BrokerCore, context: RequestContext, request: ListOffsetsRequest, respond: Respond
) -> None:
    """`handle` off the brokers' listener: a client sees what a consumer sees, with any replica id."""
    if request.replica_id >= 0:
        request.replica_id = CONSUMER_ID
    handle(core, context, request, respond)


def handle(core: BrokerCore, context: RequestContext, request: ListOffsetsRequest, respond: Respond) -> None:
    """Look every partition up."""
    if request.replica_id >= 0:
        isolation = Isolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = Isolation.LAST_STABLE
    else:
        isolation = Isolation.HIGH_WATERMARK
    leader_only = request.replica_id != DEBUGGING_CONSUMER_ID
    times_asked: Counter[tuple[str, int]] = Counter()

    def count() -> Steps[None]:
        pace = Pace(_COUNTED_PER_STEP)
        for topic in request.topics:
            for part in topic.partitions:
                times_asked[topic.name, part.partition_index] += 1
                if pace.is_over():
                    yield

    def look_up(topic: str, part: ListOffsetsPartition) -> RecordSteps[ListOffsetsPartitionResponse]:
        index, timestamp = part.partition_index, part.timestamp
        if times_asked[topic, index] > 1:
            return ListOffsetsPartitionResponse(index, ErrorCode.INVALID_REQUEST)
        if timestamp < 0 and context.api_version < _NAMED_SINCE.get(timestamp, context.api_version + 1):
            return ListOffsetsPartitionResponse(index, ErrorCode.UNSUPPORTED_VERSION)
        found = yield from core.replicas.list_offset(
            TopicPartition(topic, index),
            timestamp,
            isolation=isolation,
            current_leader_epoch=part.current_leader_epoch,
            leader_only=leader_only,
        )
        return ListOffsetsPartitionResponse(
            index, found.error_code, found.timestamp_ms, found.offset, found.leader_epoch
        )

    looked_up = 0

    def look_all_up() -> RecordSteps[ListOffsetsResponse]:
        nonlocal looked_up
        yield from count()
        response = ListOffsetsResponse()
        for topic in request.topics:
            answers = []
            for part in topic.partitions:
                answers.append((yield from look_up(topic.name, part)))
                looked_up += 1
                if looked_up % _PARTITIONS_PER_STEP == 0:
                    yield None
            response.topics.append(ListOffsetsTopicResponse(topic.name, answers))
        return response

    def answered(response: ListOffsetsResponse) -> None:
        respond(response if looked_up <= _PARTITIONS_PER_STEP else _encoded_in_steps(response))

    found = core.record_work.run(look_all_up(), answered, lambda _: context.client.close())
    if isinstance(found, RecordJob):
        context.client.when_lost(found.abandon)
    else:
        answered(found)


def _encoded_in_steps(response: ListOffsetsResponse) -> Steps[ListOffsetsResponse]:
    """The answer as it is: one that is given in steps is encoded in steps."""
    yield
    return response


def refuse(request: ListOffsetsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: ListOffsetsPartitionResponse(part.partition_index, code),
        lambda topic, parts: ListOffsetsTopicResponse(topic.name, parts),
    )
    return ListOffsetsResponse(topics=rows)
