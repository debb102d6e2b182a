"""Metadata: the brokers, and topics with their leaders; missing topics may be made (KIP-4, KIP-516)."""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, begun, stepwise
from odradek.base.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId
from odradek.base.topic_names import INTERNAL_TOPICS, KRAFT_METADATA_TOPIC, fault_in_name
from odradek.metadata.image import BrokerImage, PartitionImage, TopicImage
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED_FOR, TOPIC_OPERATIONS
from odradek.server.node.auto_creation import Failures
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

SERVES: Final = Serves(3, 0, 13, kips={5: 112, 7: 320, 8: 430, 9: 482, 10: 516, 12: 516, 13: 1102})

_FIRST_WITH_NULL_FOR_ALL: Final = 1
_FIRST_WITH_OFFLINE_LISTENERS: Final = 6
# Versions 10 and 11 have the field for a topic's id already, but no answer for an unknown one.
_FIRST_BY_ID: Final = 12


def handle(
    core: BrokerCore, context: RequestContext, request: MetadataRequest, respond: Respond
) -> Steps[None] | None:
    """Describe the requested topics, after making those that are missing."""
    return begun(_serve(core, context, request, respond))


def _serve(
    core: BrokerCore, context: RequestContext, request: MetadataRequest, respond: Respond
) -> Steps[None]:
    if context.api_version < _FIRST_BY_ID:
        for some in _in_parts(request.topics):
            if any(topic.name is None or topic.topic_id != NO_TOPIC_ID for topic in some):
                respond(refuse(request, ErrorCode.INVALID_REQUEST))
                return
            if len(some) == COUNTED_PER_STEP:
                yield
    missing = yield from _to_be_made(core, request)
    if missing:
        core.auto_creation.make(
            missing, lambda failures: respond(_response(core, context, request, failures))
        )
    else:
        respond(_response(core, context, request, {}))


def refuse(request: MetadataRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every topic, and from version 13 on for the whole."""
    rows = yield from stepwise(
        request.topics or (),
        lambda topic: MetadataResponseTopic(code, topic.name or "", topic.topic_id),
        COUNTED_PER_STEP,
    )
    return MetadataResponse(topics=rows, error_code=code)


def _in_parts(topics: Sequence[MetadataRequestTopic] | None) -> Iterator[Sequence[MetadataRequestTopic]]:
    """The topics that a request names, a few at a time."""
    named = topics or ()
    for begin in range(0, len(named), COUNTED_PER_STEP):
        yield named[begin : begin + COUNTED_PER_STEP]


def _to_be_made(core: BrokerCore, request: MetadataRequest) -> Steps[dict[str, None]]:
    """The topics that the request names, that do not exist, and that it may create."""
    if not (request.allow_auto_topic_creation and core.settings.auto_create_topics_enable):
        return {}
    missing: dict[str, None] = {}
    for some in _in_parts(request.topics):
        missing |= {
            topic.name: None
            for topic in some
            if topic.topic_id == NO_TOPIC_ID
            and topic.name is not None
            and topic.name not in core.image.topics
            and fault_in_name(topic.name) is None
            and topic.name != KRAFT_METADATA_TOPIC
        }
        if len(some) == COUNTED_PER_STEP:
            yield
    return missing


def _response(
    core: BrokerCore, context: RequestContext, request: MetadataRequest, failures: Failures
) -> Steps[Response]:
    image = core.image
    response = MetadataResponse(cluster_id=image.cluster_id, controller_id=core.controller_id)
    for broker in image.brokers.values():
        endpoint = broker.endpoint(context.listener)
        if endpoint is not None:
            response.brokers.append(
                MetadataResponseBroker(broker.broker_id, endpoint.host, endpoint.port, broker.rack)
            )
    if request.topics is None or (not request.topics and context.api_version < _FIRST_WITH_NULL_FOR_ALL):
        # A topic that is deleted between two steps is listed; one that is made then is left out.
        for known in list(image.live_topics()):
            response.topics.append((yield from _topic(core, context, known)))
            yield
    else:
        # Each topic once, however often it is named.
        answered: set[tuple[TopicId, str | None]] = set()
        for named in request.topics:
            key = (named.topic_id, named.name)
            if key not in answered:
                answered.add(key)
                response.topics.append((yield from _asked(core, context, named, failures)))
            yield
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            is_named = topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID
            topic.topic_authorized_operations = TOPIC_OPERATIONS if is_named else NOT_ASKED_FOR
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _asked(
    core: BrokerCore, context: RequestContext, asked: MetadataRequestTopic, failures: Failures
) -> Generator[None, None, MetadataResponseTopic]:
    if asked.topic_id != NO_TOPIC_ID:
        topic = core.image.topic_by_id(asked.topic_id)
        if topic is None:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, asked.topic_id)
        return (yield from _topic(core, context, topic))
    name = asked.name or ""
    topic = core.image.topic(name)
    if topic is not None:
        return (yield from _topic(core, context, topic))
    return MetadataResponseTopic(_why_missing(name, failures), name, is_internal=name in INTERNAL_TOPICS)


def _why_missing(name: str, failures: Failures) -> ErrorCode:
    if name in failures:
        return failures[name]
    if fault_in_name(name) is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(
    core: BrokerCore, context: RequestContext, topic: TopicImage
) -> Generator[None, None, MetadataResponseTopic]:
    states = sorted(topic.partitions.items())
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=(yield from stepwise(states, _Partitions(core, context).row)),
    )


class _Partitions:
    """Describes the partitions of a topic, of which the same brokers lead many."""

    __slots__ = ("_errors", "_has_word", "_image", "_listener")

    def __init__(self, core: BrokerCore, context: RequestContext) -> None:
        self._image = core.image
        self._listener = context.listener
        # Whether the version has a word for a leader that does not have the client's listener.
        self._has_word = context.api_version >= _FIRST_WITH_OFFLINE_LISTENERS
        # By leader, as it was registered when it was looked up: whether clients of this listener reach it.
        self._errors: dict[BrokerId, tuple[BrokerImage | None, ErrorCode]] = {}

    def row(self, numbered: tuple[int, PartitionImage]) -> MetadataResponsePartition:
        """One partition, given with its number."""
        index, state = numbered
        leader = state.leader
        broker = self._image.brokers.get(leader)
        known = self._errors.get(leader)
        if known is None or known[0] is not broker:
            known = self._errors[leader] = (broker, self._error_of(broker))
        error = known[1]
        return MetadataResponsePartition(
            error,
            index,
            NO_BROKER if error is ErrorCode.LEADER_NOT_AVAILABLE else leader,
            state.leader_epoch,
            list(state.replicas),
            list(state.isr),
            self._image.offline_replicas(state),
        )

    def _error_of(self, leader: BrokerImage | None) -> ErrorCode:
        if leader is not None:
            if leader.endpoint(self._listener) is not None:
                return ErrorCode.NONE
            if self._has_word:
                return ErrorCode.LISTENER_NOT_FOUND
        return ErrorCode.LEADER_NOT_AVAILABLE
