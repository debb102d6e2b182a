"""TxnOffsetCommit: a group's offsets as part of a producer's transaction (KIP-98, KIP-447)."""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer
from odradek.coordinator.transactions import Producer
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.topic_ids import with_names
from odradek.server.node.core import BrokerCore
from odradek.server.node.transaction_admission import Ability, Refused, admit
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

SERVES: Final = Serves(28, 0, 6, kips={0: 98, 2: 320, 3: 447, 4: 890, 5: 890, 6: 1319})

_FIRST_WITH_IDS: Final = 6
_FIRST_WITH_ABORTABLE: Final = 4
_FIRST_THAT_KNOWS_LOADING: Final = 2
"""Producers before it fail at COORDINATOR_LOAD_IN_PROGRESS."""


def handle(
    core: BrokerCore, context: RequestContext, request: TxnOffsetCommitRequest, respond: Respond
) -> None:
    """Add the group's partition to the transaction, then write the offsets there."""
    if not request.group_id:
        respond(refuse(request, ErrorCode.INVALID_GROUP_ID))
        return
    known = with_names(core, request.topics) if context.api_version >= _FIRST_WITH_IDS else request.topics
    if request.topics and not known:
        respond(_response(request, {}))
        return
    offsets = _offsets_of(known, core.clock.wall_ms())
    group_partition = TopicPartition(OFFSETS_TOPIC, core.groups.topic.partition_of(request.group_id))

    def answered(codes: Codes) -> None:
        respond(_response(request, {one: _told(code, context.api_version) for one, code in codes.items()}))

    def admitted(refused: Refused) -> None:
        if refused:
            error = refused[group_partition]
            if error is ErrorCode.NOT_ENOUGH_REPLICAS:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            answered(dict.fromkeys(offsets, error))
            return
        core.groups.coordinator.stage_transactional_offsets(
            request.group_id,
            TransactionalProducer(request.producer_id, request.producer_epoch),
            offsets,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            respond=answered,
        )

    refused = admit(
        core,
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [group_partition],
        Ability.of_version(context.api_version, _FIRST_WITH_ABORTABLE),
        admitted,
    )
    deliver(refused, admitted)


def refuse(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    """The same error for every partition."""
    return _response(request, dict.fromkeys(_offsets_of(request.topics, 0), code))


def _offsets_of(
    topics: Sequence[TxnOffsetCommitRequestTopic], now_ms: int
) -> dict[TopicPartition, CommittedOffset]:
    return {
        TopicPartition(topic.name, part.partition_index): CommittedOffset(
            part.committed_offset, part.committed_leader_epoch, part.committed_metadata or "", now_ms
        )
        for topic in topics
        for part in topic.partitions
    }


def _told(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_THAT_KNOWS_LOADING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _response(
    request: TxnOffsetCommitRequest, codes: Mapping[TopicPartition, ErrorCode]
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    TxnOffsetCommitResponsePartition(
                        part.partition_index,
                        codes.get(
                            TopicPartition(topic.name, part.partition_index), ErrorCode.UNKNOWN_TOPIC_ID
                        ),
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
