"""Fetch: read partitions, at once or when enough bytes are there (F1), in full or incrementally (F10)."""

from __future__ import annotations  # else the annotations of inner functions are evaluated for each request

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Pace, Steps, exhaust, listed, stepwise_in
from odradek.base.ids import NO_BROKER_EPOCH, NO_OFFSET, NO_TOPIC_ID, BrokerId, TopicPartition
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_request import (
    CONSUMER_ID,
    DEBUGGING_CONSUMER_ID,
    ClientMetadata,
    FetchParams,
    Isolation,
    PartitionFetch,
)
from odradek.replication.fetch_session import (
    SESSION_ERRORS,
    FetchContext,
    FollowerLife,
    IncrementalFetch,
    ServedFetch,
    SessionKey,
    SessionlessFetch,
    SessionOutcomes,
)
from odradek.replication.outcomes import FetchOutcome
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.leader_hints import HINTED_ERRORS, current_leader, endpoints_of
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

SERVES: Final = Serves(
    1,
    4,
    18,
    kips={
        4: 98,
        7: 227,
        9: 320,
        10: 110,
        11: 392,
        12: 595,
        13: 516,
        14: 405,
        15: 903,
        16: 951,
        17: 853,
        18: 1166,
    },
    by_brokers=True,
)

FETCHED_AT_ONCE: Final = 32
"""How many partitions are read in one step, of up to twenty microseconds each."""
_READ_COMMITTED: Final = 1
_FIRST_WITH_RACKS: Final = 11
_FIRST_WITH_IDS: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
_FIRST_WITH_LEADERS: Final = 16

_Fetches: TypeAlias = dict[SessionKey, PartitionFetch]


def handle_client(
    core: BrokerCore, context: RequestContext, request: FetchRequest, respond: Respond
) -> Steps[None] | None:
    """`handle` off the brokers' listener: a client is no follower, whatever replica id it gives (R9, R10).

    What a follower fetches tells the leader which records it has, and so moves HW and the ISR.
    """
    replica_id, _ = _replica(context, request)
    if replica_id < 0:
        return handle(core, context, request, respond)
    # Without an authorizer Kafka looks whether there is such a replica, with one it refuses all of them.
    is_broker = core.image.is_live(replica_id)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED if is_broker else ErrorCode.NOT_LEADER_OR_FOLLOWER
    respond(refuse(request, code))
    return None


def handle(
    core: BrokerCore, context: RequestContext, request: FetchRequest, respond: Respond
) -> Steps[None] | None:
    """Read the partitions that the session or the request names."""
    fetches: _Fetches = {}
    if _names_many(request) or core.fetch_sessions.nameless(request.session_id) > FETCHED_AT_ONCE:
        return _handle_wide(core, context, request, respond, fetches)
    has_ids = context.api_version >= _FIRST_WITH_IDS
    for topic in request.topics:
        _add(core, topic, topic.partitions, fetches, has_ids=has_ids)
    params = _params(core, context, request)
    forgotten = list(_forgotten(request, has_ids)) if request.forgotten_topics_data else ()
    session = exhaust(_session(core, request, params, fetches, forgotten, has_ids))
    return _serve(core, context, params, session, respond)


def _names_many(request: FetchRequest) -> bool:
    """Whether it names more partitions than are read, added or forgotten in one step."""
    topics, forgotten = request.topics, request.forgotten_topics_data
    if len(topics) + len(forgotten) > FETCHED_AT_ONCE:
        return True
    named = sum([len(topic.partitions) for topic in topics])
    if forgotten:
        named += sum([len(topic.partitions) for topic in forgotten])
    return named > FETCHED_AT_ONCE


def _handle_wide(
    core: BrokerCore, context: RequestContext, request: FetchRequest, respond: Respond, fetches: _Fetches
) -> Steps[None]:
    has_ids = context.api_version >= _FIRST_WITH_IDS
    pace = Pace(FETCHED_AT_ONCE)
    for topic in request.topics:
        for begin in range(0, max(1, len(topic.partitions)), FETCHED_AT_ONCE):
            some = topic.partitions[begin : begin + FETCHED_AT_ONCE]
            _add(core, topic, some, fetches, has_ids=has_ids)
            if pace.is_over(max(1, len(some))):
                yield
    params = _params(core, context, request)
    forgotten = yield from listed(_forgotten(request, has_ids))
    session = yield from _session(core, request, params, fetches, forgotten, has_ids)
    rest = _serve(core, context, params, session, respond)
    if rest is not None:
        yield from rest


def _session(
    core: BrokerCore,
    request: FetchRequest,
    params: FetchParams,
    fetches: _Fetches,
    forgotten: Sequence[SessionKey],
    has_ids: bool,
) -> Steps[FetchContext | ErrorCode]:
    return core.fetch_sessions.context_in_steps(
        request.session_id,
        request.session_epoch,
        list(fetches.values()),
        forgotten,
        follower=_follower(params),
        uses_topic_ids=has_ids,
    )


def _follower(params: FetchParams) -> FollowerLife | None:
    return FollowerLife(params.replica_id, params.replica_epoch) if params.is_from_follower else None


def _serve(
    core: BrokerCore,
    context: RequestContext,
    params: FetchParams,
    session: FetchContext | ErrorCode,
    respond: Respond,
) -> Steps[None] | None:
    if isinstance(session, ErrorCode):
        respond(FetchResponse(error_code=session))
        return None
    if isinstance(session, IncrementalFetch):
        return _fetch_news(core, context, params, session, respond)
    if len(session.fetches) > FETCHED_AT_ONCE:
        return _fetch_in_steps(core, context, params, session, respond)

    def answered(outcomes: Sequence[FetchOutcome]) -> None:
        respond(exhaust(_answer(core, context, session.answer_in_steps(outcomes))))

    known = core.replicas.fetch(params, session.fetches, answered)
    if isinstance(known, list):
        answered(known)
    else:
        context.client.when_lost(known.abandon)
    return None


def _fetch_in_steps(
    core: BrokerCore, context: RequestContext, params: FetchParams, fetch: SessionlessFetch, respond: Respond
) -> Steps[None]:
    def answered(outcomes: Sequence[FetchOutcome]) -> None:
        respond(_answer(core, context, fetch.answer_in_steps(outcomes)))

    known = yield from core.replicas.fetch_in_steps(params, fetch.fetches, answered)
    if isinstance(known, list):
        answered(known)
    else:
        context.client.when_lost(known.abandon)


def _fetch_news(
    core: BrokerCore, context: RequestContext, params: FetchParams, fetch: IncrementalFetch, respond: Respond
) -> Steps[None] | None:
    """Fetch in a session: the cost is in what was named and in what has changed, not in its partitions."""

    def answered(outcomes: SessionOutcomes) -> None:
        response = _answer(core, context, fetch.answer_in_steps(outcomes))
        respond(response if len(outcomes) > FETCHED_AT_ONCE else exhaust(response))

    def end_with_client(known: SessionOutcomes | DelayedSessionFetch) -> None:
        if isinstance(known, DelayedSessionFetch):
            context.client.when_lost(known.abandon)
        else:
            answered(known)

    def fetch_in_steps() -> Steps[None]:
        end_with_client((yield from core.replicas.fetch_news_in_steps(params, fetch.session, answered)))

    if fetch.session.to_read(params) > FETCHED_AT_ONCE:
        return fetch_in_steps()
    end_with_client(core.replicas.fetch_news(params, fetch.session, answered))
    return None


def refuse(request: FetchRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition; for the whole if it concerns the session, or none is named."""
    if code in SESSION_ERRORS or not request.topics:
        return FetchResponse(error_code=code)
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: PartitionData(part.partition, code, NO_OFFSET, NO_OFFSET, NO_OFFSET, records=b""),
        lambda topic, parts: FetchableTopicResponse(topic.topic, topic.topic_id, parts),
    )
    return FetchResponse(responses=rows)


def _replica(context: RequestContext, request: FetchRequest) -> tuple[BrokerId, int]:
    """The replica that fetches, or what kind of consumer, and the epoch of its registration."""
    if context.api_version < _FIRST_WITH_REPLICA_STATE:
        return request.replica_id, NO_BROKER_EPOCH
    state = request.replica_state
    return (CONSUMER_ID, NO_BROKER_EPOCH) if state is None else (state.replica_id, state.replica_epoch)


def _params(core: BrokerCore, context: RequestContext, request: FetchRequest) -> FetchParams:
    replica_id, replica_epoch = _replica(context, request)
    is_follower = replica_id >= 0
    if is_follower:
        isolation = Isolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = Isolation.LAST_STABLE
    else:
        isolation = Isolation.HIGH_WATERMARK
    has_rack = context.api_version >= _FIRST_WITH_RACKS
    max_bytes = min(request.max_bytes, core.settings.fetch_max_bytes)
    return FetchParams(
        replica_id=replica_id,
        replica_epoch=replica_epoch,
        max_wait_ms=core.wait_ms(request.max_wait_ms),
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=isolation,
        leader_only=is_follower or not (has_rack or replica_id == DEBUGGING_CONSUMER_ID),
        client=ClientMetadata(request.rack_id, context.client_id or "", context.listener)
        if has_rack
        else None,
        quota=core.replication_quotas.for_fetch() if is_follower else None,
    )


def _add(
    core: BrokerCore, topic: FetchTopic, parts: Sequence[FetchPartition], fetches: _Fetches, *, has_ids: bool
) -> None:
    """Add the requested partitions of a topic; if its id is unknown here its name is "", which no topic has.

    A partition that is named twice is read once, as it was named last.
    """
    name = (core.served_topic_name(topic.topic_id) or "") if has_ids else topic.topic
    key = topic.topic_id if has_ids else name
    for part in parts:
        fetches[key, part.partition] = PartitionFetch(
            TopicPartition(name, part.partition),
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch,
            part.last_fetched_epoch,
            part.log_start_offset,
            topic.topic_id,
        )


def _forgotten(request: FetchRequest, has_ids: bool) -> Iterator[SessionKey]:
    for topic in request.forgotten_topics_data:
        key = topic.topic_id if has_ids else topic.topic
        for partition in topic.partitions:
            yield key, partition


def _answer(core: BrokerCore, context: RequestContext, answer: Steps[ServedFetch]) -> Steps[Response]:
    return (yield from _response(core, context, (yield from answer)))


def _response(core: BrokerCore, context: RequestContext, answer: ServedFetch) -> Steps[Response]:
    response = FetchResponse(error_code=answer.error_code, session_id=answer.session_id)
    topics: dict[object, FetchableTopicResponse] = {}
    leaders: dict[BrokerId, None] = {}
    for number, (fetch, outcome) in enumerate(answer.partitions, 1):
        if number % ITEMS_PER_STEP == 0:
            yield
        name, index = fetch.topic_partition
        key = name if fetch.topic_id == NO_TOPIC_ID else fetch.topic_id
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = FetchableTopicResponse(name, fetch.topic_id)
            response.responses.append(topic)
        part = _partition(index, outcome)
        if outcome.error_code:
            _explain(core, context, fetch, part, leaders)
        topic.partitions.append(part)
    if leaders:
        response.node_endpoints = endpoints_of(core, leaders, context.listener, NodeEndpoint)
    if len(answer.partitions) > FETCHED_AT_ONCE:
        context.spend(answer.partitions)
    return response


def _partition(index: int, outcome: FetchOutcome) -> PartitionData:
    part = PartitionData(
        index,
        outcome.error_code,
        outcome.high_watermark,
        outcome.last_stable_offset,
        outcome.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=outcome.preferred_read_replica,
        # The codec needs only the length of large records, and passes them on.
        records=cast(Buffer, outcome.records),
    )
    if outcome.aborted_transactions is not None:
        part.aborted_transactions = [
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in outcome.aborted_transactions
        ]
    if outcome.diverging_epoch is not None:
        part.diverging_epoch = EpochEndOffset(
            outcome.diverging_epoch.epoch, outcome.diverging_epoch.end_offset
        )
    return part


def _explain(
    core: BrokerCore,
    context: RequestContext,
    fetch: PartitionFetch,
    part: PartitionData,
    leaders: dict[BrokerId, None],
) -> None:
    """Add details to an error: that the topic id is unknown, or which broker leads."""
    if not fetch.topic_partition.topic and context.api_version >= _FIRST_WITH_IDS:
        part.error_code = ErrorCode.UNKNOWN_TOPIC_ID
    elif part.error_code in HINTED_ERRORS and context.api_version >= _FIRST_WITH_LEADERS:
        leader, epoch = current_leader(core, fetch.topic_partition)
        part.current_leader = LeaderIdAndEpoch(leader, epoch)
        leaders[leader] = None
