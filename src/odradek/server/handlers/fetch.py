"""Fetch: read partitions, now or when there is enough (F1), in full or as what is new in a session (F10)."""

from __future__ import annotations  # else those of inner functions are evaluated for each request

from collections.abc import Sequence
from typing import Final, cast

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, NO_TOPIC_ID, BrokerId, TopicPartition
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.fetch_request import (
    CONSUMER_ID,
    DEBUGGING_CONSUMER_ID,
    ClientMetadata,
    FetchParams,
    Isolation,
    PartitionFetch,
)
from odradek.replication.fetch_session import FetchAnswer, SessionKey
from odradek.replication.outcomes import FetchOutcome
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.leader_hints import HINTED_ERRORS, current_leader, endpoints_of
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
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
)

_READ_COMMITTED: Final = 1
_SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    }
)
"""What an answer has as a whole, as it is about no partition."""
_FIRST_WITH_RACKS: Final = 11
_FIRST_WITH_IDS: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
_FIRST_WITH_LEADERS: Final = 16


def handle(core: BrokerCore, context: RequestContext, request: FetchRequest, respond: Respond) -> None:
    """Read what the session or the request names."""
    params = _params(core, context, request)
    has_ids = context.api_version >= _FIRST_WITH_IDS
    taken = core.fetch_sessions.context(
        request.session_id,
        request.session_epoch,
        _fetches(core, request, has_ids),
        _forgotten(request, has_ids),
        is_follower=params.is_from_follower,
        uses_topic_ids=has_ids,
    )
    if isinstance(taken, ErrorCode):
        respond(FetchResponse(error_code=taken))
        return
    session = taken

    def answered(outcomes: Sequence[FetchOutcome]) -> None:
        respond(_response(core, context, session.answer(outcomes)))

    read = core.replicas.fetch(params, session.fetches, answered)
    if isinstance(read, DelayedFetch):
        context.client.when_lost(read.abandon)
    else:
        answered(read)


def refuse(request: FetchRequest, code: ErrorCode) -> FetchResponse:
    """The same error for every partition; for the whole where it concerns the session, or none is named."""
    if code in _SESSION_ERRORS or not request.topics:
        return FetchResponse(error_code=code)
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [
                    PartitionData(part.partition, code, NO_OFFSET, NO_OFFSET, NO_OFFSET, records=b"")
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _params(core: BrokerCore, context: RequestContext, request: FetchRequest) -> FetchParams:
    replica_id = request.replica_id
    if context.api_version >= _FIRST_WITH_REPLICA_STATE:
        replica_id = CONSUMER_ID if request.replica_state is None else request.replica_state.replica_id
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
        max_wait_ms=core.wait_ms(request.max_wait_ms),
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=isolation,
        leader_only=is_follower or not (has_rack or replica_id == DEBUGGING_CONSUMER_ID),
        client=ClientMetadata(request.rack_id, context.client_id or "") if has_rack else None,
    )


def _fetches(core: BrokerCore, request: FetchRequest, has_ids: bool) -> list[PartitionFetch]:
    """What is asked for; a topic whose id is unknown here goes by the name "", which no topic has.

    A partition that is named again is read once, as it was named last.
    """
    fetches: dict[SessionKey, PartitionFetch] = {}
    for topic in request.topics:
        name = (core.topic_name(topic.topic_id) or "") if has_ids else topic.topic
        key = topic.topic_id if has_ids else name
        for part in topic.partitions:
            fetches[key, part.partition] = PartitionFetch(
                TopicPartition(name, part.partition),
                part.fetch_offset,
                part.partition_max_bytes,
                part.current_leader_epoch,
                part.last_fetched_epoch,
                part.log_start_offset,
                topic.topic_id,
            )
    return list(fetches.values())


def _forgotten(request: FetchRequest, has_ids: bool) -> list[SessionKey]:
    return [
        (topic.topic_id if has_ids else topic.topic, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]


def _response(core: BrokerCore, context: RequestContext, answer: FetchAnswer) -> FetchResponse:
    response = FetchResponse(error_code=answer.error_code, session_id=answer.session_id)
    topics: dict[object, FetchableTopicResponse] = {}
    leaders: dict[BrokerId, None] = {}
    for fetch, outcome in answer.partitions:
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
        # The codec asks for no more than the length of what is large, and passes it on.
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
    """Add to an error: that the topic id is unknown, or which broker leads."""
    if not fetch.topic_partition.topic and context.api_version >= _FIRST_WITH_IDS:
        part.error_code = ErrorCode.UNKNOWN_TOPIC_ID
    elif part.error_code in HINTED_ERRORS and context.api_version >= _FIRST_WITH_LEADERS:
        leader, epoch = current_leader(core, fetch.topic_partition)
        part.current_leader = LeaderIdAndEpoch(leader, epoch)
        leaders[leader] = None
