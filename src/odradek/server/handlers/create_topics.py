"""CreateTopics: make topics, and answer when their partitions can be used (G3)."""

from collections.abc import Iterable, Set
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps, begun, deliver, listed, stepwise
from odradek.base.settings import TOPIC_SETTINGS
from odradek.metadata.controller.requests import (
    Answer,
    CreateTopics,
    NewTopic,
    Refused,
    TopicOutcome,
    TopicOutcomes,
)
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.topic_waits import DelayedCreateTopics
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

SERVES: Final = Serves(19, 2, 7, kips={4: 464, 5: 525, 6: 599, 7: 516}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: CreateTopicsRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide, then wait."""
    return begun(_submit(core, context, request, respond))


def _submit(
    core: BrokerCore, context: RequestContext, request: CreateTopicsRequest, respond: Respond
) -> Steps[None]:
    topics = yield from _new_topics(request.topics)

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(refuse(request, answer.error, answer.message))
            return
        assert isinstance(answer, TopicOutcomes), answer
        _wait(core, answer.topics, 0 if request.validate_only else request.timeout_ms, request, respond)

    core.decide(
        context,
        CreateTopics(tuple(topics), request.validate_only),
        decided,
    )


def refuse(request: CreateTopicsRequest, code: ErrorCode, message: str | None = None) -> Steps[Response]:
    """The same error for every topic."""
    rows = yield from stepwise(
        request.topics,
        lambda topic: CreatableTopicResult(topic.name, error_code=code, error_message=message),
        COUNTED_PER_STEP,
    )
    return CreateTopicsResponse(topics=rows)


def _wait(
    core: BrokerCore,
    outcomes: tuple[TopicOutcome, ...],
    timeout_ms: int,
    request: CreateTopicsRequest,
    respond: Respond,
) -> None:
    created = {
        outcome.name: outcome.topic_id
        for outcome in outcomes
        if outcome.error is ErrorCode.NONE and outcome.name is not None
    }

    def in_steps(late: Set[str]) -> Steps[Response]:
        # Each topic with all of its settings.
        results = yield from stepwise(outcomes, lambda outcome: _result(core, outcome, late), per_step=1)
        return CreateTopicsResponse(topics=results)

    def answered(late: Set[str]) -> None:
        respond(in_steps(late))

    if request.validate_only or not created:
        answered(frozenset())
    elif timeout_ms <= 0:
        answered(created.keys())
    else:
        operation = DelayedCreateTopics(core.clock.monotonic_ms() + timeout_ms, core.image, created, answered)
        deliver(operation.park(core.topic_purgatory, list(created)), answered)


def _new_topics(asked: Iterable[CreatableTopic]) -> Steps[list[NewTopic]]:
    topics = []
    pace = Pace()
    for topic in asked:
        by_hand = ((manual.partition_index, tuple(manual.broker_ids)) for manual in topic.assignments)
        configs = ((config.name, config.value) for config in topic.configs)
        topics.append(
            NewTopic(
                topic.name,
                topic.num_partitions,
                topic.replication_factor,
                tuple((yield from listed(by_hand, COUNTED_PER_STEP))),
                tuple((yield from listed(configs, COUNTED_PER_STEP))),
            )
        )
        if pace.is_over():
            yield
    return topics


def _result(core: BrokerCore, outcome: TopicOutcome, late: Set[str]) -> CreatableTopicResult:
    result = CreatableTopicResult(
        outcome.name or "", outcome.topic_id, outcome.error, outcome.message, configs=[]
    )
    if outcome.error is not ErrorCode.NONE:
        return result
    if outcome.name in late:
        result.error_code = ErrorCode.REQUEST_TIMED_OUT
        return result
    result.num_partitions = outcome.partition_count
    result.replication_factor = outcome.replication_factor
    result.configs = []
    for name in TOPIC_SETTINGS:
        resolved = core.layers.topic(name, outcome.overrides)
        result.configs.append(CreatableTopicConfigs(name, resolved.text, config_source=resolved.source))
    return result
