"""DescribeTopicPartitions: topics in the order of their names, a page at a time (KIP-966).

A request for a, b and c with 2, 3 and 2 partitions and a limit of 4 gets a 0-1 and b 0-1, next cursor (b, 2).
A request from that cursor gets b 2 and c 0-1, no cursor. If the cursor's topic is not among the requested
topics, or its partition is negative, all topics are answered INVALID_REQUEST. In a request for all topics the
cursor's topic may have been deleted since.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.base.ids import NO_BROKER
from odradek.base.topic_names import INTERNAL_TOPICS, fault_in_name
from odradek.metadata.image import PartitionImage
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.authorized_operations import TOPIC_OPERATIONS
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

SERVES: Final = Serves(75, 0, 0, kips={0: 966})


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeTopicPartitionsRequest, respond: Respond
) -> None:
    """Describe as many partitions as the limit allows, from the cursor on."""
    respond(_in_steps(core, context, request))


def _in_steps(
    core: BrokerCore, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> Steps[Response]:
    asked = {topic.name for topic in request.topics}
    names = asked or {topic.name for topic in core.image.live_topics()}
    cursor = request.cursor
    if cursor is None:
        cursor = Cursor("", 0)
    elif cursor.partition_index < 0 or (asked and cursor.topic_name not in asked):
        return (yield from refuse(request, ErrorCode.INVALID_REQUEST))
    left = max(1, min(request.response_partition_limit, core.settings.max_request_partition_size_limit))
    response = DescribeTopicPartitionsResponse()
    for name in sorted(names):
        if name < cursor.topic_name:
            continue
        if left == 0:
            response.next_cursor = Cursor(name, 0)
            break
        first = cursor.partition_index if name == cursor.topic_name else 0
        described, end = _describe(core, context, name, first, left)
        yield
        response.topics.append(described)
        left -= len(described.partitions)
        if end is not None:
            response.next_cursor = Cursor(name, end)
            break
    return response


def refuse(request: DescribeTopicPartitionsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every topic that was named."""
    rows = yield from stepwise(
        request.topics, lambda topic: DescribeTopicPartitionsResponseTopic(code, topic.name), COUNTED_PER_STEP
    )
    return DescribeTopicPartitionsResponse(topics=rows)


def _describe(
    core: BrokerCore, context: RequestContext, name: str, first: int, most: int
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """A topic with at most `most` partitions from `first` on, and the first one left out, or None."""
    topic = core.image.topic(name)
    if topic is None:
        is_name = fault_in_name(name) is None
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_name else ErrorCode.INVALID_TOPIC_EXCEPTION
        unknown = DescribeTopicPartitionsResponseTopic(code, name)
        unknown.topic_authorized_operations = TOPIC_OPERATIONS
        return unknown, None
    numbers = [number for number in sorted(topic.partitions) if number >= first]
    described = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[_partition(core, context, n, topic.partitions[n]) for n in numbers[:most]],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    return described, numbers[most] if len(numbers) > most else None


def _partition(
    core: BrokerCore, context: RequestContext, number: int, state: PartitionImage
) -> DescribeTopicPartitionsResponsePartition:
    is_reached = core.endpoint(state.leader, context.listener) is not None
    return DescribeTopicPartitionsResponsePartition(
        ErrorCode.NONE if is_reached else ErrorCode.LEADER_NOT_AVAILABLE,
        number,
        state.leader if is_reached else NO_BROKER,
        state.leader_epoch,
        list(state.replicas),
        list(state.isr),
        list(state.elr),
        [] if state.last_known_leader == NO_BROKER else [state.last_known_leader],
        core.image.offline_replicas(state),
    )
