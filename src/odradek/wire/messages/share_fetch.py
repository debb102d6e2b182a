"""Generated from `schemas/share_fetch.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_records,
    read_compact_string,
    read_int8s,
    read_int32s,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_records,
    write_compact_string,
    write_int8s,
    write_int32s,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 78 ShareFetch

request ShareFetchRequest 1-2 flexible 1+
    group_id: string? = null
    member_id: string?
    share_session_epoch: int32
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 2147483647
    max_records: int32
    batch_size: int32
    share_acquire_mode: int8 @2+
    is_renew_ack: bool @2+
    topics: [FetchTopic]
        topic_id: uuid
        partitions: [FetchPartition]
            partition_index: int32
            acknowledgement_batches: [AcknowledgementBatch]
                first_offset: int64
                last_offset: int64
                acknowledge_types: [int8]
    forgotten_topics_data: [ForgottenTopic]
        topic_id: uuid
        partitions: [int32]

response ShareFetchResponse 1-2 flexible 1+
    throttle_time_ms: int32
    error_code: int16
    error_message: string? = null
    acquisition_lock_timeout_ms: int32
    responses: [ShareFetchableTopicResponse]
        topic_id: uuid
        partitions: [PartitionData]
            partition_index: int32
            error_code: int16
            error_message: string? = null
            acknowledge_error_code: int16
            acknowledge_error_message: string? = null
            current_leader: LeaderIdAndEpoch
                leader_id: int32
                leader_epoch: int32
            records: records
            acquired_records: [AcquiredRecords]
                first_offset: int64
                last_offset: int64
                delivery_count: int16
    node_endpoints: [NodeEndpoint]
        node_id: int32
        host: string
        port: int32
        rack: string? = null
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iit: Final = Struct(">iiB").unpack_from
_unpack_iiiiii: Final = Struct(">iiiiii").unpack_from
_unpack_iiiiiibo: Final = Struct(">iiiiiib?").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_unpack_qqht: Final = Struct(">qqhB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iit: Final = Struct(">iiB").pack
_pack_iiiiii: Final = Struct(">iiiiii").pack
_pack_iiiiiibo: Final = Struct(">iiiiiib?").pack
_pack_qq: Final = Struct(">qq").pack
_pack_qqht: Final = Struct(">qqhB").pack


@dataclass(slots=True, eq=False, repr=False)
class AcknowledgementBatch(Structure):
    """ShareFetchRequest.topics[].partitions[].acknowledgement_batches[]"""

    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class FetchPartition(Structure):
    """ShareFetchRequest.topics[].partitions[]"""

    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class FetchTopic(Structure):
    """ShareFetchRequest.topics[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[FetchPartition] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ForgottenTopic(Structure):
    """ShareFetchRequest.forgotten_topics_data[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[int] = field(default_factory=list)


def _read_acknowledgement_batch_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AcknowledgementBatch], int]:
    items = []
    for _ in range(elements):
        item = new(AcknowledgementBatch)
        item.first_offset, item.last_offset = _unpack_qq(buffer, at)
        at += 16
        count, at = read_compact_count(buffer, at, 1, budget)
        item.acknowledge_types, at = read_int8s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_acknowledgement_batch_v1_array(out: bytearray, items: list[AcknowledgementBatch]) -> None:
    for item in items:
        out += _pack_qq(item.first_offset, item.last_offset)
        write_compact_count(out, item.acknowledge_types)
        write_int8s(out, item.acknowledge_types)
        out.append(0)


def _read_fetch_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 18, budget)
        item.acknowledgement_batches, at = _read_acknowledgement_batch_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_partition_v1_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        write_compact_count(out, item.acknowledgement_batches)
        _write_acknowledgement_batch_v1_array(out, item.acknowledgement_batches)
        out.append(0)


def _read_fetch_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partitions, at = _read_fetch_partition_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v1_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_fetch_partition_v1_array(out, item.partitions)
        out.append(0)


def _read_forgotten_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ForgottenTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ForgottenTopic)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_forgotten_topic_v1_array(out: bytearray, items: list[ForgottenTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_share_fetch_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareFetchRequest, int]:
    item = new(ShareFetchRequest)
    item.share_acquire_mode = 0
    item.is_renew_ack = False
    item.group_id, at = read_compact_nullable_string(buffer, at)
    item.member_id, at = read_compact_nullable_string(buffer, at)
    (
        item.share_session_epoch,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.max_records,
        item.batch_size,
    ) = _unpack_iiiiii(buffer, at)
    at += 24
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v1_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_fetch_request_v1(out: bytearray, item: ShareFetchRequest, payloads: Payloads) -> None:
    write_compact_nullable_string(out, item.group_id)
    write_compact_nullable_string(out, item.member_id)
    out += _pack_iiiiii(
        item.share_session_epoch,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.max_records,
        item.batch_size,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v1_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v1_array(out, item.forgotten_topics_data)
    out.append(0)


def _read_share_fetch_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareFetchRequest, int]:
    item = new(ShareFetchRequest)
    item.group_id, at = read_compact_nullable_string(buffer, at)
    item.member_id, at = read_compact_nullable_string(buffer, at)
    (
        item.share_session_epoch,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.max_records,
        item.batch_size,
        item.share_acquire_mode,
        item.is_renew_ack,
    ) = _unpack_iiiiiibo(buffer, at)
    at += 26
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v1_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_fetch_request_v2(out: bytearray, item: ShareFetchRequest, payloads: Payloads) -> None:
    write_compact_nullable_string(out, item.group_id)
    write_compact_nullable_string(out, item.member_id)
    out += _pack_iiiiiibo(
        item.share_session_epoch,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.max_records,
        item.batch_size,
        item.share_acquire_mode,
        item.is_renew_ack,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v1_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v1_array(out, item.forgotten_topics_data)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareFetchRequest(Request["ShareFetchResponse"]):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_share_fetch_request_v1,
        2: _read_share_fetch_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_share_fetch_request_v1,
        2: _write_share_fetch_request_v2,
    }

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0  # v2+
    is_renew_ack: bool = False  # v2+
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class LeaderIdAndEpoch(Structure):
    """ShareFetchResponse.responses[].partitions[].current_leader"""

    leader_id: int = 0
    leader_epoch: int = 0


@dataclass(slots=True, eq=False, repr=False)
class AcquiredRecords(Structure):
    """ShareFetchResponse.responses[].partitions[].acquired_records[]"""

    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0


@dataclass(slots=True, eq=False, repr=False)
class PartitionData(Structure):
    """ShareFetchResponse.responses[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    records: Buffer = b""
    acquired_records: list[AcquiredRecords] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ShareFetchableTopicResponse(Structure):
    """ShareFetchResponse.responses[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[PartitionData] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class NodeEndpoint(Structure):
    """ShareFetchResponse.node_endpoints[]"""

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


def _read_leader_id_and_epoch_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaderIdAndEpoch, int]:
    item = new(LeaderIdAndEpoch)
    item.leader_id, item.leader_epoch, tags = _unpack_iit(buffer, at)
    at += 9
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leader_id_and_epoch_v1(out: bytearray, item: LeaderIdAndEpoch) -> None:
    out += _pack_iit(item.leader_id, item.leader_epoch, 0)


def _read_acquired_records_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AcquiredRecords], int]:
    items = []
    for _ in range(elements):
        item = new(AcquiredRecords)
        item.first_offset, item.last_offset, item.delivery_count, tags = _unpack_qqht(buffer, at)
        at += 19
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_acquired_records_v1_array(out: bytearray, items: list[AcquiredRecords]) -> None:
    for item in items:
        out += _pack_qqht(item.first_offset, item.last_offset, item.delivery_count, 0)


def _read_partition_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        (item.acknowledge_error_code,) = _unpack_h(buffer, at)
        at += 2
        item.acknowledge_error_message, at = read_compact_nullable_string(buffer, at)
        item.current_leader, at = _read_leader_id_and_epoch_v1(buffer, at, budget)
        item.records, at = read_compact_records(buffer, at)
        count, at = read_compact_count(buffer, at, 19, budget)
        item.acquired_records, at = _read_acquired_records_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_v1_array(out: bytearray, items: list[PartitionData], payloads: Payloads) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_h(item.acknowledge_error_code)
        write_compact_nullable_string(out, item.acknowledge_error_message)
        _write_leader_id_and_epoch_v1(out, item.current_leader)
        write_compact_records(out, item.records, payloads)
        write_compact_count(out, item.acquired_records)
        _write_acquired_records_v1_array(out, item.acquired_records)
        out.append(0)


def _read_share_fetchable_topic_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ShareFetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ShareFetchableTopicResponse)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 22, budget)
        item.partitions, at = _read_partition_data_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_share_fetchable_topic_response_v1_array(
    out: bytearray, items: list[ShareFetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_partition_data_v1_array(out, item.partitions, payloads)
        out.append(0)


def _read_node_endpoint_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[NodeEndpoint], int]:
    items = []
    for _ in range(elements):
        item = new(NodeEndpoint)
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.rack, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_node_endpoint_v1_array(out: bytearray, items: list[NodeEndpoint]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out.append(0)


def _read_share_fetch_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareFetchResponse, int]:
    item = new(ShareFetchResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    (item.acquisition_lock_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_share_fetchable_topic_response_v1_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 11, budget)
    item.node_endpoints, at = _read_node_endpoint_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_fetch_response_v1(out: bytearray, item: ShareFetchResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out += _pack_i(item.acquisition_lock_timeout_ms)
    write_compact_count(out, item.responses)
    _write_share_fetchable_topic_response_v1_array(out, item.responses, payloads)
    write_compact_count(out, item.node_endpoints)
    _write_node_endpoint_v1_array(out, item.node_endpoints)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareFetchResponse(Message):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_share_fetch_response_v1,
        2: _read_share_fetch_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_share_fetch_response_v1,
        2: _write_share_fetch_response_v1,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
