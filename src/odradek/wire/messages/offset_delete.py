"""Generated from `schemas/offset_delete.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, read_count, read_string
from odradek.wire.encoding import Payloads, write_count, write_string
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
api 47 OffsetDelete

request OffsetDeleteRequest 0
    group_id: string
    topics: [OffsetDeleteRequestTopic]
        name: string
        partitions: [OffsetDeleteRequestPartition]
            partition_index: int32

response OffsetDeleteResponse 0
    error_code: int16
    throttle_time_ms: int32
    topics: [OffsetDeleteResponseTopic]
        name: string
        partitions: [OffsetDeleteResponsePartition]
            partition_index: int32
            error_code: int16
"""


_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteRequestPartition(Structure):
    """OffsetDeleteRequest.topics[].partitions[]"""

    partition_index: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteRequestTopic(Structure):
    """OffsetDeleteRequest.topics[]"""

    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)


def _read_offset_delete_request_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetDeleteRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetDeleteRequestPartition)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        items.append(item)
    return items, at


def _write_offset_delete_request_partition_v0_array(
    out: bytearray, items: list[OffsetDeleteRequestPartition]
) -> None:
    for item in items:
        out += _pack_i(item.partition_index)


def _read_offset_delete_request_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetDeleteRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetDeleteRequestTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = _read_offset_delete_request_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_delete_request_topic_v0_array(
    out: bytearray, items: list[OffsetDeleteRequestTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_delete_request_partition_v0_array(out, item.partitions)


def _read_offset_delete_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetDeleteRequest, int]:
    item = new(OffsetDeleteRequest)
    item.group_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_delete_request_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_offset_delete_request_v0(out: bytearray, item: OffsetDeleteRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    write_count(out, item.topics)
    _write_offset_delete_request_topic_v0_array(out, item.topics)


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteRequest(Request["OffsetDeleteResponse"]):
    """Version 0."""

    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_offset_delete_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_offset_delete_request_v0}

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteResponsePartition(Structure):
    """OffsetDeleteResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteResponseTopic(Structure):
    """OffsetDeleteResponse.topics[]"""

    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)


def _read_offset_delete_response_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetDeleteResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetDeleteResponsePartition)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_offset_delete_response_partition_v0_array(
    out: bytearray, items: list[OffsetDeleteResponsePartition]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)


def _read_offset_delete_response_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetDeleteResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetDeleteResponseTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.partitions, at = _read_offset_delete_response_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_delete_response_topic_v0_array(
    out: bytearray, items: list[OffsetDeleteResponseTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_delete_response_partition_v0_array(out, item.partitions)


def _read_offset_delete_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetDeleteResponse, int]:
    item = new(OffsetDeleteResponse)
    item.error_code, item.throttle_time_ms = _unpack_hi(buffer, at)
    at += 6
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_delete_response_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_offset_delete_response_v0(out: bytearray, item: OffsetDeleteResponse, payloads: Payloads) -> None:
    out += _pack_hi(item.error_code, item.throttle_time_ms)
    write_count(out, item.topics)
    _write_offset_delete_response_topic_v0_array(out, item.topics)


@dataclass(slots=True, eq=False, repr=False)
class OffsetDeleteResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_offset_delete_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_offset_delete_response_v0}

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)
