"""Generated from `schemas/describe_producers.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 61 DescribeProducers

request DescribeProducersRequest 0 flexible 0+
    topics: [TopicRequest]
        name: string
        partition_indexes: [int32]

response DescribeProducersResponse 0 flexible 0+
    throttle_time_ms: int32
    topics: [TopicResponse]
        name: string
        partitions: [PartitionResponse]
            partition_index: int32
            error_code: int16
            error_message: string? = null
            active_producers: [ProducerState]
                producer_id: int64
                producer_epoch: int32
                last_sequence: int32 = -1
                last_timestamp: int64 = -1
                coordinator_epoch: int32
                current_txn_start_offset: int64 = -1
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_qiiqiqt: Final = Struct(">qiiqiqB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_qiiqiqt: Final = Struct(">qiiqiqB").pack


@dataclass(slots=True, eq=False, repr=False)
class TopicRequest(Structure):
    """DescribeProducersRequest.topics[]"""

    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)


def _read_topic_request_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicRequest], int]:
    items = []
    for _ in range(elements):
        item = new(TopicRequest)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_request_v0_array(out: bytearray, items: list[TopicRequest]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_describe_producers_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeProducersRequest, int]:
    item = new(DescribeProducersRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_request_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_producers_request_v0(
    out: bytearray, item: DescribeProducersRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    _write_topic_request_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeProducersRequest(Request["DescribeProducersResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_producers_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_producers_request_v0}

    topics: list[TopicRequest] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ProducerState(Structure):
    """DescribeProducersResponse.topics[].partitions[].active_producers[]"""

    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1


@dataclass(slots=True, eq=False, repr=False)
class PartitionResponse(Structure):
    """DescribeProducersResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TopicResponse(Structure):
    """DescribeProducersResponse.topics[]"""

    name: str = ""
    partitions: list[PartitionResponse] = field(default_factory=list)


def _read_producer_state_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ProducerState], int]:
    items = []
    for _ in range(elements):
        item = new(ProducerState)
        (
            item.producer_id,
            item.producer_epoch,
            item.last_sequence,
            item.last_timestamp,
            item.coordinator_epoch,
            item.current_txn_start_offset,
            tags,
        ) = _unpack_qiiqiqt(buffer, at)
        at += 37
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_producer_state_v0_array(out: bytearray, items: list[ProducerState]) -> None:
    for item in items:
        out += _pack_qiiqiqt(
            item.producer_id,
            item.producer_epoch,
            item.last_sequence,
            item.last_timestamp,
            item.coordinator_epoch,
            item.current_txn_start_offset,
            0,
        )


def _read_partition_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionResponse)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        count, at = read_compact_count(buffer, at, 37, budget)
        item.active_producers, at = _read_producer_state_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_response_v0_array(out: bytearray, items: list[PartitionResponse]) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_count(out, item.active_producers)
        _write_producer_state_v0_array(out, item.active_producers)
        out.append(0)


def _read_topic_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicResponse)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 9, budget)
        item.partitions, at = _read_partition_response_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_response_v0_array(out: bytearray, items: list[TopicResponse]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_partition_response_v0_array(out, item.partitions)
        out.append(0)


def _read_describe_producers_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeProducersResponse, int]:
    item = new(DescribeProducersResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_response_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_producers_response_v0(
    out: bytearray, item: DescribeProducersResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_topic_response_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeProducersResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_producers_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_producers_response_v0}

    throttle_time_ms: int = 0
    topics: list[TopicResponse] = field(default_factory=list)
