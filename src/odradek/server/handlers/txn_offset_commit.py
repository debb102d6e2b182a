"""TxnOffsetCommit: a group's offsets as part of a producer's transaction (KIP-98, KIP-447)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps, deliver, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer
from odradek.coordinator.transactions import Producer
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.topic_ids import with_names
from odradek.server.node.coordinators.transaction_admission import Ability, PartitionErrors
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

SERVES: Final = Serves(28, 0, 6, kips={0: 98, 2: 320, 3: 447, 4: 890, 5: 890, 6: 1319})

_FIRST_WITH_IDS: Final = 6
_FIRST_WITH_ABORTABLE: Final = 4
_FIRST_THAT_KNOWS_LOADING: Final = 2
"""Producers of earlier versions fail at COORDINATOR_LOAD_IN_PROGRESS."""


def handle(
    core: BrokerCore, context: RequestContext, request: TxnOffsetCommitRequest, respond: Respond
) -> Steps[None]:
    """Add the group's partition to the transaction, then write the offsets there."""

    def answered(codes: Codes | ErrorCode) -> None:
        respond(_in_steps(request, codes, context.api_version))

    if not request.group_id:
        answered(ErrorCode.INVALID_GROUP_ID)
        return
    known = with_names(core, request.topics) if context.api_version >= _FIRST_WITH_IDS else request.topics
    if request.topics and not known:
        answered({})
        return
    writes = core.groups.coordinator.offset_writes
    producer = Producer(request.producer_id, request.producer_epoch)
    owner = TransactionalProducer(*producer)
    # Before the transaction's consent, so that nothing happens between the consent and the append.
    prepared = yield from writes.prepare(request.group_id, _offsets_of(known, core.clock.wall_ms()), owner)
    group_partition = TopicPartition(OFFSETS_TOPIC, core.groups.topic.partition_of(request.group_id))

    consent = core.admission.consent(producer, [group_partition])

    def admitted(refused: PartitionErrors) -> None:
        if not refused and not consent.holds_for(group_partition):
            refused = {group_partition: ErrorCode.NOT_ENOUGH_REPLICAS}
        if refused:
            error = refused[group_partition]
            if error is ErrorCode.NOT_ENOUGH_REPLICAS:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            answered(dict.fromkeys(prepared.codes, error))
            return
        writes.commit_in_transaction(
            request.group_id,
            owner,
            prepared,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            respond=answered,
        )

    refused = core.admission.admit(
        request.transactional_id,
        producer,
        [group_partition],
        Ability.of_version(context.api_version, _FIRST_WITH_ABORTABLE),
        admitted,
    )
    deliver(refused, admitted)


def refuse(request: TxnOffsetCommitRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partitions,
        lambda part: TxnOffsetCommitResponsePartition(part.partition_index, code),
        lambda topic, parts: TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, parts),
    )
    return TxnOffsetCommitResponse(topics=rows)


def _offsets_of(
    topics: Sequence[TxnOffsetCommitRequestTopic], now_ms: int
) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
    for topic in topics:
        for part in topic.partitions:
            metadata = part.committed_metadata or ""
            offset = CommittedOffset(part.committed_offset, part.committed_leader_epoch, metadata, now_ms)
            yield TopicPartition(topic.name, part.partition_index), offset


def _told(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_THAT_KNOWS_LOADING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _in_steps(request: TxnOffsetCommitRequest, codes: Codes | ErrorCode, version: int) -> Steps[Response]:
    """The answer; a partition without a code belongs to a topic id that is unknown here."""
    response = TxnOffsetCommitResponse()
    pace = Pace()
    for topic in request.topics:
        partitions = yield from stepwise(topic.partitions, partial(_partition, topic.name, codes, version))
        response.topics.append(TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
        if pace.is_over(1 + len(partitions)):
            yield
    return response


def _partition(
    name: str, codes: Codes | ErrorCode, version: int, part: TxnOffsetCommitRequestPartition
) -> TxnOffsetCommitResponsePartition:
    code = codes
    if not isinstance(code, ErrorCode):
        code = code.get(TopicPartition(name, part.partition_index), ErrorCode.UNKNOWN_TOPIC_ID)
    return TxnOffsetCommitResponsePartition(part.partition_index, _told(code, version))
