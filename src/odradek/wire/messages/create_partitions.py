"""Generated from `schemas/create_partitions.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_int32s,
    write_nullable_string,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 37 CreatePartitions

request CreatePartitionsRequest 0-3 flexible 2+
    topics: [CreatePartitionsTopic]
        name: string
        count: int32
        assignments: [CreatePartitionsAssignment]?
            broker_ids: [int32]
    timeout_ms: int32
    validate_only: bool

response CreatePartitionsResponse 0-3 flexible 2+
    throttle_time_ms: int32
    results: [CreatePartitionsTopicResult]
        name: string
        error_code: int16
        error_message: string? = null
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_io: Final = Struct(">i?").unpack_from
_unpack_iot: Final = Struct(">i?B").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_io: Final = Struct(">i?").pack
_pack_iot: Final = Struct(">i?B").pack


@dataclass(slots=True, eq=False, repr=False)
class CreatePartitionsAssignment(Structure):
    """CreatePartitionsRequest.topics[].assignments[]"""

    broker_ids: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class CreatePartitionsTopic(Structure):
    """CreatePartitionsRequest.topics[]"""

    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)


def _read_create_partitions_assignment_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsAssignment)
        count, at = read_count(buffer, at, 4, budget)
        item.broker_ids, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_create_partitions_assignment_v0_array(
    out: bytearray, items: list[CreatePartitionsAssignment]
) -> None:
    for item in items:
        write_count(out, item.broker_ids)
        write_int32s(out, item.broker_ids)


def _read_create_partitions_assignment_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsAssignment)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.broker_ids, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_create_partitions_assignment_v2_array(
    out: bytearray, items: list[CreatePartitionsAssignment]
) -> None:
    for item in items:
        write_compact_count(out, item.broker_ids)
        write_int32s(out, item.broker_ids)
        out.append(0)


def _read_create_partitions_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsTopic)
        item.name, at = read_string(buffer, at)
        (item.count,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_nullable_count(buffer, at, 4, budget)
        if count < 0:
            item.assignments = None
        else:
            item.assignments, at = _read_create_partitions_assignment_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_create_partitions_topic_v0_array(out: bytearray, items: list[CreatePartitionsTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        out += _pack_i(item.count)
        if item.assignments is None:
            out += NULL_INT32
        else:
            write_count(out, item.assignments)
            _write_create_partitions_assignment_v0_array(out, item.assignments)


def _read_create_partitions_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsTopic)
        item.name, at = read_compact_string(buffer, at)
        (item.count,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_nullable_count(buffer, at, 2, budget)
        if count < 0:
            item.assignments = None
        else:
            item.assignments, at = _read_create_partitions_assignment_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_create_partitions_topic_v2_array(out: bytearray, items: list[CreatePartitionsTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_i(item.count)
        if item.assignments is None:
            out.append(0)
        else:
            write_compact_count(out, item.assignments)
            _write_create_partitions_assignment_v2_array(out, item.assignments)
        out.append(0)


def _read_create_partitions_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreatePartitionsRequest, int]:
    item = new(CreatePartitionsRequest)
    count, at = read_count(buffer, at, 10, budget)
    item.topics, at = _read_create_partitions_topic_v0_array(buffer, at, count, budget)
    item.timeout_ms, item.validate_only = _unpack_io(buffer, at)
    at += 5
    return item, at


def _write_create_partitions_request_v0(
    out: bytearray, item: CreatePartitionsRequest, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    _write_create_partitions_topic_v0_array(out, item.topics)
    out += _pack_io(item.timeout_ms, item.validate_only)


def _read_create_partitions_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreatePartitionsRequest, int]:
    item = new(CreatePartitionsRequest)
    count, at = read_compact_count(buffer, at, 7, budget)
    item.topics, at = _read_create_partitions_topic_v2_array(buffer, at, count, budget)
    item.timeout_ms, item.validate_only, tags = _unpack_iot(buffer, at)
    at += 6
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_partitions_request_v2(
    out: bytearray, item: CreatePartitionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    _write_create_partitions_topic_v2_array(out, item.topics)
    out += _pack_iot(item.timeout_ms, item.validate_only, 0)


@dataclass(slots=True, eq=False, repr=False)
class CreatePartitionsRequest(Request["CreatePartitionsResponse"]):
    """Versions 0 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_create_partitions_request_v0,
        1: _read_create_partitions_request_v0,
        2: _read_create_partitions_request_v2,
        3: _read_create_partitions_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_create_partitions_request_v0,
        1: _write_create_partitions_request_v0,
        2: _write_create_partitions_request_v2,
        3: _write_create_partitions_request_v2,
    }

    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int = 0
    validate_only: bool = False


@dataclass(slots=True, eq=False, repr=False)
class CreatePartitionsTopicResult(Structure):
    """CreatePartitionsResponse.results[]"""

    name: str = ""
    error_code: int = 0
    error_message: str | None = None


def _read_create_partitions_topic_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsTopicResult)
        item.name, at = read_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_create_partitions_topic_result_v0_array(
    out: bytearray, items: list[CreatePartitionsTopicResult]
) -> None:
    for item in items:
        write_string(out, item.name)
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)


def _read_create_partitions_topic_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatePartitionsTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(CreatePartitionsTopicResult)
        item.name, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_create_partitions_topic_result_v2_array(
    out: bytearray, items: list[CreatePartitionsTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_create_partitions_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreatePartitionsResponse, int]:
    item = new(CreatePartitionsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.results, at = _read_create_partitions_topic_result_v0_array(buffer, at, count, budget)
    return item, at


def _write_create_partitions_response_v0(
    out: bytearray, item: CreatePartitionsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_create_partitions_topic_result_v0_array(out, item.results)


def _read_create_partitions_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreatePartitionsResponse, int]:
    item = new(CreatePartitionsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_create_partitions_topic_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_partitions_response_v2(
    out: bytearray, item: CreatePartitionsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_create_partitions_topic_result_v2_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class CreatePartitionsResponse(Message):
    """Versions 0 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_create_partitions_response_v0,
        1: _read_create_partitions_response_v0,
        2: _read_create_partitions_response_v2,
        3: _read_create_partitions_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_create_partitions_response_v0,
        1: _write_create_partitions_response_v0,
        2: _write_create_partitions_response_v2,
        3: _write_create_partitions_response_v2,
    }

    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)
