"""Generated from `schemas/alter_replica_log_dirs.fields` by `odradek.wire.generator`: do not edit."""

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
    read_int32s,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
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
api 34 AlterReplicaLogDirs

request AlterReplicaLogDirsRequest 1-2 flexible 2+
    dirs: [AlterReplicaLogDir]
        path: string
        topics: [AlterReplicaLogDirTopic]
            name: string
            partitions: [int32]

response AlterReplicaLogDirsResponse 1-2 flexible 2+
    throttle_time_ms: int32
    results: [AlterReplicaLogDirTopicResult]
        topic_name: string
        partitions: [AlterReplicaLogDirPartitionResult]
            partition_index: int32
            error_code: int16
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDirTopic(Structure):
    """AlterReplicaLogDirsRequest.dirs[].topics[]"""

    name: str = ""
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDir(Structure):
    """AlterReplicaLogDirsRequest.dirs[]"""

    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = field(default_factory=list)


def _read_alter_replica_log_dir_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirTopic], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_topic_v1_array(out: bytearray, items: list[AlterReplicaLogDirTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_alter_replica_log_dir_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirTopic], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_topic_v2_array(out: bytearray, items: list[AlterReplicaLogDirTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_alter_replica_log_dir_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDir], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDir)
        item.path, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.topics, at = _read_alter_replica_log_dir_topic_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_v1_array(out: bytearray, items: list[AlterReplicaLogDir]) -> None:
    for item in items:
        write_string(out, item.path)
        write_count(out, item.topics)
        _write_alter_replica_log_dir_topic_v1_array(out, item.topics)


def _read_alter_replica_log_dir_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDir], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDir)
        item.path, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_alter_replica_log_dir_topic_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_v2_array(out: bytearray, items: list[AlterReplicaLogDir]) -> None:
    for item in items:
        write_compact_string(out, item.path)
        write_compact_count(out, item.topics)
        _write_alter_replica_log_dir_topic_v2_array(out, item.topics)
        out.append(0)


def _read_alter_replica_log_dirs_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterReplicaLogDirsRequest, int]:
    item = new(AlterReplicaLogDirsRequest)
    count, at = read_count(buffer, at, 6, budget)
    item.dirs, at = _read_alter_replica_log_dir_v1_array(buffer, at, count, budget)
    return item, at


def _write_alter_replica_log_dirs_request_v1(
    out: bytearray, item: AlterReplicaLogDirsRequest, payloads: Payloads
) -> None:
    write_count(out, item.dirs)
    _write_alter_replica_log_dir_v1_array(out, item.dirs)


def _read_alter_replica_log_dirs_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterReplicaLogDirsRequest, int]:
    item = new(AlterReplicaLogDirsRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.dirs, at = _read_alter_replica_log_dir_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_replica_log_dirs_request_v2(
    out: bytearray, item: AlterReplicaLogDirsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.dirs)
    _write_alter_replica_log_dir_v2_array(out, item.dirs)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDirsRequest(Request["AlterReplicaLogDirsResponse"]):
    """Versions 1 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_alter_replica_log_dirs_request_v1,
        2: _read_alter_replica_log_dirs_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_alter_replica_log_dirs_request_v1,
        2: _write_alter_replica_log_dirs_request_v2,
    }

    dirs: list[AlterReplicaLogDir] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDirPartitionResult(Structure):
    """AlterReplicaLogDirsResponse.results[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDirTopicResult(Structure):
    """AlterReplicaLogDirsResponse.results[]"""

    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = field(default_factory=list)


def _read_alter_replica_log_dir_partition_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirPartitionResult)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_partition_result_v1_array(
    out: bytearray, items: list[AlterReplicaLogDirPartitionResult]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)


def _read_alter_replica_log_dir_partition_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirPartitionResult)
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_partition_result_v2_array(
    out: bytearray, items: list[AlterReplicaLogDirPartitionResult]
) -> None:
    for item in items:
        out += _pack_iht(item.partition_index, item.error_code, 0)


def _read_alter_replica_log_dir_topic_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirTopicResult)
        item.topic_name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.partitions, at = _read_alter_replica_log_dir_partition_result_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_topic_result_v1_array(
    out: bytearray, items: list[AlterReplicaLogDirTopicResult]
) -> None:
    for item in items:
        write_string(out, item.topic_name)
        write_count(out, item.partitions)
        _write_alter_replica_log_dir_partition_result_v1_array(out, item.partitions)


def _read_alter_replica_log_dir_topic_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(AlterReplicaLogDirTopicResult)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_alter_replica_log_dir_partition_result_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_replica_log_dir_topic_result_v2_array(
    out: bytearray, items: list[AlterReplicaLogDirTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        _write_alter_replica_log_dir_partition_result_v2_array(out, item.partitions)
        out.append(0)


def _read_alter_replica_log_dirs_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterReplicaLogDirsResponse, int]:
    item = new(AlterReplicaLogDirsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.results, at = _read_alter_replica_log_dir_topic_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_alter_replica_log_dirs_response_v1(
    out: bytearray, item: AlterReplicaLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_alter_replica_log_dir_topic_result_v1_array(out, item.results)


def _read_alter_replica_log_dirs_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterReplicaLogDirsResponse, int]:
    item = new(AlterReplicaLogDirsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.results, at = _read_alter_replica_log_dir_topic_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_replica_log_dirs_response_v2(
    out: bytearray, item: AlterReplicaLogDirsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_alter_replica_log_dir_topic_result_v2_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterReplicaLogDirsResponse(Message):
    """Versions 1 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_alter_replica_log_dirs_response_v1,
        2: _read_alter_replica_log_dirs_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_alter_replica_log_dirs_response_v1,
        2: _write_alter_replica_log_dirs_response_v2,
    }

    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = field(default_factory=list)
