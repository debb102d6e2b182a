"""Produce: append batches to partitions led here (P1).

Invariant: the request's own bytes are not kept while it waits for its acks; only names and numbers are.
"""

from __future__ import annotations  # else those of inner functions are evaluated for each request

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Steps, deliver, exhaust
from odradek.base.ids import BrokerId, TopicPartition
from odradek.records.compression import Codec
from odradek.records.header import CODEC_MASK, HEADER_BYTES
from odradek.replication.append import Batches
from odradek.replication.outcomes import AppendOutcome
from odradek.server.edge.context import Client, RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.leader_hints import current_leader, endpoints_of
from odradek.server.node.record_work import RecordJob
from odradek.server.node.transaction_admission import Ability, Admission, admit_batches, is_transactional
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
    listed_from=0,  # librdkafka tells features by the lowest version of Produce (KIP-896)
)

_log = logging.getLogger(__name__)

ADMIN_CLIENT_ID: Final = "__admin_client"
_CODEC_AT: Final = 22
"""The byte of a batch header that holds the codec."""
_LIGHT_BYTES_MAX: Final = 4 << 10
"""Uncompressed records of one request that need no check in steps: they cannot be more than 600."""
_FIRST_WITH_ZSTD: Final = 7
_FIRST_WITH_LEADERS: Final = 10
_FIRST_WITH_ABORTABLE: Final = 11
_FIRST_WITH_IDS: Final = 13


class _Asked(NamedTuple):
    """What a request asks for, by topic and partition as they came."""

    topics: list[tuple[str, UUID, list[tuple[int, TopicPartition | None]]]]
    """Per topic its name and id, and per partition its number and, if known, its name."""
    entries: dict[TopicPartition, Buffer]
    """What is to be appended."""
    unsupported: dict[TopicPartition, AppendOutcome]
    """What cannot be."""


def handle(
    core: BrokerCore, context: RequestContext, request: ProduceRequest, respond: Respond
) -> Steps[None] | None:
    """Append, and answer when `acks` is satisfied."""
    asked = _Asked([], {}, {})
    topics = request.topic_data
    if len(topics) > ITEMS_PER_STEP:
        return _serve_wide(core, context, request, respond, asked)
    for topic in topics:
        if len(topic.partition_data) > ITEMS_PER_STEP:
            return _serve_wide(core, context, request, respond, _Asked([], {}, {}))
        _read(core, context, topic, topic.partition_data, asked)
    _serve(core, context, request, respond, asked)
    return None


def _serve_wide(
    core: BrokerCore, context: RequestContext, request: ProduceRequest, respond: Respond, asked: _Asked
) -> Steps[None]:
    for topic in request.topic_data:
        begin = 0
        while True:
            end = begin + ITEMS_PER_STEP
            _read(core, context, topic, topic.partition_data[begin:end], asked, goes_on=begin > 0)
            yield
            begin = end
            if begin >= len(topic.partition_data):
                break
    _serve(core, context, request, respond, asked)


def _serve(
    core: BrokerCore, context: RequestContext, request: ProduceRequest, respond: Respond, asked: _Asked
) -> None:
    entries, unsupported = asked.entries, asked.unsupported
    wants_answer = request.acks != 0
    is_wide = len(entries) > ITEMS_PER_STEP

    def answered(outcomes: Mapping[TopicPartition, AppendOutcome]) -> None:
        if unsupported:
            outcomes = {**unsupported, **outcomes}
        if wants_answer:
            answering = _response(core, context, asked, outcomes)
            respond(answering if is_wide else exhaust(answering))
            return
        if len(outcomes) < len(entries) or any(outcome.error_code for outcome in outcomes.values()):
            context.client.close()
        respond(None)

    acks, timeout_ms = request.acks, core.wait_ms(request.timeout_ms)
    is_admin = context.client_id == ADMIN_CLIENT_ID

    def append(entries: Mapping[TopicPartition, Batches]) -> None:
        outcomes = core.replicas.append(
            entries, acks=acks, timeout_ms=timeout_ms, later=answered, internal_allowed=is_admin
        )
        if outcomes is not None:
            answered(outcomes)
            core.replicas.purgatories.wake_changed()

    def append_in_steps(entries: Iterable[tuple[TopicPartition, Batches]]) -> Steps[None]:
        outcomes = yield from core.replicas.append_in_steps(
            entries, acks=acks, timeout_ms=timeout_ms, later=answered, internal_allowed=is_admin
        )
        deliver(outcomes, answered)

    def failed(error: Exception) -> None:
        """Our own mistake, after some partitions were written; which ones is not known."""
        _log.error("a produce to %d partitions of %s failed", len(entries), context.client_id, exc_info=error)
        respond(refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def append_checked(checked: Mapping[TopicPartition, Batches]) -> None:
        if request.transactional_id is not None or any(map(is_transactional, entries.values())):
            steps = append_admitted(checked)
            core.slices.run(steps, failed) if is_wide else exhaust(steps)
        elif is_wide:
            core.slices.run(append_in_steps(checked.items()), failed)
        else:
            append(checked)

    def append_admitted(checked: Mapping[TopicPartition, Batches]) -> Steps[None]:
        """Append what the coordinator of its transaction consents to."""

        def admitted(admission: Admission) -> None:
            if is_wide:
                core.slices.run(append_in_steps(admission.entries(checked)), failed)
            else:
                append(dict(admission.entries(checked)))

        ability = Ability.of_version(context.api_version, _FIRST_WITH_ABORTABLE)
        admission = yield from admit_batches(core, request.transactional_id, entries, ability, admitted)
        deliver(admission, admitted)

    if _is_light(entries):
        append_checked(entries)
    else:
        # Before anything is admitted to a transaction, so that nothing comes between that and the append.
        _check(core, context.client, entries, append_checked, wants_answer=wants_answer)


def _check(
    core: BrokerCore,
    client: Client,
    entries: Mapping[TopicPartition, Buffer],
    admit: Callable[[Mapping[TopicPartition, Batches]], None],
    *,
    wants_answer: bool,
) -> None:
    """Check batches in steps, then `admit` them; not when the connection is lost meanwhile.

    With acks=0 a client may close at once and mean it: then the check goes on as far as `Orphans` allows.
    """
    size_bytes = sum(map(len, entries.values()))
    is_adopted = False

    def done(checked: Mapping[TopicPartition, Batches]) -> None:
        if is_adopted:
            core.orphans.release(size_bytes)
        admit(checked)

    def failed(_: Exception) -> None:
        if is_adopted:
            core.orphans.release(size_bytes)
        client.close()

    def lost(abandon: Callable[[], None]) -> None:
        nonlocal is_adopted
        is_adopted = not wants_answer and core.orphans.adopt(size_bytes)
        if not is_adopted:
            abandon()

    checked = core.record_work.run(core.replicas.check(entries), done, failed)
    if isinstance(checked, RecordJob):
        client.when_lost(partial(lost, checked.abandon))
    else:
        admit(checked)


def _read(
    core: BrokerCore,
    context: RequestContext,
    topic: TopicProduceData,
    parts: Sequence[PartitionProduceData],
    asked: _Asked,
    *,
    goes_on: bool = False,
) -> None:
    """Add some partitions of a topic to what is asked for; `goes_on` when some of it were read before."""
    has_ids = context.api_version >= _FIRST_WITH_IDS
    has_zstd = context.api_version >= _FIRST_WITH_ZSTD
    name = core.topic_name(topic.topic_id) if has_ids else topic.name
    if not goes_on:
        asked.topics.append((topic.name, topic.topic_id, []))
    partitions = asked.topics[-1][2]
    for part in parts:
        topic_partition = None
        if name is not None:
            topic_partition = TopicPartition(name, part.index)
            records = b"" if part.records is None else part.records
            if has_zstd or not _is_zstd(records):
                asked.entries[topic_partition] = records
            else:
                asked.unsupported[topic_partition] = AppendOutcome(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        partitions.append((part.index, topic_partition))


def refuse(request: ProduceRequest, code: ErrorCode) -> ProduceResponse:
    """The same error for every partition."""
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [PartitionProduceResponse(part.index, code, base_offset=-1) for part in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def _is_light(entries: Mapping[TopicPartition, Buffer]) -> bool:
    """Whether the log may validate everything by itself, well within a millisecond."""
    size_bytes = 0
    for batches in entries.values():
        size_bytes += len(batches)
        if size_bytes > _LIGHT_BYTES_MAX or (
            len(batches) >= HEADER_BYTES and batches[_CODEC_AT] & CODEC_MASK
        ):
            return False
    return True


def _is_zstd(batches: Buffer) -> bool:
    return len(batches) >= HEADER_BYTES and batches[_CODEC_AT] & CODEC_MASK == Codec.ZSTD


def _response(
    core: BrokerCore,
    context: RequestContext,
    asked: _Asked,
    outcomes: Mapping[TopicPartition, AppendOutcome],
) -> Steps[Response]:
    response = ProduceResponse()
    leaders: dict[BrokerId, None] = {}
    for name, topic_id, partitions in asked.topics:
        parts = []
        for number, (index, topic_partition) in enumerate(partitions, 1):
            if number % ITEMS_PER_STEP == 0:
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


def _explain(part: PartitionProduceResponse, outcome: AppendOutcome) -> None:
    part.error_message = outcome.error_message
    part.record_errors = [
        BatchIndexAndErrorMessage(index, message) for index, message in outcome.record_errors
    ]
