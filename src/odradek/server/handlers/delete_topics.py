"""DeleteTopics: delete topics with all their records, and answer when they are gone here (G3)."""

from collections.abc import Iterator, Set
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, begun, deliver, listed, stepwise
from odradek.metadata.controller.requests import (
    Answer,
    DeleteTopics,
    Refused,
    TopicOutcome,
    TopicOutcomes,
    TopicToDelete,
)
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.topic_waits import DelayedDeleteTopics
from odradek.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

SERVES: Final = Serves(20, 1, 6, kips={4: 482, 5: 599, 6: 516}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: DeleteTopicsRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide, then wait."""
    return begun(_submit(core, context, request, respond))


def _submit(
    core: BrokerCore, context: RequestContext, request: DeleteTopicsRequest, respond: Respond
) -> Steps[None]:
    topics = tuple((yield from listed(_topics(request), COUNTED_PER_STEP)))

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(refuse(request, answer.error, answer.message))
            return
        assert isinstance(answer, TopicOutcomes), answer
        _wait(core, answer.topics, request.timeout_ms, respond)

    core.decide(context, DeleteTopics(topics), decided)


def refuse(request: DeleteTopicsRequest, code: ErrorCode, message: str | None = None) -> Steps[Response]:
    """The same error for every topic."""
    rows = yield from stepwise(
        _topics(request),
        lambda topic: DeletableTopicResult(topic.name, topic.topic_id, code, message),
        COUNTED_PER_STEP,
    )
    return DeleteTopicsResponse(responses=rows)


def _topics(request: DeleteTopicsRequest) -> Iterator[TopicToDelete]:
    """The topics to delete: by name up to version 5, by name or id in later versions."""
    yield from map(TopicToDelete, request.topic_names)
    for topic in request.topics:
        yield TopicToDelete(topic.name, topic.topic_id)


def _wait(core: BrokerCore, outcomes: tuple[TopicOutcome, ...], timeout_ms: int, respond: Respond) -> None:
    deleted = {
        outcome.name: outcome.topic_id
        for outcome in outcomes
        if outcome.error is ErrorCode.NONE and outcome.name is not None
    }

    def result(outcome: TopicOutcome, late: Set[str]) -> DeletableTopicResult:
        error = ErrorCode.REQUEST_TIMED_OUT if outcome.name in late else outcome.error
        return DeletableTopicResult(outcome.name, outcome.topic_id, error, outcome.message)

    def in_steps(late: Set[str]) -> Steps[Response]:
        results = yield from stepwise(outcomes, lambda outcome: result(outcome, late))
        return DeleteTopicsResponse(responses=results)

    def answered(late: Set[str]) -> None:
        respond(in_steps(late))

    if not deleted:
        answered(frozenset())
    elif timeout_ms <= 0:
        answered(deleted.keys())
    else:
        deadline_ms = core.clock.monotonic_ms() + timeout_ms
        is_deleting = core.controller.is_deleting
        operation = DelayedDeleteTopics(deadline_ms, core.image, deleted, answered, is_deleting)
        deliver(operation.park(core.topic_purgatory, list(deleted)), answered)
