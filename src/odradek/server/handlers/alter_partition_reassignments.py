"""AlterPartitionReassignments: move replicas to other brokers, or give up a move (KIP-455, KIP-860).

The controller decides, and answers when it is written which replicas each partition is to have; moving them
takes longer. ListPartitionReassignments says how far that is.
"""

from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps, stepwise, stepwise_in
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller.requests import AlterReassignments, Answer, PartitionOutcomes, Refused
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

SERVES: Final = Serves(45, 0, 1, kips={0: 455, 1: 860}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: AlterPartitionReassignmentsRequest, respond: Respond
) -> Steps[None]:
    """Let the controller decide; each partition has a result of its own."""

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            response = AlterPartitionReassignmentsResponse(
                allow_replication_factor_change=request.allow_replication_factor_change,
                error_code=answer.error,
                error_message=answer.message,
            )
            respond(response)
            return
        assert isinstance(answer, PartitionOutcomes), answer
        respond(_results(request, answer))

    targets: list[tuple[TopicPartition, tuple[BrokerId, ...] | None]] = []
    pace = Pace()
    for topic in request.topics:
        for one in topic.partitions:
            replicas = None if one.replicas is None else tuple(one.replicas)
            targets.append((TopicPartition(topic.name, one.partition_index), replicas))
            if pace.is_over():
                yield
    core.decide(context, AlterReassignments(tuple(targets), request.allow_replication_factor_change), decided)


def refuse(request: AlterPartitionReassignmentsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for the request and for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda one: ReassignablePartitionResponse(one.partition_index, code),
        lambda topic, parts: ReassignableTopicResponse(topic.name, parts),
    )
    return AlterPartitionReassignmentsResponse(
        responses=rows,
        error_code=code,
        allow_replication_factor_change=request.allow_replication_factor_change,
    )


def _results(
    request: AlterPartitionReassignmentsRequest, answer: PartitionOutcomes
) -> Steps[AlterPartitionReassignmentsResponse]:
    """The results in the order of the request."""
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, error_message=None
    )

    def result(topic: str, number: int) -> ReassignablePartitionResponse:
        outcome = answer.partitions[TopicPartition(topic, number)]
        return ReassignablePartitionResponse(number, outcome.error, outcome.message)

    for topic in request.topics:
        numbers = [one.partition_index for one in topic.partitions]
        results = yield from stepwise(numbers, partial(result, topic.name))
        response.responses.append(ReassignableTopicResponse(topic.name, results))
        yield
    return response
