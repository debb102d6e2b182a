"""Generated from `schemas/delete_records.fields` by `odradek.wire.generator`: do not edit."""

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
api 21 DeleteRecords

request DeleteRecordsRequest 0-2 flexible 2+
    topics: [DeleteRecordsTopic]
        name: string
        partitions: [DeleteRecordsPartition]
            partition_index: int32
            offset: int64
    timeout_ms: int32

response DeleteRecordsResponse 0-2 flexible 2+
    throttle_time_ms: int32
    topics: [DeleteRecordsTopicResult]
        name: string
        partitions: [DeleteRecordsPartitionResult]
            partition_index: int32
            low_watermark: int64
            error_code: int16
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqt: Final = Struct(">iqB").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqht: Final = Struct(">iqhB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqt: Final = Struct(">iqB").pack
_pack_iqh: Final = Struct(">iqh").pack
_pack_iqht: Final = Struct(">iqhB").pack


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsPartition(Structure):
    """DeleteRecordsRequest.topics[].partitions[]"""

    partition_index: int = 0
    offset: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsTopic(Structure):
    """DeleteRecordsRequest.topics[]"""

    name: str = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)


def _read_delete_records_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsPartition)
        item.partition_index, item.offset = _unpack_iq(buffer, at)
        at += 12
        items.append(item)
    return items, at


def _write_delete_records_partition_v0_array(out: bytearray, items: list[DeleteRecordsPartition]) -> None:
    for item in items:
        out += _pack_iq(item.partition_index, item.offset)


def _read_delete_records_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsPartition)
        item.partition_index, item.offset, tags = _unpack_iqt(buffer, at)
        at += 13
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_records_partition_v2_array(out: bytearray, items: list[DeleteRecordsPartition]) -> None:
    for item in items:
        out += _pack_iqt(item.partition_index, item.offset, 0)


def _read_delete_records_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 12, budget)
        item.partitions, at = _read_delete_records_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_delete_records_topic_v0_array(out: bytearray, items: list[DeleteRecordsTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_delete_records_partition_v0_array(out, item.partitions)


def _read_delete_records_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 13, budget)
        item.partitions, at = _read_delete_records_partition_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_records_topic_v2_array(out: bytearray, items: list[DeleteRecordsTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_delete_records_partition_v2_array(out, item.partitions)
        out.append(0)


def _read_delete_records_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteRecordsRequest, int]:
    item = new(DeleteRecordsRequest)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_delete_records_topic_v0_array(buffer, at, count, budget)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_delete_records_request_v0(out: bytearray, item: DeleteRecordsRequest, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_delete_records_topic_v0_array(out, item.topics)
    out += _pack_i(item.timeout_ms)


def _read_delete_records_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteRecordsRequest, int]:
    item = new(DeleteRecordsRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_delete_records_topic_v2_array(buffer, at, count, budget)
    item.timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_records_request_v2(out: bytearray, item: DeleteRecordsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.topics)
    _write_delete_records_topic_v2_array(out, item.topics)
    out += _pack_it(item.timeout_ms, 0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsRequest(Request["DeleteRecordsResponse"]):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_delete_records_request_v0,
        1: _read_delete_records_request_v0,
        2: _read_delete_records_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_delete_records_request_v0,
        1: _write_delete_records_request_v0,
        2: _write_delete_records_request_v2,
    }

    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsPartitionResult(Structure):
    """DeleteRecordsResponse.topics[].partitions[]"""

    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsTopicResult(Structure):
    """DeleteRecordsResponse.topics[]"""

    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)


def _read_delete_records_partition_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsPartitionResult)
        item.partition_index, item.low_watermark, item.error_code = _unpack_iqh(buffer, at)
        at += 14
        items.append(item)
    return items, at


def _write_delete_records_partition_result_v0_array(
    out: bytearray, items: list[DeleteRecordsPartitionResult]
) -> None:
    for item in items:
        out += _pack_iqh(item.partition_index, item.low_watermark, item.error_code)


def _read_delete_records_partition_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsPartitionResult)
        item.partition_index, item.low_watermark, item.error_code, tags = _unpack_iqht(buffer, at)
        at += 15
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_records_partition_result_v2_array(
    out: bytearray, items: list[DeleteRecordsPartitionResult]
) -> None:
    for item in items:
        out += _pack_iqht(item.partition_index, item.low_watermark, item.error_code, 0)


def _read_delete_records_topic_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsTopicResult)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.partitions, at = _read_delete_records_partition_result_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_delete_records_topic_result_v0_array(
    out: bytearray, items: list[DeleteRecordsTopicResult]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_delete_records_partition_result_v0_array(out, item.partitions)


def _read_delete_records_topic_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteRecordsTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteRecordsTopicResult)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 15, budget)
        item.partitions, at = _read_delete_records_partition_result_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_records_topic_result_v2_array(
    out: bytearray, items: list[DeleteRecordsTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_delete_records_partition_result_v2_array(out, item.partitions)
        out.append(0)


def _read_delete_records_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteRecordsResponse, int]:
    item = new(DeleteRecordsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_delete_records_topic_result_v0_array(buffer, at, count, budget)
    return item, at


def _write_delete_records_response_v0(
    out: bytearray, item: DeleteRecordsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_delete_records_topic_result_v0_array(out, item.topics)


def _read_delete_records_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteRecordsResponse, int]:
    item = new(DeleteRecordsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_delete_records_topic_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_records_response_v2(
    out: bytearray, item: DeleteRecordsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_delete_records_topic_result_v2_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteRecordsResponse(Message):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_delete_records_response_v0,
        1: _read_delete_records_response_v0,
        2: _read_delete_records_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_delete_records_response_v0,
        1: _write_delete_records_response_v0,
        2: _write_delete_records_response_v2,
    }

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
