"""Generated from `schemas/share_group_describe.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 77 ShareGroupDescribe

request ShareGroupDescribeRequest 1 flexible 1+
    group_ids: [string]
    include_authorized_operations: bool

response ShareGroupDescribeResponse 1 flexible 1+
    throttle_time_ms: int32
    groups: [DescribedGroup]
        error_code: int16
        error_message: string? = null
        group_id: string
        group_state: string
        group_epoch: int32
        assignment_epoch: int32
        assignor_name: string
        members: [Member]
            member_id: string
            rack_id: string? = null
            member_epoch: int32
            client_id: string
            client_host: string
            subscribed_topic_names: [string]
            assignment: Assignment
                topic_partitions: [TopicPartitions]
                    topic_id: uuid
                    topic_name: string
                    partitions: [int32]
        authorized_operations: int32 = -2147483648
"""


_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_pack_ot: Final = Struct(">?B").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack


def _read_share_group_describe_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareGroupDescribeRequest, int]:
    item = new(ShareGroupDescribeRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.group_ids, at = read_compact_strings(buffer, at, count)
    item.include_authorized_operations, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_group_describe_request_v1(
    out: bytearray, item: ShareGroupDescribeRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.group_ids)
    write_compact_strings(out, item.group_ids)
    out += _pack_ot(item.include_authorized_operations, 0)


@dataclass(slots=True, eq=False, repr=False)
class ShareGroupDescribeRequest(Request["ShareGroupDescribeResponse"]):
    """Version 1, flexible."""

    API_KEY: ClassVar[int] = 77
    VERSIONS: ClassVar[Versions] = Versions(1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {1: _read_share_group_describe_request_v1}
    ENCODERS: ClassVar[dict[int, Encoder]] = {1: _write_share_group_describe_request_v1}

    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False


@dataclass(slots=True, eq=False, repr=False)
class TopicPartitions(Structure):
    """ShareGroupDescribeResponse.groups[].members[].assignment.topic_partitions[]"""

    topic_id: UUID = NO_TOPIC_ID
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Assignment(Structure):
    """ShareGroupDescribeResponse.groups[].members[].assignment"""

    topic_partitions: list[TopicPartitions] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Member(Structure):
    """ShareGroupDescribeResponse.groups[].members[]"""

    member_id: str = ""
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)


@dataclass(slots=True, eq=False, repr=False)
class DescribedGroup(Structure):
    """ShareGroupDescribeResponse.groups[]"""

    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = field(default_factory=list)
    authorized_operations: int = -2147483648


def _read_topic_partitions_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic_id, at = read_uuid(buffer, at)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_partitions_v1_array(out: bytearray, items: list[TopicPartitions]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_assignment_v1(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[Assignment, int]:
    item = new(Assignment)
    count, at = read_compact_count(buffer, at, 19, budget)
    item.topic_partitions, at = _read_topic_partitions_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_assignment_v1(out: bytearray, item: Assignment) -> None:
    write_compact_count(out, item.topic_partitions)
    _write_topic_partitions_v1_array(out, item.topic_partitions)
    out.append(0)


def _read_member_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[Member], int]:
    items = []
    for _ in range(elements):
        item = new(Member)
        item.member_id, at = read_compact_string(buffer, at)
        item.rack_id, at = read_compact_nullable_string(buffer, at)
        (item.member_epoch,) = _unpack_i(buffer, at)
        at += 4
        item.client_id, at = read_compact_string(buffer, at)
        item.client_host, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 1, budget)
        item.subscribed_topic_names, at = read_compact_strings(buffer, at, count)
        item.assignment, at = _read_assignment_v1(buffer, at, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_member_v1_array(out: bytearray, items: list[Member]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.rack_id)
        out += _pack_i(item.member_epoch)
        write_compact_string(out, item.client_id)
        write_compact_string(out, item.client_host)
        write_compact_count(out, item.subscribed_topic_names)
        write_compact_strings(out, item.subscribed_topic_names)
        _write_assignment_v1(out, item.assignment)
        out.append(0)


def _read_described_group_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.group_id, at = read_compact_string(buffer, at)
        item.group_state, at = read_compact_string(buffer, at)
        item.group_epoch, item.assignment_epoch = _unpack_ii(buffer, at)
        at += 8
        item.assignor_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 12, budget)
        item.members, at = _read_member_v1_array(buffer, at, count, budget)
        item.authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_described_group_v1_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.group_state)
        out += _pack_ii(item.group_epoch, item.assignment_epoch)
        write_compact_string(out, item.assignor_name)
        write_compact_count(out, item.members)
        _write_member_v1_array(out, item.members)
        out += _pack_it(item.authorized_operations, 0)


def _read_share_group_describe_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareGroupDescribeResponse, int]:
    item = new(ShareGroupDescribeResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 20, budget)
    item.groups, at = _read_described_group_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_group_describe_response_v1(
    out: bytearray, item: ShareGroupDescribeResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.groups)
    _write_described_group_v1_array(out, item.groups)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareGroupDescribeResponse(Message):
    """Version 1, flexible."""

    API_KEY: ClassVar[int] = 77
    VERSIONS: ClassVar[Versions] = Versions(1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {1: _read_share_group_describe_response_v1}
    ENCODERS: ClassVar[dict[int, Encoder]] = {1: _write_share_group_describe_response_v1}

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)
