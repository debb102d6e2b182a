"""Generated from `schemas/share_group_heartbeat.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
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
    write_compact_strings,
    write_int32s,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 76 ShareGroupHeartbeat

request ShareGroupHeartbeatRequest 1 flexible 1+
    group_id: string
    member_id: string
    member_epoch: int32
    rack_id: string? = null
    subscribed_topic_names: [string]? = null

response ShareGroupHeartbeatResponse 1 flexible 1+
    throttle_time_ms: int32
    error_code: int16
    error_message: string? = null
    member_id: string? = null
    member_epoch: int32
    heartbeat_interval_ms: int32
    assignment: Assignment? = null
        topic_partitions: [TopicPartitions]
            topic_id: uuid
            partitions: [int32]
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack


def _read_share_group_heartbeat_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareGroupHeartbeatRequest, int]:
    item = new(ShareGroupHeartbeatRequest)
    item.group_id, at = read_compact_string(buffer, at)
    item.member_id, at = read_compact_string(buffer, at)
    (item.member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.rack_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_nullable_count(buffer, at, 1, budget)
    if count < 0:
        item.subscribed_topic_names = None
    else:
        item.subscribed_topic_names, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_group_heartbeat_request_v1(
    out: bytearray, item: ShareGroupHeartbeatRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.group_id)
    write_compact_string(out, item.member_id)
    out += _pack_i(item.member_epoch)
    write_compact_nullable_string(out, item.rack_id)
    if item.subscribed_topic_names is None:
        out.append(0)
    else:
        write_compact_count(out, item.subscribed_topic_names)
        write_compact_strings(out, item.subscribed_topic_names)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareGroupHeartbeatRequest(Request["ShareGroupHeartbeatResponse"]):
    """Version 1, flexible."""

    API_KEY: ClassVar[int] = 76
    VERSIONS: ClassVar[Versions] = Versions(1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {1: _read_share_group_heartbeat_request_v1}
    ENCODERS: ClassVar[dict[int, Encoder]] = {1: _write_share_group_heartbeat_request_v1}

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None


@dataclass(slots=True, eq=False, repr=False)
class TopicPartitions(Structure):
    """ShareGroupHeartbeatResponse.assignment.topic_partitions[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Assignment(Structure):
    """ShareGroupHeartbeatResponse.assignment"""

    topic_partitions: list[TopicPartitions] = field(default_factory=list)


def _read_topic_partitions_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic_id, at = read_uuid(buffer, at)
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
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_assignment_v1(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[Assignment, int]:
    item = new(Assignment)
    count, at = read_compact_count(buffer, at, 18, budget)
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


def _read_share_group_heartbeat_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ShareGroupHeartbeatResponse, int]:
    item = new(ShareGroupHeartbeatResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    item.member_id, at = read_compact_nullable_string(buffer, at)
    item.member_epoch, item.heartbeat_interval_ms = _unpack_ii(buffer, at)
    at += 8
    present, at = read_presence(buffer, at)
    if present:
        item.assignment, at = _read_assignment_v1(buffer, at, budget)
    else:
        item.assignment = None
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_share_group_heartbeat_response_v1(
    out: bytearray, item: ShareGroupHeartbeatResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_nullable_string(out, item.member_id)
    out += _pack_ii(item.member_epoch, item.heartbeat_interval_ms)
    if item.assignment is None:
        out.append(255)
    else:
        out.append(1)
        _write_assignment_v1(out, item.assignment)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ShareGroupHeartbeatResponse(Message):
    """Version 1, flexible."""

    API_KEY: ClassVar[int] = 76
    VERSIONS: ClassVar[Versions] = Versions(1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {1: _read_share_group_heartbeat_response_v1}
    ENCODERS: ClassVar[dict[int, Encoder]] = {1: _write_share_group_heartbeat_response_v1}

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
