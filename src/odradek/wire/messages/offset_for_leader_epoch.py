"""Generated from `schemas/offset_for_leader_epoch.fields` by `odradek.wire.generator`: do not edit."""

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
api 23 OffsetForLeaderEpoch

request OffsetForLeaderEpochRequest 2-4 flexible 4+
    replica_id: int32 @3+ = -2
    topics: [OffsetForLeaderTopic]
        topic: string
        partitions: [OffsetForLeaderPartition]
            partition: int32
            current_leader_epoch: int32 = -1
            leader_epoch: int32

response OffsetForLeaderEpochResponse 2-4 flexible 4+
    throttle_time_ms: int32
    topics: [OffsetForLeaderTopicResult]
        topic: string
        partitions: [EpochEndOffset]
            error_code: int16
            partition: int32
            leader_epoch: int32 = -1
            end_offset: int64 = -1
"""


_unpack_hiiq: Final = Struct(">hiiq").unpack_from
_unpack_hiiqt: Final = Struct(">hiiqB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiit: Final = Struct(">iiiB").unpack_from
_pack_hiiq: Final = Struct(">hiiq").pack
_pack_hiiqt: Final = Struct(">hiiqB").pack
_pack_i: Final = Struct(">i").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiit: Final = Struct(">iiiB").pack


@dataclass(slots=True, eq=False, repr=False)
class OffsetForLeaderPartition(Structure):
    """OffsetForLeaderEpochRequest.topics[].partitions[]"""

    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetForLeaderTopic(Structure):
    """OffsetForLeaderEpochRequest.topics[]"""

    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)


def _read_offset_for_leader_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderPartition)
        item.partition, item.current_leader_epoch, item.leader_epoch = _unpack_iii(buffer, at)
        at += 12
        items.append(item)
    return items, at


def _write_offset_for_leader_partition_v2_array(
    out: bytearray, items: list[OffsetForLeaderPartition]
) -> None:
    for item in items:
        out += _pack_iii(item.partition, item.current_leader_epoch, item.leader_epoch)


def _read_offset_for_leader_partition_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderPartition)
        item.partition, item.current_leader_epoch, item.leader_epoch, tags = _unpack_iiit(buffer, at)
        at += 13
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_for_leader_partition_v4_array(
    out: bytearray, items: list[OffsetForLeaderPartition]
) -> None:
    for item in items:
        out += _pack_iiit(item.partition, item.current_leader_epoch, item.leader_epoch, 0)


def _read_offset_for_leader_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderTopic)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 12, budget)
        item.partitions, at = _read_offset_for_leader_partition_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic_v2_array(out: bytearray, items: list[OffsetForLeaderTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_offset_for_leader_partition_v2_array(out, item.partitions)


def _read_offset_for_leader_topic_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderTopic)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 13, budget)
        item.partitions, at = _read_offset_for_leader_partition_v4_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic_v4_array(out: bytearray, items: list[OffsetForLeaderTopic]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        _write_offset_for_leader_partition_v4_array(out, item.partitions)
        out.append(0)


def _read_offset_for_leader_epoch_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    item = new(OffsetForLeaderEpochRequest)
    item.replica_id = -2
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_for_leader_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_for_leader_epoch_request_v2(
    out: bytearray, item: OffsetForLeaderEpochRequest, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    _write_offset_for_leader_topic_v2_array(out, item.topics)


def _read_offset_for_leader_epoch_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    item = new(OffsetForLeaderEpochRequest)
    (item.replica_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_for_leader_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_for_leader_epoch_request_v3(
    out: bytearray, item: OffsetForLeaderEpochRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.replica_id)
    write_count(out, item.topics)
    _write_offset_for_leader_topic_v2_array(out, item.topics)


def _read_offset_for_leader_epoch_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    item = new(OffsetForLeaderEpochRequest)
    (item.replica_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_offset_for_leader_topic_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_for_leader_epoch_request_v4(
    out: bytearray, item: OffsetForLeaderEpochRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.replica_id)
    write_compact_count(out, item.topics)
    _write_offset_for_leader_topic_v4_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetForLeaderEpochRequest(Request["OffsetForLeaderEpochResponse"]):
    """Versions 2 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[Versions] = Versions(2, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_offset_for_leader_epoch_request_v2,
        3: _read_offset_for_leader_epoch_request_v3,
        4: _read_offset_for_leader_epoch_request_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_offset_for_leader_epoch_request_v2,
        3: _write_offset_for_leader_epoch_request_v3,
        4: _write_offset_for_leader_epoch_request_v4,
    }

    replica_id: int = -2  # v3+
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class EpochEndOffset(Structure):
    """OffsetForLeaderEpochResponse.topics[].partitions[]"""

    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1


@dataclass(slots=True, eq=False, repr=False)
class OffsetForLeaderTopicResult(Structure):
    """OffsetForLeaderEpochResponse.topics[]"""

    topic: str = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)


def _read_epoch_end_offset_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EpochEndOffset], int]:
    items = []
    for _ in range(elements):
        item = new(EpochEndOffset)
        item.error_code, item.partition, item.leader_epoch, item.end_offset = _unpack_hiiq(buffer, at)
        at += 18
        items.append(item)
    return items, at


def _write_epoch_end_offset_v2_array(out: bytearray, items: list[EpochEndOffset]) -> None:
    for item in items:
        out += _pack_hiiq(item.error_code, item.partition, item.leader_epoch, item.end_offset)


def _read_epoch_end_offset_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EpochEndOffset], int]:
    items = []
    for _ in range(elements):
        item = new(EpochEndOffset)
        item.error_code, item.partition, item.leader_epoch, item.end_offset, tags = _unpack_hiiqt(buffer, at)
        at += 19
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_epoch_end_offset_v4_array(out: bytearray, items: list[EpochEndOffset]) -> None:
    for item in items:
        out += _pack_hiiqt(item.error_code, item.partition, item.leader_epoch, item.end_offset, 0)


def _read_offset_for_leader_topic_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderTopicResult)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 18, budget)
        item.partitions, at = _read_epoch_end_offset_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic_result_v2_array(
    out: bytearray, items: list[OffsetForLeaderTopicResult]
) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_epoch_end_offset_v2_array(out, item.partitions)


def _read_offset_for_leader_topic_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetForLeaderTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetForLeaderTopicResult)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 19, budget)
        item.partitions, at = _read_epoch_end_offset_v4_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_for_leader_topic_result_v4_array(
    out: bytearray, items: list[OffsetForLeaderTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        _write_epoch_end_offset_v4_array(out, item.partitions)
        out.append(0)


def _read_offset_for_leader_epoch_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetForLeaderEpochResponse, int]:
    item = new(OffsetForLeaderEpochResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_for_leader_topic_result_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_for_leader_epoch_response_v2(
    out: bytearray, item: OffsetForLeaderEpochResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_offset_for_leader_topic_result_v2_array(out, item.topics)


def _read_offset_for_leader_epoch_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetForLeaderEpochResponse, int]:
    item = new(OffsetForLeaderEpochResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_offset_for_leader_topic_result_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_for_leader_epoch_response_v4(
    out: bytearray, item: OffsetForLeaderEpochResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_offset_for_leader_topic_result_v4_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetForLeaderEpochResponse(Message):
    """Versions 2 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[Versions] = Versions(2, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_offset_for_leader_epoch_response_v2,
        3: _read_offset_for_leader_epoch_response_v2,
        4: _read_offset_for_leader_epoch_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_offset_for_leader_epoch_response_v2,
        3: _write_offset_for_leader_epoch_response_v2,
        4: _write_offset_for_leader_epoch_response_v4,
    }

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)
