"""Produce: append batches to partitions led here (P1).

Invariant: while a request waits for its acks, only names and numbers are kept, not the request's bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Pace, Steps, exhaust, stepwise_in
from odradek.base.ids import BrokerId, TopicPartition
from odradek.records.compression import Codec
from odradek.records.header import ATTRIBUTES_LOW_AT, CODEC_MASK, HEADER_BYTES
from odradek.replication.outcomes import AppendOutcome, AppendOutcomes
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.coordinators.transaction_admission import Ability
from odradek.server.node.core import BrokerCore
from odradek.server.node.leader_hints import current_leader, endpoints_of
from odradek.server.node.producing import Produce
from odradek.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

SERVES: Final = Serves(
    0,
    3,
    13,
    kips={7: 110, 8: 467, 9: 482, 10: 951, 11: 890, 12: 890, 13: 516},
    listed_from=0,  # librdkafka detects features by the lowest version of Produce (KIP-896)
)

ADMIN_CLIENT_ID: Final = "__admin_client"
_FIRST_WITH_ZSTD: Final = 7
_FIRST_WITH_LEADERS: Final = 10
_FIRST_WITH_ABORTABLE: Final = 11
_FIRST_WITH_IDS: Final = 13
_ABILITIES: Final = tuple(
    Ability.of_version(version, _FIRST_WITH_ABORTABLE) for version in range(SERVES.highest + 1)
)
"""What a producer supports of transactions, by the version of its request."""


def handle(
    core: BrokerCore, context: RequestContext, request: ProduceRequest, respond: Respond
) -> Steps[None] | None:
    """Append, and answer when `acks` is satisfied."""
    asked = _Asked(core, context, request.acks, respond)
    topics = request.topic_data
    if len(topics) > ITEMS_PER_STEP:
        return _serve_wide(asked, request)
    for topic in topics:
        if len(topic.partition_data) > ITEMS_PER_STEP:
            return _serve_wide(asked, request)
    for topic in topics:
        asked.read(topic, topic.partition_data)
    asked.serve(request)
    return None


def _serve_wide(asked: _Asked, request: ProduceRequest) -> Steps[None]:
    for topic in request.topic_data:
        begin = 0
        while True:
            end = begin + ITEMS_PER_STEP
            asked.read(topic, topic.partition_data[begin:end], goes_on=begin > 0)
            yield
            begin = end
            if begin >= len(topic.partition_data):
                break
    asked.serve(request)


class _Asked:
    """A produce request by topic and partition, in the order of the request, and its answer."""

    __slots__ = ("_acks", "_context", "_core", "_entries", "_respond", "_topics", "_unsupported")

    def __init__(self, core: BrokerCore, context: RequestContext, acks: int, respond: Respond) -> None:
        self._core = core
        self._context = context
        self._acks = acks
        self._respond = respond
        self._topics: list[tuple[str, UUID, list[tuple[int, TopicPartition | None]]]] = []
        """For each topic its name and id, and for each partition its index and, if known, its name."""
        self._entries: dict[TopicPartition, Buffer] = {}
        """The batches to append."""
        self._unsupported: dict[TopicPartition, AppendOutcome] = {}
        """The partitions whose batches cannot be appended, with their outcomes."""

    def read(
        self, topic: TopicProduceData, parts: Sequence[PartitionProduceData], *, goes_on: bool = False
    ) -> None:
        """Add some partitions of a topic; `goes_on` is set if others of it were added before.

        Their records are taken out of the request, which lives until it is answered.
        """
        api_version = self._context.api_version
        has_ids = api_version >= _FIRST_WITH_IDS
        has_zstd = api_version >= _FIRST_WITH_ZSTD
        name = self._core.served_topic_name(topic.topic_id) if has_ids else topic.name
        if not goes_on:
            self._topics.append((topic.name, topic.topic_id, []))
        partitions = self._topics[-1][2]
        for part in parts:
            topic_partition = None
            if name is not None:
                topic_partition = TopicPartition(name, part.index)
                records = b"" if part.records is None else part.records
                if has_zstd or not _is_zstd(records):
                    self._entries[topic_partition] = records
                else:
                    self._unsupported[topic_partition] = AppendOutcome(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
            part.records = None
            partitions.append((part.index, topic_partition))

    def serve(self, request: ProduceRequest) -> None:
        """Append, and answer now or later."""
        core, context = self._core, self._context
        outcomes = Produce(
            core,
            context.client,
            self._entries,
            self._answer,
            request.acks,
            core.wait_ms(request.timeout_ms),
            request.transactional_id,
            _ABILITIES[context.api_version],
            context.client_id == ADMIN_CLIENT_ID,
        ).begin()
        if outcomes is not None:
            self._answer(outcomes)
            core.replicas.purgatories.wake_changed()

    def _answer(self, outcomes: AppendOutcomes) -> None:
        if self._unsupported:
            outcomes = {**self._unsupported, **outcomes}
        if self._acks != 0:
            is_wide = len(outcomes) + len(self._topics) > ITEMS_PER_STEP
            response = self._response(outcomes)
            if is_wide:
                self._context.spend(outcomes, self._topics)
            self._respond(response if is_wide else exhaust(response))
            return
        if any(outcome.error_code for outcome in outcomes.values()):
            self._context.client.close()
        self._respond(None)

    def _response(self, outcomes: AppendOutcomes) -> Steps[Response]:
        core, context = self._core, self._context
        response = ProduceResponse()
        leaders: dict[BrokerId, None] = {}
        pace = Pace()
        for name, topic_id, partitions in self._topics:
            parts = []
            for index, topic_partition in partitions:
                if pace.is_over():
                    yield
                if topic_partition is None:
                    parts.append(PartitionProduceResponse(index, ErrorCode.UNKNOWN_TOPIC_ID, base_offset=-1))
                    continue
                outcome = outcomes[topic_partition]
                part = PartitionProduceResponse(
                    index,
                    outcome.error_code,
                    outcome.base_offset,
                    outcome.log_append_time_ms,
                    outcome.log_start_offset,
                )
                if outcome.error_code:
                    _explain(part, outcome)
                    if (
                        outcome.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
                        and context.api_version >= _FIRST_WITH_LEADERS
                    ):
                        leader, epoch = current_leader(core, topic_partition)
                        part.current_leader = LeaderIdAndEpoch(leader, epoch)
                        leaders[leader] = None
                parts.append(part)
            response.responses.append(TopicProduceResponse(name, topic_id, parts))
        if leaders:
            response.node_endpoints = endpoints_of(core, leaders, context.listener, NodeEndpoint)
        return response


def refuse(request: ProduceRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topic_data,
        lambda topic: topic.partition_data,
        lambda part: PartitionProduceResponse(part.index, code, base_offset=-1),
        lambda topic, parts: TopicProduceResponse(topic.name, topic.topic_id, parts),
    )
    return ProduceResponse(responses=rows)


def _is_zstd(batches: Buffer) -> bool:
    return len(batches) >= HEADER_BYTES and batches[ATTRIBUTES_LOW_AT] & CODEC_MASK == Codec.ZSTD


def _explain(part: PartitionProduceResponse, outcome: AppendOutcome) -> None:
    part.error_message = outcome.error_message
    part.record_errors = [
        BatchIndexAndErrorMessage(index, message) for index, message in outcome.record_errors
    ]
