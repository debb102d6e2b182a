"""Generated from `schemas/share_acknowledge.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_string,
    read_int8s,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_int8s,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 79 ShareAcknowledge

request ShareAcknowledgeRequest 1-2 flexible 1+
    group_id: string? = null
    member_id: string?
    share_session_epoch: int32
    is_renew_ack: bool @2+
    topics: [AcknowledgeTopic]
        topic_id: uuid
        partitions: [AcknowledgePartition]
            partition_index: int32
            acknowledgement_batches: [AcknowledgementBatch]
                first_offset: int64
                last_offset: int64
                acknowledge_types: [int8]

response ShareAcknowledgeResponse 1-2 flexible 1+
    throttle_time_ms: int32
    error_code: int16
    error_message: string? = null
    acquisition_lock_timeout_ms: int32 @2+
    responses: [ShareAcknowledgeTopicResponse]
        topic_id: uuid
        partitions: [PartitionData]
            partition_index: int32
            error_code: int16
            error_message: string? = null
            current_leader: LeaderIdAndEpoch
                leader_id: int32
                leader_epoch: int32
    node_endpoints: [NodeEndpoint]
        node_id: int32
        host: string
        port: int32
        rack: string? = null
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_io: Final = Struct(">i?").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iit: Final = Struct(">iiB").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_io: Final = Struct(">i?").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iit: Final = Struct(">iiB").pack
_pack_qq: Final = Struct(">qq").pack


@dataclass(slots=True, eq=False, repr=False)
class AcknowledgementBatch(Structure):
    """ShareAcknowledgeRequest.topics[].partitions[].acknowledgement_batches[]"""

    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AcknowledgePartition(Structure):
    """ShareAcknowledgeRequest.topics[].partitions[]"""

    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AcknowledgeTopic(Structure):
    """ShareAcknowledgeRequest.topics[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[AcknowledgePartition] = field(default_factory=list)


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


def _read_acknowledge_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AcknowledgePartition], int]:
    items = []
    for _ in range(elements):
        item = new(AcknowledgePartition)
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


def _write_acknowledge_partition_v1_array(out: bytearray, items: list[AcknowledgePartition]) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        write_compact_count(out, item.acknowledgement_batches)
        _write_acknowledgement_batch_v1_array(out, item.acknowledgement_batches)
        out.append(0)


def _read_acknowledge_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AcknowledgeTopic], int]:
    items = []
    for _ in range(elements):
        item = new(AcknowledgeTopic)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partitions, at = _read_acknowledge_partition_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_acknowledge_topic_v1_array(out: bytearray, items: list[AcknowledgeTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_acknowledge_partition_v1_array(out, item.partitions)
        out.append(0)


def _read_share_acknowledge_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareAcknowledgeRequest, int]:
    item = new(ShareAcknowledgeRequest)
    item.is_renew_ack = False
    item.group_id, at = read_compact_nullable_string(buffer, at)
    item.member_id, at = read_compact_nullable_string(buffer, at)
    (item.share_session_epoch,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_acknowledge_topic_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_acknowledge_request_v1(
    out: bytearray, item: ShareAcknowledgeRequest, payloads: Payloads
) -> None:
    write_compact_nullable_string(out, item.group_id)
    write_compact_nullable_string(out, item.member_id)
    out += _pack_i(item.share_session_epoch)
    write_compact_count(out, item.topics)
    _write_acknowledge_topic_v1_array(out, item.topics)
    out.append(0)


def _read_share_acknowledge_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareAcknowledgeRequest, int]:
    item = new(ShareAcknowledgeRequest)
    item.group_id, at = read_compact_nullable_string(buffer, at)
    item.member_id, at = read_compact_nullable_string(buffer, at)
    item.share_session_epoch, item.is_renew_ack = _unpack_io(buffer, at)
    at += 5
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_acknowledge_topic_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_acknowledge_request_v2(
    out: bytearray, item: ShareAcknowledgeRequest, payloads: Payloads
) -> None:
    write_compact_nullable_string(out, item.group_id)
    write_compact_nullable_string(out, item.member_id)
    out += _pack_io(item.share_session_epoch, item.is_renew_ack)
    write_compact_count(out, item.topics)
    _write_acknowledge_topic_v1_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareAcknowledgeRequest(Request["ShareAcknowledgeResponse"]):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_share_acknowledge_request_v1,
        2: _read_share_acknowledge_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_share_acknowledge_request_v1,
        2: _write_share_acknowledge_request_v2,
    }

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False  # v2+
    topics: list[AcknowledgeTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class LeaderIdAndEpoch(Structure):
    """ShareAcknowledgeResponse.responses[].partitions[].current_leader"""

    leader_id: int = 0
    leader_epoch: int = 0


@dataclass(slots=True, eq=False, repr=False)
class PartitionData(Structure):
    """ShareAcknowledgeResponse.responses[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)


@dataclass(slots=True, eq=False, repr=False)
class ShareAcknowledgeTopicResponse(Structure):
    """ShareAcknowledgeResponse.responses[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[PartitionData] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class NodeEndpoint(Structure):
    """ShareAcknowledgeResponse.node_endpoints[]"""

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


def _read_partition_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.current_leader, at = _read_leader_id_and_epoch_v1(buffer, at, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_v1_array(out: bytearray, items: list[PartitionData]) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        _write_leader_id_and_epoch_v1(out, item.current_leader)
        out.append(0)


def _read_share_acknowledge_topic_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ShareAcknowledgeTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ShareAcknowledgeTopicResponse)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 17, budget)
        item.partitions, at = _read_partition_data_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_share_acknowledge_topic_response_v1_array(
    out: bytearray, items: list[ShareAcknowledgeTopicResponse]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_partition_data_v1_array(out, item.partitions)
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


def _read_share_acknowledge_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareAcknowledgeResponse, int]:
    item = new(ShareAcknowledgeResponse)
    item.acquisition_lock_timeout_ms = 0
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_share_acknowledge_topic_response_v1_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 11, budget)
    item.node_endpoints, at = _read_node_endpoint_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_acknowledge_response_v1(
    out: bytearray, item: ShareAcknowledgeResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.responses)
    _write_share_acknowledge_topic_response_v1_array(out, item.responses)
    write_compact_count(out, item.node_endpoints)
    _write_node_endpoint_v1_array(out, item.node_endpoints)
    out.append(0)


def _read_share_acknowledge_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareAcknowledgeResponse, int]:
    item = new(ShareAcknowledgeResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    (item.acquisition_lock_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_share_acknowledge_topic_response_v1_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 11, budget)
    item.node_endpoints, at = _read_node_endpoint_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_acknowledge_response_v2(
    out: bytearray, item: ShareAcknowledgeResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out += _pack_i(item.acquisition_lock_timeout_ms)
    write_compact_count(out, item.responses)
    _write_share_acknowledge_topic_response_v1_array(out, item.responses)
    write_compact_count(out, item.node_endpoints)
    _write_node_endpoint_v1_array(out, item.node_endpoints)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareAcknowledgeResponse(Message):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_share_acknowledge_response_v1,
        2: _read_share_acknowledge_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_share_acknowledge_response_v1,
        2: _write_share_acknowledge_response_v2,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0  # v2+
    responses: list[ShareAcknowledgeTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
