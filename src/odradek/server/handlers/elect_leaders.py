"""ElectLeaders: give partitions their preferred leader, or any that is left (KIP-183, KIP-460).

The controller decides. As in Kafka since 4.0, the answer does not wait until brokers know the new leaders. It
has a result for each partition that was named. Where the request is for all partitions, those that need no
election are left out; each topic is named nevertheless.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.metadata.controller.requests import (
    Answer,
    ElectionType,
    ElectLeaders,
    PartitionOutcome,
    PartitionOutcomes,
    Refused,
)
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

SERVES: Final = Serves(43, 0, 2, kips={0: 183, 1: 460, 2: 482}, by_controller=True)

_TYPES: Final = frozenset(ElectionType)


def handle(
    core: BrokerCore, context: RequestContext, request: ElectLeadersRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide; each partition has a result of its own."""
    if request.election_type not in _TYPES:
        fault = f"there is no election type {request.election_type}"
        respond(_refused(request, ErrorCode.INVALID_REQUEST, fault))
        return None

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(_refused(request, answer.error, answer.message))
            return
        assert isinstance(answer, PartitionOutcomes), answer
        outcomes = answer.partitions
        respond(_all(outcomes) if request.topic_partitions is None else _named(request, outcomes))

    def submit() -> Steps[None]:
        partitions: list[TopicPartition] | None = None
        if request.topic_partitions is not None:
            partitions = []
            for topic in request.topic_partitions:
                partitions += yield from stepwise(topic.partitions, partial(TopicPartition, topic.topic))
                yield
        asked = ElectLeaders(
            ElectionType(request.election_type), None if partitions is None else tuple(partitions)
        )
        core.decide(context, asked, decided)

    return submit()


def refuse(request: ElectLeadersRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for the request and for every partition; version 0 has no error of the request."""
    return _refused(request, code, None)


def _refused(request: ElectLeadersRequest, code: ErrorCode, message: str | None) -> Steps[Response]:
    rows = yield from stepwise_in(
        request.topic_partitions or (),
        lambda topic: topic.partitions,
        lambda number: PartitionResult(number, code, message),
        lambda topic, results: ReplicaElectionResult(topic.topic, results),
    )
    return ElectLeadersResponse(error_code=code, replica_election_results=rows)


def _named(
    request: ElectLeadersRequest, outcomes: Mapping[TopicPartition, PartitionOutcome]
) -> Steps[ElectLeadersResponse]:
    """The results in the order of the request."""
    response = ElectLeadersResponse()

    def result(topic: str, number: int) -> PartitionResult:
        outcome = outcomes[TopicPartition(topic, number)]
        return PartitionResult(number, outcome.error, outcome.message)

    for topic in request.topic_partitions or []:
        results = yield from stepwise(topic.partitions, partial(result, topic.topic))
        response.replica_election_results.append(ReplicaElectionResult(topic.topic, results))
        yield
    return response


def _all(outcomes: Mapping[TopicPartition, PartitionOutcome]) -> Steps[ElectLeadersResponse]:
    """The results by topic, without the partitions that need no election."""
    topics: dict[str, ReplicaElectionResult] = {}

    def note(outcome: PartitionOutcome) -> None:
        topic, number = outcome.topic_partition
        results = topics.setdefault(topic, ReplicaElectionResult(topic)).partition_result
        if outcome.error is not ErrorCode.ELECTION_NOT_NEEDED:
            results.append(PartitionResult(number, outcome.error, outcome.message))

    yield from stepwise(outcomes.values(), note)
    return ElectLeadersResponse(replica_election_results=list(topics.values()))
