"""Generated from `schemas/heartbeat.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 12 Heartbeat

request HeartbeatRequest 0-4 flexible 4+
    group_id: string
    generation_id: int32
    member_id: string
    group_instance_id: string? @3+ = null

response HeartbeatResponse 0-4 flexible 4+
    throttle_time_ms: int32 @1+
    error_code: int16
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack


def _read_heartbeat_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatRequest, int]:
    item = new(HeartbeatRequest)
    item.group_instance_id = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    return item, at


def _write_heartbeat_request_v0(out: bytearray, item: HeartbeatRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_string(out, item.member_id)


def _read_heartbeat_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatRequest, int]:
    item = new(HeartbeatRequest)
    item.group_id, at = read_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    item.group_instance_id, at = read_nullable_string(buffer, at)
    return item, at


def _write_heartbeat_request_v3(out: bytearray, item: HeartbeatRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_string(out, item.member_id)
    write_nullable_string(out, item.group_instance_id)


def _read_heartbeat_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatRequest, int]:
    item = new(HeartbeatRequest)
    item.group_id, at = read_compact_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_heartbeat_request_v4(out: bytearray, item: HeartbeatRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class HeartbeatRequest(Request["HeartbeatResponse"]):
    """Versions 0 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_heartbeat_request_v0,
        1: _read_heartbeat_request_v0,
        2: _read_heartbeat_request_v0,
        3: _read_heartbeat_request_v3,
        4: _read_heartbeat_request_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_heartbeat_request_v0,
        1: _write_heartbeat_request_v0,
        2: _write_heartbeat_request_v0,
        3: _write_heartbeat_request_v3,
        4: _write_heartbeat_request_v4,
    }

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None  # v3+


def _read_heartbeat_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatResponse, int]:
    item = new(HeartbeatResponse)
    item.throttle_time_ms = 0
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_heartbeat_response_v0(out: bytearray, item: HeartbeatResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)


def _read_heartbeat_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatResponse, int]:
    item = new(HeartbeatResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    return item, at


def _write_heartbeat_response_v1(out: bytearray, item: HeartbeatResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_heartbeat_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[HeartbeatResponse, int]:
    item = new(HeartbeatResponse)
    item.throttle_time_ms, item.error_code, tags = _unpack_iht(buffer, at)
    at += 7
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_heartbeat_response_v4(out: bytearray, item: HeartbeatResponse, payloads: Payloads) -> None:
    out += _pack_iht(item.throttle_time_ms, item.error_code, 0)


@dataclass(slots=True, eq=False, repr=False)
class HeartbeatResponse(Message):
    """Versions 0 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_heartbeat_response_v0,
        1: _read_heartbeat_response_v1,
        2: _read_heartbeat_response_v1,
        3: _read_heartbeat_response_v1,
        4: _read_heartbeat_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_heartbeat_response_v0,
        1: _write_heartbeat_response_v1,
        2: _write_heartbeat_response_v1,
        3: _write_heartbeat_response_v1,
        4: _write_heartbeat_response_v4,
    }

    throttle_time_ms: int = 0  # v1+
    error_code: int = 0
