"""Generated from `schemas/describe_topic_partitions.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_presence,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 75 DescribeTopicPartitions

request DescribeTopicPartitionsRequest 0 flexible 0+
    topics: [TopicRequest]
        name: string
    response_partition_limit: int32 = 2000
    cursor: Cursor? = null
        topic_name: string
        partition_index: int32

response DescribeTopicPartitionsResponse 0 flexible 0+
    throttle_time_ms: int32
    topics: [DescribeTopicPartitionsResponseTopic]
        error_code: int16
        name: string?
        topic_id: uuid
        is_internal: bool
        partitions: [DescribeTopicPartitionsResponsePartition]
            error_code: int16
            partition_index: int32
            leader_id: int32
            leader_epoch: int32 = -1
            replica_nodes: [int32]
            isr_nodes: [int32]
            eligible_leader_replicas: [int32]? = null
            last_known_elr: [int32]? = null
            offline_replicas: [int32]
        topic_authorized_operations: int32 = -2147483648
    next_cursor: Cursor? = null
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hiii: Final = Struct(">hiii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_h: Final = Struct(">h").pack
_pack_hiii: Final = Struct(">hiii").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack


@dataclass(slots=True, eq=False, repr=False)
class TopicRequest(Structure):
    """DescribeTopicPartitionsRequest.topics[]"""

    name: str = ""


@dataclass(slots=True, eq=False, repr=False)
class Cursor(Structure):
    """DescribeTopicPartitionsRequest.cursor"""

    topic_name: str = ""
    partition_index: int = 0


def _read_topic_request_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicRequest], int]:
    items = []
    for _ in range(elements):
        item = new(TopicRequest)
        item.name, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_request_v0_array(out: bytearray, items: list[TopicRequest]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out.append(0)


def _read_cursor_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[Cursor, int]:
    item = new(Cursor)
    item.topic_name, at = read_compact_string(buffer, at)
    item.partition_index, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_cursor_v0(out: bytearray, item: Cursor) -> None:
    write_compact_string(out, item.topic_name)
    out += _pack_it(item.partition_index, 0)


def _read_describe_topic_partitions_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeTopicPartitionsRequest, int]:
    item = new(DescribeTopicPartitionsRequest)
    count, at = read_compact_count(buffer, at, 2, budget)
    item.topics, at = _read_topic_request_v0_array(buffer, at, count, budget)
    (item.response_partition_limit,) = _unpack_i(buffer, at)
    at += 4
    present, at = read_presence(buffer, at)
    if present:
        item.cursor, at = _read_cursor_v0(buffer, at, budget)
    else:
        item.cursor = None
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_topic_partitions_request_v0(
    out: bytearray, item: DescribeTopicPartitionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    _write_topic_request_v0_array(out, item.topics)
    out += _pack_i(item.response_partition_limit)
    if item.cursor is None:
        out.append(255)
    else:
        out.append(1)
        _write_cursor_v0(out, item.cursor)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeTopicPartitionsRequest(Request["DescribeTopicPartitionsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_topic_partitions_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_topic_partitions_request_v0}

    topics: list[TopicRequest] = field(default_factory=list)
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


@dataclass(slots=True, eq=False, repr=False)
class DescribeTopicPartitionsResponsePartition(Structure):
    """DescribeTopicPartitionsResponse.topics[].partitions[]"""

    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class DescribeTopicPartitionsResponseTopic(Structure):
    """DescribeTopicPartitionsResponse.topics[]"""

    error_code: int = 0
    name: str | None = ""
    topic_id: UUID = NO_TOPIC_ID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648


def _read_describe_topic_partitions_response_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeTopicPartitionsResponsePartition)
        item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(buffer, at)
        at += 14
        count, at = read_compact_count(buffer, at, 4, budget)
        item.replica_nodes, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.isr_nodes, at = read_int32s(buffer, at, count)
        count, at = read_compact_nullable_count(buffer, at, 4, budget)
        if count < 0:
            item.eligible_leader_replicas = None
        else:
            item.eligible_leader_replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_nullable_count(buffer, at, 4, budget)
        if count < 0:
            item.last_known_elr = None
        else:
            item.last_known_elr, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.offline_replicas, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_partition_v0_array(
    out: bytearray, items: list[DescribeTopicPartitionsResponsePartition]
) -> None:
    for item in items:
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        write_compact_count(out, item.replica_nodes)
        write_int32s(out, item.replica_nodes)
        write_compact_count(out, item.isr_nodes)
        write_int32s(out, item.isr_nodes)
        if item.eligible_leader_replicas is None:
            out.append(0)
        else:
            write_compact_count(out, item.eligible_leader_replicas)
            write_int32s(out, item.eligible_leader_replicas)
        if item.last_known_elr is None:
            out.append(0)
        else:
            write_compact_count(out, item.last_known_elr)
            write_int32s(out, item.last_known_elr)
        write_compact_count(out, item.offline_replicas)
        write_int32s(out, item.offline_replicas)
        out.append(0)


def _read_describe_topic_partitions_response_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeTopicPartitionsResponseTopic)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_compact_nullable_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_compact_count(buffer, at, 20, budget)
        item.partitions, at = _read_describe_topic_partitions_response_partition_v0_array(
            buffer, at, count, budget
        )
        item.topic_authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_topic_partitions_response_topic_v0_array(
    out: bytearray, items: list[DescribeTopicPartitionsResponseTopic]
) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.name)
        write_uuid(out, item.topic_id)
        out += _pack_o(item.is_internal)
        write_compact_count(out, item.partitions)
        _write_describe_topic_partitions_response_partition_v0_array(out, item.partitions)
        out += _pack_it(item.topic_authorized_operations, 0)


def _read_describe_topic_partitions_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeTopicPartitionsResponse, int]:
    item = new(DescribeTopicPartitionsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 26, budget)
    item.topics, at = _read_describe_topic_partitions_response_topic_v0_array(buffer, at, count, budget)
    present, at = read_presence(buffer, at)
    if present:
        item.next_cursor, at = _read_cursor_v0(buffer, at, budget)
    else:
        item.next_cursor = None
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_topic_partitions_response_v0(
    out: bytearray, item: DescribeTopicPartitionsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_describe_topic_partitions_response_topic_v0_array(out, item.topics)
    if item.next_cursor is None:
        out.append(255)
    else:
        out.append(1)
        _write_cursor_v0(out, item.next_cursor)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeTopicPartitionsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_topic_partitions_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_topic_partitions_response_v0}

    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = field(default_factory=list)
    next_cursor: Cursor | None = None
