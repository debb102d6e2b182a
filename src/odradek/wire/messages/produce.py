"""Generated from `schemas/produce.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_records,
    read_nullable_string,
    read_string,
    read_tag,
    read_tag_count,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_records,
    write_nullable_string,
    write_string,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 0 Produce

request ProduceRequest 3-13 flexible 9+
    transactional_id: string? = null
    acks: int16
    timeout_ms: int32
    topic_data: [TopicProduceData]
        name: string @0-12
        topic_id: uuid @13+
        partition_data: [PartitionProduceData]
            index: int32
            records: records?

response ProduceResponse 3-13 flexible 9+
    responses: [TopicProduceResponse]
        name: string @0-12
        topic_id: uuid @13+
        partition_responses: [PartitionProduceResponse]
            index: int32
            error_code: int16
            base_offset: int64
            log_append_time_ms: int64 = -1
            log_start_offset: int64 @5+ = -1
            record_errors: [BatchIndexAndErrorMessage] @8+
                batch_index: int32
                batch_index_error_message: string? = null
            error_message: string? @8+ = null
            current_leader: LeaderIdAndEpoch @10+ tag 0
                leader_id: int32 = -1
                leader_epoch: int32 = -1
    throttle_time_ms: int32
    node_endpoints: [NodeEndpoint] @10+ tag 0
        node_id: int32
        host: string
        port: int32
        rack: string? = null
"""


_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqq: Final = Struct(">ihqqq").unpack_from
_unpack_iit: Final = Struct(">iiB").unpack_from
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_iit: Final = Struct(">iiB").pack


@dataclass(slots=True, eq=False, repr=False)
class PartitionProduceData(Structure):
    """ProduceRequest.topic_data[].partition_data[]"""

    index: int = 0
    records: Buffer | None = None


@dataclass(slots=True, eq=False, repr=False)
class TopicProduceData(Structure):
    """ProduceRequest.topic_data[]"""

    name: str = ""  # up to v12
    topic_id: UUID = NO_TOPIC_ID  # v13+
    partition_data: list[PartitionProduceData] = field(default_factory=list)


def _read_partition_produce_data_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceData)
        (item.index,) = _unpack_i(buffer, at)
        at += 4
        item.records, at = read_nullable_records(buffer, at)
        items.append(item)
    return items, at


def _write_partition_produce_data_v3_array(
    out: bytearray, items: list[PartitionProduceData], payloads: Payloads
) -> None:
    for item in items:
        out += _pack_i(item.index)
        write_nullable_records(out, item.records, payloads)


def _read_partition_produce_data_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceData)
        (item.index,) = _unpack_i(buffer, at)
        at += 4
        item.records, at = read_compact_nullable_records(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_produce_data_v9_array(
    out: bytearray, items: list[PartitionProduceData], payloads: Payloads
) -> None:
    for item in items:
        out += _pack_i(item.index)
        write_compact_nullable_records(out, item.records, payloads)
        out.append(0)


def _read_topic_produce_data_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceData], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceData)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 8, budget)
        item.partition_data, at = _read_partition_produce_data_v3_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_topic_produce_data_v3_array(
    out: bytearray, items: list[TopicProduceData], payloads: Payloads
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partition_data)
        _write_partition_produce_data_v3_array(out, item.partition_data, payloads)


def _read_topic_produce_data_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceData], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceData)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partition_data, at = _read_partition_produce_data_v9_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_produce_data_v9_array(
    out: bytearray, items: list[TopicProduceData], payloads: Payloads
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_data)
        _write_partition_produce_data_v9_array(out, item.partition_data, payloads)
        out.append(0)


def _read_topic_produce_data_v13_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceData], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceData)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partition_data, at = _read_partition_produce_data_v9_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_produce_data_v13_array(
    out: bytearray, items: list[TopicProduceData], payloads: Payloads
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_data)
        _write_partition_produce_data_v9_array(out, item.partition_data, payloads)
        out.append(0)


def _read_produce_request_v3(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceRequest, int]:
    item = new(ProduceRequest)
    item.transactional_id, at = read_nullable_string(buffer, at)
    item.acks, item.timeout_ms = _unpack_hi(buffer, at)
    at += 6
    count, at = read_count(buffer, at, 6, budget)
    item.topic_data, at = _read_topic_produce_data_v3_array(buffer, at, count, budget)
    return item, at


def _write_produce_request_v3(out: bytearray, item: ProduceRequest, payloads: Payloads) -> None:
    write_nullable_string(out, item.transactional_id)
    out += _pack_hi(item.acks, item.timeout_ms)
    write_count(out, item.topic_data)
    _write_topic_produce_data_v3_array(out, item.topic_data, payloads)


def _read_produce_request_v9(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceRequest, int]:
    item = new(ProduceRequest)
    item.transactional_id, at = read_compact_nullable_string(buffer, at)
    item.acks, item.timeout_ms = _unpack_hi(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topic_data, at = _read_topic_produce_data_v9_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_produce_request_v9(out: bytearray, item: ProduceRequest, payloads: Payloads) -> None:
    write_compact_nullable_string(out, item.transactional_id)
    out += _pack_hi(item.acks, item.timeout_ms)
    write_compact_count(out, item.topic_data)
    _write_topic_produce_data_v9_array(out, item.topic_data, payloads)
    out.append(0)


def _read_produce_request_v13(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceRequest, int]:
    item = new(ProduceRequest)
    item.transactional_id, at = read_compact_nullable_string(buffer, at)
    item.acks, item.timeout_ms = _unpack_hi(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topic_data, at = _read_topic_produce_data_v13_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_produce_request_v13(out: bytearray, item: ProduceRequest, payloads: Payloads) -> None:
    write_compact_nullable_string(out, item.transactional_id)
    out += _pack_hi(item.acks, item.timeout_ms)
    write_compact_count(out, item.topic_data)
    _write_topic_produce_data_v13_array(out, item.topic_data, payloads)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ProduceRequest(Request["ProduceResponse"]):
    """Versions 3 to 13, flexible from 9."""

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[Versions] = Versions(3, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        3: _read_produce_request_v3,
        4: _read_produce_request_v3,
        5: _read_produce_request_v3,
        6: _read_produce_request_v3,
        7: _read_produce_request_v3,
        8: _read_produce_request_v3,
        9: _read_produce_request_v9,
        10: _read_produce_request_v9,
        11: _read_produce_request_v9,
        12: _read_produce_request_v9,
        13: _read_produce_request_v13,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        3: _write_produce_request_v3,
        4: _write_produce_request_v3,
        5: _write_produce_request_v3,
        6: _write_produce_request_v3,
        7: _write_produce_request_v3,
        8: _write_produce_request_v3,
        9: _write_produce_request_v9,
        10: _write_produce_request_v9,
        11: _write_produce_request_v9,
        12: _write_produce_request_v9,
        13: _write_produce_request_v13,
    }

    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class BatchIndexAndErrorMessage(Structure):
    """ProduceResponse.responses[].partition_responses[].record_errors[]"""

    batch_index: int = 0
    batch_index_error_message: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class LeaderIdAndEpoch(Structure):
    """ProduceResponse.responses[].partition_responses[].current_leader"""

    leader_id: int = -1
    leader_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class PartitionProduceResponse(Structure):
    """ProduceResponse.responses[].partition_responses[]"""

    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1  # v5+
    record_errors: list[BatchIndexAndErrorMessage] = field(default_factory=list)  # v8+
    error_message: str | None = None  # v8+
    current_leader: LeaderIdAndEpoch | None = None  # v10+


@dataclass(slots=True, eq=False, repr=False)
class TopicProduceResponse(Structure):
    """ProduceResponse.responses[]"""

    name: str = ""  # up to v12
    topic_id: UUID = NO_TOPIC_ID  # v13+
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class NodeEndpoint(Structure):
    """ProduceResponse.node_endpoints[]"""

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


def _read_batch_index_and_error_message_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items = []
    for _ in range(elements):
        item = new(BatchIndexAndErrorMessage)
        (item.batch_index,) = _unpack_i(buffer, at)
        at += 4
        item.batch_index_error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_batch_index_and_error_message_v8_array(
    out: bytearray, items: list[BatchIndexAndErrorMessage]
) -> None:
    for item in items:
        out += _pack_i(item.batch_index)
        write_nullable_string(out, item.batch_index_error_message)


def _read_batch_index_and_error_message_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items = []
    for _ in range(elements):
        item = new(BatchIndexAndErrorMessage)
        (item.batch_index,) = _unpack_i(buffer, at)
        at += 4
        item.batch_index_error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_batch_index_and_error_message_v9_array(
    out: bytearray, items: list[BatchIndexAndErrorMessage]
) -> None:
    for item in items:
        out += _pack_i(item.batch_index)
        write_compact_nullable_string(out, item.batch_index_error_message)
        out.append(0)


def _read_leader_id_and_epoch_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaderIdAndEpoch, int]:
    item = new(LeaderIdAndEpoch)
    item.leader_id, item.leader_epoch, tags = _unpack_iit(buffer, at)
    at += 9
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leader_id_and_epoch_v10(out: bytearray, item: LeaderIdAndEpoch) -> None:
    out += _pack_iit(item.leader_id, item.leader_epoch, 0)


def _read_partition_produce_response_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceResponse)
        item.log_start_offset = -1
        item.record_errors = []
        item.error_message = None
        item.current_leader = None
        item.index, item.error_code, item.base_offset, item.log_append_time_ms = _unpack_ihqq(buffer, at)
        at += 22
        items.append(item)
    return items, at


def _write_partition_produce_response_v3_array(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    for item in items:
        out += _pack_ihqq(item.index, item.error_code, item.base_offset, item.log_append_time_ms)


def _read_partition_produce_response_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceResponse)
        item.record_errors = []
        item.error_message = None
        item.current_leader = None
        item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset = (
            _unpack_ihqqq(buffer, at)
        )
        at += 30
        items.append(item)
    return items, at


def _write_partition_produce_response_v5_array(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )


def _read_partition_produce_response_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceResponse)
        item.current_leader = None
        item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset = (
            _unpack_ihqqq(buffer, at)
        )
        at += 30
        count, at = read_count(buffer, at, 6, budget)
        item.record_errors, at = _read_batch_index_and_error_message_v8_array(buffer, at, count, budget)
        item.error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_partition_produce_response_v8_array(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )
        write_count(out, item.record_errors)
        _write_batch_index_and_error_message_v8_array(out, item.record_errors)
        write_nullable_string(out, item.error_message)


def _read_partition_produce_response_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceResponse)
        item.current_leader = None
        item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset = (
            _unpack_ihqqq(buffer, at)
        )
        at += 30
        count, at = read_compact_count(buffer, at, 6, budget)
        item.record_errors, at = _read_batch_index_and_error_message_v9_array(buffer, at, count, budget)
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_produce_response_v9_array(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )
        write_compact_count(out, item.record_errors)
        _write_batch_index_and_error_message_v9_array(out, item.record_errors)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_partition_produce_response_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionProduceResponse)
        item.current_leader = None
        item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset = (
            _unpack_ihqqq(buffer, at)
        )
        at += 30
        count, at = read_compact_count(buffer, at, 6, budget)
        item.record_errors, at = _read_batch_index_and_error_message_v9_array(buffer, at, count, budget)
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    item.current_leader, at = _read_leader_id_and_epoch_v10(buffer, at, budget)
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_partition_produce_response_v10_array(
    out: bytearray, items: list[PartitionProduceResponse]
) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )
        write_compact_count(out, item.record_errors)
        _write_batch_index_and_error_message_v9_array(out, item.record_errors)
        write_compact_nullable_string(out, item.error_message)
        tags = item.current_leader is not None
        out.append(tags)
        if tags:
            if item.current_leader is not None:
                value = bytearray()
                _write_leader_id_and_epoch_v10(value, item.current_leader)
                write_tag(out, 0, value)


def _read_topic_produce_response_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 22, budget)
        item.partition_responses, at = _read_partition_produce_response_v3_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v3_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partition_responses)
        _write_partition_produce_response_v3_array(out, item.partition_responses)


def _read_topic_produce_response_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 30, budget)
        item.partition_responses, at = _read_partition_produce_response_v5_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v5_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partition_responses)
        _write_partition_produce_response_v5_array(out, item.partition_responses)


def _read_topic_produce_response_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 36, budget)
        item.partition_responses, at = _read_partition_produce_response_v8_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v8_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partition_responses)
        _write_partition_produce_response_v8_array(out, item.partition_responses)


def _read_topic_produce_response_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partition_responses, at = _read_partition_produce_response_v9_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v9_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_responses)
        _write_partition_produce_response_v9_array(out, item.partition_responses)
        out.append(0)


def _read_topic_produce_response_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partition_responses, at = _read_partition_produce_response_v10_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v10_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_responses)
        _write_partition_produce_response_v10_array(out, item.partition_responses)
        out.append(0)


def _read_topic_produce_response_v13_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicProduceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicProduceResponse)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partition_responses, at = _read_partition_produce_response_v10_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_produce_response_v13_array(out: bytearray, items: list[TopicProduceResponse]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_responses)
        _write_partition_produce_response_v10_array(out, item.partition_responses)
        out.append(0)


def _read_node_endpoint_v10_array(
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


def _write_node_endpoint_v10_array(out: bytearray, items: list[NodeEndpoint]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out.append(0)


def _read_produce_response_v3(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_topic_produce_response_v3_array(buffer, at, count, budget)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_produce_response_v3(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_count(out, item.responses)
    _write_topic_produce_response_v3_array(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_produce_response_v5(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_topic_produce_response_v5_array(buffer, at, count, budget)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_produce_response_v5(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_count(out, item.responses)
    _write_topic_produce_response_v5_array(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_produce_response_v8(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_topic_produce_response_v8_array(buffer, at, count, budget)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_produce_response_v8(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_count(out, item.responses)
    _write_topic_produce_response_v8_array(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_produce_response_v9(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_compact_count(buffer, at, 3, budget)
    item.responses, at = _read_topic_produce_response_v9_array(buffer, at, count, budget)
    item.throttle_time_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_produce_response_v9(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_compact_count(out, item.responses)
    _write_topic_produce_response_v9_array(out, item.responses)
    out += _pack_it(item.throttle_time_ms, 0)


def _read_produce_response_v10(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_compact_count(buffer, at, 3, budget)
    item.responses, at = _read_topic_produce_response_v10_array(buffer, at, count, budget)
    item.throttle_time_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_count(buffer, at, 11, budget)
                item.node_endpoints, at = _read_node_endpoint_v10_array(buffer, at, count, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_produce_response_v10(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_compact_count(out, item.responses)
    _write_topic_produce_response_v10_array(out, item.responses)
    out += _pack_i(item.throttle_time_ms)
    tags = len(item.node_endpoints) > 0
    out.append(tags)
    if tags:
        if len(item.node_endpoints) > 0:
            value = bytearray()
            write_compact_count(value, item.node_endpoints)
            _write_node_endpoint_v10_array(value, item.node_endpoints)
            write_tag(out, 0, value)


def _read_produce_response_v13(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ProduceResponse, int]:
    item = new(ProduceResponse)
    item.node_endpoints = []
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_topic_produce_response_v13_array(buffer, at, count, budget)
    item.throttle_time_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_count(buffer, at, 11, budget)
                item.node_endpoints, at = _read_node_endpoint_v10_array(buffer, at, count, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_produce_response_v13(out: bytearray, item: ProduceResponse, payloads: Payloads) -> None:
    write_compact_count(out, item.responses)
    _write_topic_produce_response_v13_array(out, item.responses)
    out += _pack_i(item.throttle_time_ms)
    tags = len(item.node_endpoints) > 0
    out.append(tags)
    if tags:
        if len(item.node_endpoints) > 0:
            value = bytearray()
            write_compact_count(value, item.node_endpoints)
            _write_node_endpoint_v10_array(value, item.node_endpoints)
            write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class ProduceResponse(Message):
    """Versions 3 to 13, flexible from 9."""

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[Versions] = Versions(3, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        3: _read_produce_response_v3,
        4: _read_produce_response_v3,
        5: _read_produce_response_v5,
        6: _read_produce_response_v5,
        7: _read_produce_response_v5,
        8: _read_produce_response_v8,
        9: _read_produce_response_v9,
        10: _read_produce_response_v10,
        11: _read_produce_response_v10,
        12: _read_produce_response_v10,
        13: _read_produce_response_v13,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        3: _write_produce_response_v3,
        4: _write_produce_response_v3,
        5: _write_produce_response_v5,
        6: _write_produce_response_v5,
        7: _write_produce_response_v5,
        8: _write_produce_response_v8,
        9: _write_produce_response_v9,
        10: _write_produce_response_v10,
        11: _write_produce_response_v10,
        12: _write_produce_response_v10,
        13: _write_produce_response_v13,
    }

    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)  # v10+
