"""Generated from `schemas/list_partition_reassignments.fields` by `odradek.wire.generator`: do not edit."""

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
api 46 ListPartitionReassignments

request ListPartitionReassignmentsRequest 0 flexible 0+
    timeout_ms: int32 = 60000
    topics: [ListPartitionReassignmentsTopics]? = null
        name: string
        partition_indexes: [int32]

response ListPartitionReassignmentsResponse 0 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    error_message: string?
    topics: [OngoingTopicReassignment]
        name: string
        partitions: [OngoingPartitionReassignment]
            partition_index: int32
            replicas: [int32]
            adding_replicas: [int32]
            removing_replicas: [int32]
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class ListPartitionReassignmentsTopics(Structure):
    """ListPartitionReassignmentsRequest.topics[]"""

    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)


def _read_list_partition_reassignments_topics_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListPartitionReassignmentsTopics], int]:
    items = []
    for _ in range(elements):
        item = new(ListPartitionReassignmentsTopics)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_list_partition_reassignments_topics_v0_array(
    out: bytearray, items: list[ListPartitionReassignmentsTopics]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_list_partition_reassignments_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListPartitionReassignmentsRequest, int]:
    item = new(ListPartitionReassignmentsRequest)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_list_partition_reassignments_topics_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_partition_reassignments_request_v0(
    out: bytearray, item: ListPartitionReassignmentsRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.timeout_ms)
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_list_partition_reassignments_topics_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListPartitionReassignmentsRequest(Request["ListPartitionReassignmentsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_list_partition_reassignments_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_list_partition_reassignments_request_v0}

    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


@dataclass(slots=True, eq=False, repr=False)
class OngoingPartitionReassignment(Structure):
    """ListPartitionReassignmentsResponse.topics[].partitions[]"""

    partition_index: int = 0
    replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OngoingTopicReassignment(Structure):
    """ListPartitionReassignmentsResponse.topics[]"""

    name: str = ""
    partitions: list[OngoingPartitionReassignment] = field(default_factory=list)


def _read_ongoing_partition_reassignment_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OngoingPartitionReassignment], int]:
    items = []
    for _ in range(elements):
        item = new(OngoingPartitionReassignment)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 4, budget)
        item.replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.adding_replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.removing_replicas, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_ongoing_partition_reassignment_v0_array(
    out: bytearray, items: list[OngoingPartitionReassignment]
) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        write_compact_count(out, item.replicas)
        write_int32s(out, item.replicas)
        write_compact_count(out, item.adding_replicas)
        write_int32s(out, item.adding_replicas)
        write_compact_count(out, item.removing_replicas)
        write_int32s(out, item.removing_replicas)
        out.append(0)


def _read_ongoing_topic_reassignment_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OngoingTopicReassignment], int]:
    items = []
    for _ in range(elements):
        item = new(OngoingTopicReassignment)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 8, budget)
        item.partitions, at = _read_ongoing_partition_reassignment_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_ongoing_topic_reassignment_v0_array(out: bytearray, items: list[OngoingTopicReassignment]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_ongoing_partition_reassignment_v0_array(out, item.partitions)
        out.append(0)


def _read_list_partition_reassignments_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListPartitionReassignmentsResponse, int]:
    item = new(ListPartitionReassignmentsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_ongoing_topic_reassignment_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_partition_reassignments_response_v0(
    out: bytearray, item: ListPartitionReassignmentsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.topics)
    _write_ongoing_topic_reassignment_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListPartitionReassignmentsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_list_partition_reassignments_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_list_partition_reassignments_response_v0}

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = field(default_factory=list)
