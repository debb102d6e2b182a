"""Generated from `schemas/find_coordinator.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_nullable_string,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 10 FindCoordinator

request FindCoordinatorRequest 0-6 flexible 3+
    key: string @0-3
    key_type: int8 @1+
    coordinator_keys: [string] @4+

response FindCoordinatorResponse 0-6 flexible 3+
    throttle_time_ms: int32 @1+
    error_code: int16 @0-3
    error_message: string? @1-3
    node_id: int32 @0-3
    host: string @0-3
    port: int32 @0-3
    coordinators: [Coordinator] @4+
        key: string
        node_id: int32
        host: string
        port: int32
        error_code: int16
        error_message: string?
"""


_unpack_b: Final = Struct(">b").unpack_from
_unpack_bt: Final = Struct(">bB").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_b: Final = Struct(">b").pack
_pack_bt: Final = Struct(">bB").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack


def _read_find_coordinator_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorRequest, int]:
    item = new(FindCoordinatorRequest)
    item.key_type = 0
    item.coordinator_keys = []
    item.key, at = read_string(buffer, at)
    return item, at


def _write_find_coordinator_request_v0(
    out: bytearray, item: FindCoordinatorRequest, payloads: Payloads
) -> None:
    write_string(out, item.key)


def _read_find_coordinator_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorRequest, int]:
    item = new(FindCoordinatorRequest)
    item.coordinator_keys = []
    item.key, at = read_string(buffer, at)
    (item.key_type,) = _unpack_b(buffer, at)
    at += 1
    return item, at


def _write_find_coordinator_request_v1(
    out: bytearray, item: FindCoordinatorRequest, payloads: Payloads
) -> None:
    write_string(out, item.key)
    out += _pack_b(item.key_type)


def _read_find_coordinator_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorRequest, int]:
    item = new(FindCoordinatorRequest)
    item.coordinator_keys = []
    item.key, at = read_compact_string(buffer, at)
    item.key_type, tags = _unpack_bt(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_find_coordinator_request_v3(
    out: bytearray, item: FindCoordinatorRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.key)
    out += _pack_bt(item.key_type, 0)


def _read_find_coordinator_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorRequest, int]:
    item = new(FindCoordinatorRequest)
    item.key = ""
    (item.key_type,) = _unpack_b(buffer, at)
    at += 1
    count, at = read_compact_count(buffer, at, 1, budget)
    item.coordinator_keys, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_find_coordinator_request_v4(
    out: bytearray, item: FindCoordinatorRequest, payloads: Payloads
) -> None:
    out += _pack_b(item.key_type)
    write_compact_count(out, item.coordinator_keys)
    write_compact_strings(out, item.coordinator_keys)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class FindCoordinatorRequest(Request["FindCoordinatorResponse"]):
    """Versions 0 to 6, flexible from 3."""

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_find_coordinator_request_v0,
        1: _read_find_coordinator_request_v1,
        2: _read_find_coordinator_request_v1,
        3: _read_find_coordinator_request_v3,
        4: _read_find_coordinator_request_v4,
        5: _read_find_coordinator_request_v4,
        6: _read_find_coordinator_request_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_find_coordinator_request_v0,
        1: _write_find_coordinator_request_v1,
        2: _write_find_coordinator_request_v1,
        3: _write_find_coordinator_request_v3,
        4: _write_find_coordinator_request_v4,
        5: _write_find_coordinator_request_v4,
        6: _write_find_coordinator_request_v4,
    }

    key: str = ""  # up to v3
    key_type: int = 0  # v1+
    coordinator_keys: list[str] = field(default_factory=list)  # v4+


@dataclass(slots=True, eq=False, repr=False)
class Coordinator(Structure):
    """FindCoordinatorResponse.coordinators[]"""

    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""


def _read_coordinator_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[Coordinator], int]:
    items = []
    for _ in range(elements):
        item = new(Coordinator)
        item.key, at = read_compact_string(buffer, at)
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        item.port, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_coordinator_v4_array(out: bytearray, items: list[Coordinator]) -> None:
    for item in items:
        write_compact_string(out, item.key)
        out += _pack_i(item.node_id)
        write_compact_string(out, item.host)
        out += _pack_ih(item.port, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_find_coordinator_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorResponse, int]:
    item = new(FindCoordinatorResponse)
    item.throttle_time_ms = 0
    item.error_message = ""
    item.coordinators = []
    item.error_code, item.node_id = _unpack_hi(buffer, at)
    at += 6
    item.host, at = read_string(buffer, at)
    (item.port,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_find_coordinator_response_v0(
    out: bytearray, item: FindCoordinatorResponse, payloads: Payloads
) -> None:
    out += _pack_hi(item.error_code, item.node_id)
    write_string(out, item.host)
    out += _pack_i(item.port)


def _read_find_coordinator_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorResponse, int]:
    item = new(FindCoordinatorResponse)
    item.coordinators = []
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_nullable_string(buffer, at)
    (item.node_id,) = _unpack_i(buffer, at)
    at += 4
    item.host, at = read_string(buffer, at)
    (item.port,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_find_coordinator_response_v1(
    out: bytearray, item: FindCoordinatorResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_nullable_string(out, item.error_message)
    out += _pack_i(item.node_id)
    write_string(out, item.host)
    out += _pack_i(item.port)


def _read_find_coordinator_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorResponse, int]:
    item = new(FindCoordinatorResponse)
    item.coordinators = []
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    (item.node_id,) = _unpack_i(buffer, at)
    at += 4
    item.host, at = read_compact_string(buffer, at)
    item.port, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_find_coordinator_response_v3(
    out: bytearray, item: FindCoordinatorResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out += _pack_i(item.node_id)
    write_compact_string(out, item.host)
    out += _pack_it(item.port, 0)


def _read_find_coordinator_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[FindCoordinatorResponse, int]:
    item = new(FindCoordinatorResponse)
    item.error_code = 0
    item.error_message = ""
    item.node_id = 0
    item.host = ""
    item.port = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 14, budget)
    item.coordinators, at = _read_coordinator_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_find_coordinator_response_v4(
    out: bytearray, item: FindCoordinatorResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.coordinators)
    _write_coordinator_v4_array(out, item.coordinators)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class FindCoordinatorResponse(Message):
    """Versions 0 to 6, flexible from 3."""

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_find_coordinator_response_v0,
        1: _read_find_coordinator_response_v1,
        2: _read_find_coordinator_response_v1,
        3: _read_find_coordinator_response_v3,
        4: _read_find_coordinator_response_v4,
        5: _read_find_coordinator_response_v4,
        6: _read_find_coordinator_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_find_coordinator_response_v0,
        1: _write_find_coordinator_response_v1,
        2: _write_find_coordinator_response_v1,
        3: _write_find_coordinator_response_v3,
        4: _write_find_coordinator_response_v4,
        5: _write_find_coordinator_response_v4,
        6: _write_find_coordinator_response_v4,
    }

    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # up to v3
    error_message: str | None = ""  # v1–3
    node_id: int = 0  # up to v3
    host: str = ""  # up to v3
    port: int = 0  # up to v3
    coordinators: list[Coordinator] = field(default_factory=list)  # v4+
