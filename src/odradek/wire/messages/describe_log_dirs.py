"""Generated from `schemas/describe_log_dirs.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_string,
    write_count,
    write_int32s,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 35 DescribeLogDirs

request DescribeLogDirsRequest 1-5 flexible 2+
    topics: [DescribableLogDirTopic]?
        topic: string
        partitions: [int32]

response DescribeLogDirsResponse 1-5 flexible 2+
    throttle_time_ms: int32
    error_code: int16 @3+
    results: [DescribeLogDirsResult]
        error_code: int16
        log_dir: string
        topics: [DescribeLogDirsTopic]
            name: string
            partitions: [DescribeLogDirsPartition]
                partition_index: int32
                partition_size: int64
                offset_lag: int64
                is_future_key: bool
        total_bytes: int64 @4+ = -1
        usable_bytes: int64 @4+ = -1
        is_cordoned: bool @5+
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iqqo: Final = Struct(">iqq?").unpack_from
_unpack_iqqot: Final = Struct(">iqq?B").unpack_from
_unpack_qqot: Final = Struct(">qq?B").unpack_from
_unpack_qqt: Final = Struct(">qqB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iqqo: Final = Struct(">iqq?").pack
_pack_iqqot: Final = Struct(">iqq?B").pack
_pack_qqot: Final = Struct(">qq?B").pack
_pack_qqt: Final = Struct(">qqB").pack


@dataclass(slots=True, eq=False, repr=False)
class DescribableLogDirTopic(Structure):
    """DescribeLogDirsRequest.topics[]"""

    topic: str = ""
    partitions: list[int] = field(default_factory=list)


def _read_describable_log_dir_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribableLogDirTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DescribableLogDirTopic)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_describable_log_dir_topic_v1_array(out: bytearray, items: list[DescribableLogDirTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_describable_log_dir_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribableLogDirTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DescribableLogDirTopic)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describable_log_dir_topic_v2_array(out: bytearray, items: list[DescribableLogDirTopic]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_describe_log_dirs_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsRequest, int]:
    item = new(DescribeLogDirsRequest)
    count, at = read_nullable_count(buffer, at, 6, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_describable_log_dir_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_describe_log_dirs_request_v1(
    out: bytearray, item: DescribeLogDirsRequest, payloads: Payloads
) -> None:
    if item.topics is None:
        out += NULL_INT32
    else:
        write_count(out, item.topics)
        _write_describable_log_dir_topic_v1_array(out, item.topics)


def _read_describe_log_dirs_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsRequest, int]:
    item = new(DescribeLogDirsRequest)
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_describable_log_dir_topic_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_log_dirs_request_v2(
    out: bytearray, item: DescribeLogDirsRequest, payloads: Payloads
) -> None:
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_describable_log_dir_topic_v2_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeLogDirsRequest(Request["DescribeLogDirsResponse"]):
    """Versions 1 to 5, flexible from 2."""

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[Versions] = Versions(1, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_describe_log_dirs_request_v1,
        2: _read_describe_log_dirs_request_v2,
        3: _read_describe_log_dirs_request_v2,
        4: _read_describe_log_dirs_request_v2,
        5: _read_describe_log_dirs_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_describe_log_dirs_request_v1,
        2: _write_describe_log_dirs_request_v2,
        3: _write_describe_log_dirs_request_v2,
        4: _write_describe_log_dirs_request_v2,
        5: _write_describe_log_dirs_request_v2,
    }

    topics: list[DescribableLogDirTopic] | None = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class DescribeLogDirsPartition(Structure):
    """DescribeLogDirsResponse.results[].topics[].partitions[]"""

    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False


@dataclass(slots=True, eq=False, repr=False)
class DescribeLogDirsTopic(Structure):
    """DescribeLogDirsResponse.results[].topics[]"""

    name: str = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class DescribeLogDirsResult(Structure):
    """DescribeLogDirsResponse.results[]"""

    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: int = -1  # v4+
    usable_bytes: int = -1  # v4+
    is_cordoned: bool = False  # v5+


def _read_describe_log_dirs_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsPartition)
        item.partition_index, item.partition_size, item.offset_lag, item.is_future_key = _unpack_iqqo(
            buffer, at
        )
        at += 21
        items.append(item)
    return items, at


def _write_describe_log_dirs_partition_v1_array(
    out: bytearray, items: list[DescribeLogDirsPartition]
) -> None:
    for item in items:
        out += _pack_iqqo(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)


def _read_describe_log_dirs_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsPartition], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsPartition)
        item.partition_index, item.partition_size, item.offset_lag, item.is_future_key, tags = _unpack_iqqot(
            buffer, at
        )
        at += 22
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_partition_v2_array(
    out: bytearray, items: list[DescribeLogDirsPartition]
) -> None:
    for item in items:
        out += _pack_iqqot(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key, 0)


def _read_describe_log_dirs_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 21, budget)
        item.partitions, at = _read_describe_log_dirs_partition_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_topic_v1_array(out: bytearray, items: list[DescribeLogDirsTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_describe_log_dirs_partition_v1_array(out, item.partitions)


def _read_describe_log_dirs_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 22, budget)
        item.partitions, at = _read_describe_log_dirs_partition_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_topic_v2_array(out: bytearray, items: list[DescribeLogDirsTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_describe_log_dirs_partition_v2_array(out, item.partitions)
        out.append(0)


def _read_describe_log_dirs_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsResult)
        item.total_bytes = -1
        item.usable_bytes = -1
        item.is_cordoned = False
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.log_dir, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.topics, at = _read_describe_log_dirs_topic_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result_v1_array(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_string(out, item.log_dir)
        write_count(out, item.topics)
        _write_describe_log_dirs_topic_v1_array(out, item.topics)


def _read_describe_log_dirs_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsResult)
        item.total_bytes = -1
        item.usable_bytes = -1
        item.is_cordoned = False
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.log_dir, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_describe_log_dirs_topic_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result_v2_array(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_string(out, item.log_dir)
        write_compact_count(out, item.topics)
        _write_describe_log_dirs_topic_v2_array(out, item.topics)
        out.append(0)


def _read_describe_log_dirs_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsResult)
        item.is_cordoned = False
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.log_dir, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_describe_log_dirs_topic_v2_array(buffer, at, count, budget)
        item.total_bytes, item.usable_bytes, tags = _unpack_qqt(buffer, at)
        at += 17
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result_v4_array(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_string(out, item.log_dir)
        write_compact_count(out, item.topics)
        _write_describe_log_dirs_topic_v2_array(out, item.topics)
        out += _pack_qqt(item.total_bytes, item.usable_bytes, 0)


def _read_describe_log_dirs_result_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeLogDirsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeLogDirsResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.log_dir, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_describe_log_dirs_topic_v2_array(buffer, at, count, budget)
        item.total_bytes, item.usable_bytes, item.is_cordoned, tags = _unpack_qqot(buffer, at)
        at += 18
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_log_dirs_result_v5_array(out: bytearray, items: list[DescribeLogDirsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_string(out, item.log_dir)
        write_compact_count(out, item.topics)
        _write_describe_log_dirs_topic_v2_array(out, item.topics)
        out += _pack_qqot(item.total_bytes, item.usable_bytes, item.is_cordoned, 0)


def _read_describe_log_dirs_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsResponse, int]:
    item = new(DescribeLogDirsResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 8, budget)
    item.results, at = _read_describe_log_dirs_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_describe_log_dirs_response_v1(
    out: bytearray, item: DescribeLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_describe_log_dirs_result_v1_array(out, item.results)


def _read_describe_log_dirs_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsResponse, int]:
    item = new(DescribeLogDirsResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_describe_log_dirs_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_log_dirs_response_v2(
    out: bytearray, item: DescribeLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_describe_log_dirs_result_v2_array(out, item.results)
    out.append(0)


def _read_describe_log_dirs_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsResponse, int]:
    item = new(DescribeLogDirsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_describe_log_dirs_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_log_dirs_response_v3(
    out: bytearray, item: DescribeLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.results)
    _write_describe_log_dirs_result_v2_array(out, item.results)
    out.append(0)


def _read_describe_log_dirs_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsResponse, int]:
    item = new(DescribeLogDirsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 21, budget)
    item.results, at = _read_describe_log_dirs_result_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_log_dirs_response_v4(
    out: bytearray, item: DescribeLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.results)
    _write_describe_log_dirs_result_v4_array(out, item.results)
    out.append(0)


def _read_describe_log_dirs_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeLogDirsResponse, int]:
    item = new(DescribeLogDirsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 22, budget)
    item.results, at = _read_describe_log_dirs_result_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_log_dirs_response_v5(
    out: bytearray, item: DescribeLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.results)
    _write_describe_log_dirs_result_v5_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeLogDirsResponse(Message):
    """Versions 1 to 5, flexible from 2."""

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[Versions] = Versions(1, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_describe_log_dirs_response_v1,
        2: _read_describe_log_dirs_response_v2,
        3: _read_describe_log_dirs_response_v3,
        4: _read_describe_log_dirs_response_v4,
        5: _read_describe_log_dirs_response_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_describe_log_dirs_response_v1,
        2: _write_describe_log_dirs_response_v2,
        3: _write_describe_log_dirs_response_v3,
        4: _write_describe_log_dirs_response_v4,
        5: _write_describe_log_dirs_response_v5,
    }

    throttle_time_ms: int = 0
    error_code: int = 0  # v3+
    results: list[DescribeLogDirsResult] = field(default_factory=list)
