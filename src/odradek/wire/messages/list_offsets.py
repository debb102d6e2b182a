"""Generated from `schemas/list_offsets.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_string,
    read_count,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 2 ListOffsets

request ListOffsetsRequest 1-11 flexible 6+
    replica_id: int32
    isolation_level: int8 @2+
    topics: [ListOffsetsTopic]
        name: string
        partitions: [ListOffsetsPartition]
            partition_index: int32
            current_leader_epoch: int32 @4+ = -1
            timestamp: int64
    timeout_ms: int32 @10+

response ListOffsetsResponse 1-11 flexible 6+
    throttle_time_ms: int32 @2+
    topics: [ListOffsetsTopicResponse]
        name: string
        partitions: [ListOffsetsPartitionResponse]
            partition_index: int32
            error_code: int16
            timestamp: int64 = -1
            offset: int64 = -1
            leader_epoch: int32 @4+ = -1
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ib: Final = Struct(">ib").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqi: Final = Struct(">ihqqi").unpack_from
_unpack_ihqqit: Final = Struct(">ihqqiB").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iiqt: Final = Struct(">iiqB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ib: Final = Struct(">ib").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqi: Final = Struct(">ihqqi").pack
_pack_ihqqit: Final = Struct(">ihqqiB").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqt: Final = Struct(">iiqB").pack
_pack_iq: Final = Struct(">iq").pack


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsPartition(Structure):
    """ListOffsetsRequest.topics[].partitions[]"""

    partition_index: int = 0
    current_leader_epoch: int = -1  # v4+
    timestamp: int = 0


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsTopic(Structure):
    """ListOffsetsRequest.topics[]"""

    name: str = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)


def _read_list_offsets_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartition)
        item.current_leader_epoch = -1
        item.partition_index, item.timestamp = _unpack_iq(buffer, at)
        at += 12
        items.append(item)
    return items, at


def _write_list_offsets_partition_v1_array(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    for item in items:
        out += _pack_iq(item.partition_index, item.timestamp)


def _read_list_offsets_partition_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartition)
        item.partition_index, item.current_leader_epoch, item.timestamp = _unpack_iiq(buffer, at)
        at += 16
        items.append(item)
    return items, at


def _write_list_offsets_partition_v4_array(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    for item in items:
        out += _pack_iiq(item.partition_index, item.current_leader_epoch, item.timestamp)


def _read_list_offsets_partition_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartition)
        item.partition_index, item.current_leader_epoch, item.timestamp, tags = _unpack_iiqt(buffer, at)
        at += 17
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_list_offsets_partition_v6_array(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    for item in items:
        out += _pack_iiqt(item.partition_index, item.current_leader_epoch, item.timestamp, 0)


def _read_list_offsets_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 12, budget)
        item.partitions, at = _read_list_offsets_partition_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_v1_array(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_list_offsets_partition_v1_array(out, item.partitions)


def _read_list_offsets_topic_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 16, budget)
        item.partitions, at = _read_list_offsets_partition_v4_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_v4_array(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_list_offsets_partition_v4_array(out, item.partitions)


def _read_list_offsets_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 17, budget)
        item.partitions, at = _read_list_offsets_partition_v6_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_v6_array(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_list_offsets_partition_v6_array(out, item.partitions)
        out.append(0)


def _read_list_offsets_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsRequest, int]:
    item = new(ListOffsetsRequest)
    item.isolation_level = 0
    item.timeout_ms = 0
    (item.replica_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_request_v1(out: bytearray, item: ListOffsetsRequest, payloads: Payloads) -> None:
    out += _pack_i(item.replica_id)
    write_count(out, item.topics)
    _write_list_offsets_topic_v1_array(out, item.topics)


def _read_list_offsets_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsRequest, int]:
    item = new(ListOffsetsRequest)
    item.timeout_ms = 0
    item.replica_id, item.isolation_level = _unpack_ib(buffer, at)
    at += 5
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_request_v2(out: bytearray, item: ListOffsetsRequest, payloads: Payloads) -> None:
    out += _pack_ib(item.replica_id, item.isolation_level)
    write_count(out, item.topics)
    _write_list_offsets_topic_v1_array(out, item.topics)


def _read_list_offsets_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsRequest, int]:
    item = new(ListOffsetsRequest)
    item.timeout_ms = 0
    item.replica_id, item.isolation_level = _unpack_ib(buffer, at)
    at += 5
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_v4_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_request_v4(out: bytearray, item: ListOffsetsRequest, payloads: Payloads) -> None:
    out += _pack_ib(item.replica_id, item.isolation_level)
    write_count(out, item.topics)
    _write_list_offsets_topic_v4_array(out, item.topics)


def _read_list_offsets_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsRequest, int]:
    item = new(ListOffsetsRequest)
    item.timeout_ms = 0
    item.replica_id, item.isolation_level = _unpack_ib(buffer, at)
    at += 5
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_list_offsets_topic_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_offsets_request_v6(out: bytearray, item: ListOffsetsRequest, payloads: Payloads) -> None:
    out += _pack_ib(item.replica_id, item.isolation_level)
    write_compact_count(out, item.topics)
    _write_list_offsets_topic_v6_array(out, item.topics)
    out.append(0)


def _read_list_offsets_request_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsRequest, int]:
    item = new(ListOffsetsRequest)
    item.replica_id, item.isolation_level = _unpack_ib(buffer, at)
    at += 5
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_list_offsets_topic_v6_array(buffer, at, count, budget)
    item.timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_offsets_request_v10(out: bytearray, item: ListOffsetsRequest, payloads: Payloads) -> None:
    out += _pack_ib(item.replica_id, item.isolation_level)
    write_compact_count(out, item.topics)
    _write_list_offsets_topic_v6_array(out, item.topics)
    out += _pack_it(item.timeout_ms, 0)


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsRequest(Request["ListOffsetsResponse"]):
    """Versions 1 to 11, flexible from 6."""

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[Versions] = Versions(1, 11)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_list_offsets_request_v1,
        2: _read_list_offsets_request_v2,
        3: _read_list_offsets_request_v2,
        4: _read_list_offsets_request_v4,
        5: _read_list_offsets_request_v4,
        6: _read_list_offsets_request_v6,
        7: _read_list_offsets_request_v6,
        8: _read_list_offsets_request_v6,
        9: _read_list_offsets_request_v6,
        10: _read_list_offsets_request_v10,
        11: _read_list_offsets_request_v10,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_list_offsets_request_v1,
        2: _write_list_offsets_request_v2,
        3: _write_list_offsets_request_v2,
        4: _write_list_offsets_request_v4,
        5: _write_list_offsets_request_v4,
        6: _write_list_offsets_request_v6,
        7: _write_list_offsets_request_v6,
        8: _write_list_offsets_request_v6,
        9: _write_list_offsets_request_v6,
        10: _write_list_offsets_request_v10,
        11: _write_list_offsets_request_v10,
    }

    replica_id: int = 0
    isolation_level: int = 0  # v2+
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int = 0  # v10+


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsPartitionResponse(Structure):
    """ListOffsetsResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # v4+


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsTopicResponse(Structure):
    """ListOffsetsResponse.topics[]"""

    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)


def _read_list_offsets_partition_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartitionResponse)
        item.leader_epoch = -1
        item.partition_index, item.error_code, item.timestamp, item.offset = _unpack_ihqq(buffer, at)
        at += 22
        items.append(item)
    return items, at


def _write_list_offsets_partition_response_v1_array(
    out: bytearray, items: list[ListOffsetsPartitionResponse]
) -> None:
    for item in items:
        out += _pack_ihqq(item.partition_index, item.error_code, item.timestamp, item.offset)


def _read_list_offsets_partition_response_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartitionResponse)
        item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch = _unpack_ihqqi(
            buffer, at
        )
        at += 26
        items.append(item)
    return items, at


def _write_list_offsets_partition_response_v4_array(
    out: bytearray, items: list[ListOffsetsPartitionResponse]
) -> None:
    for item in items:
        out += _pack_ihqqi(
            item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch
        )


def _read_list_offsets_partition_response_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsPartitionResponse)
        item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch, tags = (
            _unpack_ihqqit(buffer, at)
        )
        at += 27
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_list_offsets_partition_response_v6_array(
    out: bytearray, items: list[ListOffsetsPartitionResponse]
) -> None:
    for item in items:
        out += _pack_ihqqit(
            item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch, 0
        )


def _read_list_offsets_topic_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopicResponse)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 22, budget)
        item.partitions, at = _read_list_offsets_partition_response_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_response_v1_array(
    out: bytearray, items: list[ListOffsetsTopicResponse]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_list_offsets_partition_response_v1_array(out, item.partitions)


def _read_list_offsets_topic_response_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopicResponse)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 26, budget)
        item.partitions, at = _read_list_offsets_partition_response_v4_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_response_v4_array(
    out: bytearray, items: list[ListOffsetsTopicResponse]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_list_offsets_partition_response_v4_array(out, item.partitions)


def _read_list_offsets_topic_response_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListOffsetsTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ListOffsetsTopicResponse)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 27, budget)
        item.partitions, at = _read_list_offsets_partition_response_v6_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_list_offsets_topic_response_v6_array(
    out: bytearray, items: list[ListOffsetsTopicResponse]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_list_offsets_partition_response_v6_array(out, item.partitions)
        out.append(0)


def _read_list_offsets_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsResponse, int]:
    item = new(ListOffsetsResponse)
    item.throttle_time_ms = 0
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_response_v1_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_response_v1(out: bytearray, item: ListOffsetsResponse, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_list_offsets_topic_response_v1_array(out, item.topics)


def _read_list_offsets_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsResponse, int]:
    item = new(ListOffsetsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_response_v1_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_response_v2(out: bytearray, item: ListOffsetsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_list_offsets_topic_response_v1_array(out, item.topics)


def _read_list_offsets_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsResponse, int]:
    item = new(ListOffsetsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_list_offsets_topic_response_v4_array(buffer, at, count, budget)
    return item, at


def _write_list_offsets_response_v4(out: bytearray, item: ListOffsetsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_list_offsets_topic_response_v4_array(out, item.topics)


def _read_list_offsets_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListOffsetsResponse, int]:
    item = new(ListOffsetsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_list_offsets_topic_response_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_offsets_response_v6(out: bytearray, item: ListOffsetsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_list_offsets_topic_response_v6_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListOffsetsResponse(Message):
    """Versions 1 to 11, flexible from 6."""

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[Versions] = Versions(1, 11)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_list_offsets_response_v1,
        2: _read_list_offsets_response_v2,
        3: _read_list_offsets_response_v2,
        4: _read_list_offsets_response_v4,
        5: _read_list_offsets_response_v4,
        6: _read_list_offsets_response_v6,
        7: _read_list_offsets_response_v6,
        8: _read_list_offsets_response_v6,
        9: _read_list_offsets_response_v6,
        10: _read_list_offsets_response_v6,
        11: _read_list_offsets_response_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_list_offsets_response_v1,
        2: _write_list_offsets_response_v2,
        3: _write_list_offsets_response_v2,
        4: _write_list_offsets_response_v4,
        5: _write_list_offsets_response_v4,
        6: _write_list_offsets_response_v6,
        7: _write_list_offsets_response_v6,
        8: _write_list_offsets_response_v6,
        9: _write_list_offsets_response_v6,
        10: _write_list_offsets_response_v6,
        11: _write_list_offsets_response_v6,
    }

    throttle_time_ms: int = 0  # v2+
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
