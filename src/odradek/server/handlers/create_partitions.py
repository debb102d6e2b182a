"""CreatePartitions: more partitions for topics, answered when they can be used (G3); never fewer."""

from collections.abc import Iterable, Set
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps, begun, deliver, listed, stepwise
from odradek.metadata.controller.requests import (
    Answer,
    CreatePartitions,
    MorePartitions,
    Refused,
    TopicOutcome,
    TopicOutcomes,
)
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.topic_waits import DelayedCreatePartitions
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

SERVES: Final = Serves(37, 0, 3, kips={0: 195, 2: 482, 3: 599}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: CreatePartitionsRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide, then wait; each topic has an answer of its own."""
    return begun(_submit(core, context, request, respond))


def _submit(
    core: BrokerCore, context: RequestContext, request: CreatePartitionsRequest, respond: Respond
) -> Steps[None]:
    topics = yield from _more_partitions(request.topics)

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(refuse(request, answer.error, answer.message))
            return
        assert isinstance(answer, TopicOutcomes), answer
        _wait(core, answer, request, respond)

    core.decide(context, CreatePartitions(tuple(topics), request.validate_only), decided)


def refuse(request: CreatePartitionsRequest, code: ErrorCode, message: str | None = None) -> Steps[Response]:
    """The same error for every topic."""
    rows = yield from stepwise(
        request.topics,
        lambda topic: CreatePartitionsTopicResult(topic.name, code, message),
        COUNTED_PER_STEP,
    )
    return CreatePartitionsResponse(results=rows)


def _wait(
    core: BrokerCore, answer: TopicOutcomes, request: CreatePartitionsRequest, respond: Respond
) -> None:
    counts = {topic.name: topic.count for topic in request.topics}
    grown = {
        outcome.name: counts[outcome.name]
        for outcome in answer.topics
        if outcome.error is ErrorCode.NONE and outcome.name is not None
    }

    def result(outcome: TopicOutcome, late: Set[str]) -> CreatePartitionsTopicResult:
        error = ErrorCode.REQUEST_TIMED_OUT if outcome.name in late else outcome.error
        return CreatePartitionsTopicResult(outcome.name or "", error, outcome.message)

    def in_steps(late: Set[str]) -> Steps[Response]:
        results = yield from stepwise(answer.topics, lambda outcome: result(outcome, late))
        return CreatePartitionsResponse(results=results)

    def answered(late: Set[str]) -> None:
        respond(in_steps(late))

    if request.validate_only or not grown:
        answered(frozenset())
    elif request.timeout_ms <= 0:
        answered(grown.keys())
    else:
        deadline_ms = core.clock.monotonic_ms() + request.timeout_ms
        operation = DelayedCreatePartitions(deadline_ms, core.image, grown, answered)
        deliver(operation.park(core.topic_purgatory, list(grown)), answered)


def _more_partitions(asked: Iterable[CreatePartitionsTopic]) -> Steps[list[MorePartitions]]:
    topics = []
    pace = Pace()
    for topic in asked:
        by_hand = None
        if topic.assignments is not None:
            replicas = (tuple(assignment.broker_ids) for assignment in topic.assignments)
            by_hand = tuple((yield from listed(replicas, COUNTED_PER_STEP)))
        topics.append(MorePartitions(topic.name, topic.count, by_hand))
        if pace.is_over():
            yield
    return topics
