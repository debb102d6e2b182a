"""Generated from `schemas/alter_client_quotas.fields` by `odradek.wire.generator`: do not edit."""

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
    read_count,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 49 AlterClientQuotas

request AlterClientQuotasRequest 0-1 flexible 1+
    entries: [EntryData]
        entity: [EntityData]
            entity_type: string
            entity_name: string?
        ops: [OpData]
            key: string
            value: float64
            remove: bool
    validate_only: bool

response AlterClientQuotasResponse 0-1 flexible 1+
    throttle_time_ms: int32
    entries: [EntryDataResponse]
        error_code: int16
        error_message: string?
        entity: [EntityData]
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_do: Final = Struct(">d?").unpack_from
_unpack_dot: Final = Struct(">d?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_ot: Final = Struct(">?B").pack
_pack_do: Final = Struct(">d?").pack
_pack_dot: Final = Struct(">d?B").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class EntityData(Structure):
    """AlterClientQuotasRequest.entries[].entity[]"""

    entity_type: str = ""
    entity_name: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class OpData(Structure):
    """AlterClientQuotasRequest.entries[].ops[]"""

    key: str = ""
    value: float = 0.0
    remove: bool = False


@dataclass(slots=True, eq=False, repr=False)
class EntryData(Structure):
    """AlterClientQuotasRequest.entries[]"""

    entity: list[EntityData] = field(default_factory=list)
    ops: list[OpData] = field(default_factory=list)


def _read_entity_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntityData], int]:
    items = []
    for _ in range(elements):
        item = new(EntityData)
        item.entity_type, at = read_string(buffer, at)
        item.entity_name, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_entity_data_v0_array(out: bytearray, items: list[EntityData]) -> None:
    for item in items:
        write_string(out, item.entity_type)
        write_nullable_string(out, item.entity_name)


def _read_entity_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntityData], int]:
    items = []
    for _ in range(elements):
        item = new(EntityData)
        item.entity_type, at = read_compact_string(buffer, at)
        item.entity_name, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_entity_data_v1_array(out: bytearray, items: list[EntityData]) -> None:
    for item in items:
        write_compact_string(out, item.entity_type)
        write_compact_nullable_string(out, item.entity_name)
        out.append(0)


def _read_op_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OpData], int]:
    items = []
    for _ in range(elements):
        item = new(OpData)
        item.key, at = read_string(buffer, at)
        item.value, item.remove = _unpack_do(buffer, at)
        at += 9
        items.append(item)
    return items, at


def _write_op_data_v0_array(out: bytearray, items: list[OpData]) -> None:
    for item in items:
        write_string(out, item.key)
        out += _pack_do(item.value, item.remove)


def _read_op_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OpData], int]:
    items = []
    for _ in range(elements):
        item = new(OpData)
        item.key, at = read_compact_string(buffer, at)
        item.value, item.remove, tags = _unpack_dot(buffer, at)
        at += 10
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_op_data_v1_array(out: bytearray, items: list[OpData]) -> None:
    for item in items:
        write_compact_string(out, item.key)
        out += _pack_dot(item.value, item.remove, 0)


def _read_entry_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryData], int]:
    items = []
    for _ in range(elements):
        item = new(EntryData)
        count, at = read_count(buffer, at, 4, budget)
        item.entity, at = _read_entity_data_v0_array(buffer, at, count, budget)
        count, at = read_count(buffer, at, 11, budget)
        item.ops, at = _read_op_data_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_entry_data_v0_array(out: bytearray, items: list[EntryData]) -> None:
    for item in items:
        write_count(out, item.entity)
        _write_entity_data_v0_array(out, item.entity)
        write_count(out, item.ops)
        _write_op_data_v0_array(out, item.ops)


def _read_entry_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryData], int]:
    items = []
    for _ in range(elements):
        item = new(EntryData)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.entity, at = _read_entity_data_v1_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 11, budget)
        item.ops, at = _read_op_data_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_entry_data_v1_array(out: bytearray, items: list[EntryData]) -> None:
    for item in items:
        write_compact_count(out, item.entity)
        _write_entity_data_v1_array(out, item.entity)
        write_compact_count(out, item.ops)
        _write_op_data_v1_array(out, item.ops)
        out.append(0)


def _read_alter_client_quotas_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterClientQuotasRequest, int]:
    item = new(AlterClientQuotasRequest)
    count, at = read_count(buffer, at, 8, budget)
    item.entries, at = _read_entry_data_v0_array(buffer, at, count, budget)
    (item.validate_only,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_alter_client_quotas_request_v0(
    out: bytearray, item: AlterClientQuotasRequest, payloads: Payloads
) -> None:
    write_count(out, item.entries)
    _write_entry_data_v0_array(out, item.entries)
    out += _pack_o(item.validate_only)


def _read_alter_client_quotas_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterClientQuotasRequest, int]:
    item = new(AlterClientQuotasRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.entries, at = _read_entry_data_v1_array(buffer, at, count, budget)
    item.validate_only, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_client_quotas_request_v1(
    out: bytearray, item: AlterClientQuotasRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.entries)
    _write_entry_data_v1_array(out, item.entries)
    out += _pack_ot(item.validate_only, 0)


@dataclass(slots=True, eq=False, repr=False)
class AlterClientQuotasRequest(Request["AlterClientQuotasResponse"]):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_alter_client_quotas_request_v0,
        1: _read_alter_client_quotas_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_alter_client_quotas_request_v0,
        1: _write_alter_client_quotas_request_v1,
    }

    entries: list[EntryData] = field(default_factory=list)
    validate_only: bool = False


@dataclass(slots=True, eq=False, repr=False)
class EntryDataResponse(Structure):
    """AlterClientQuotasResponse.entries[]"""

    error_code: int = 0
    error_message: str | None = ""
    entity: list[EntityData] = field(default_factory=list)


def _read_entry_data_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(EntryDataResponse)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.entity, at = _read_entity_data_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_entry_data_response_v0_array(out: bytearray, items: list[EntryDataResponse]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        write_count(out, item.entity)
        _write_entity_data_v0_array(out, item.entity)


def _read_entry_data_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(EntryDataResponse)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.entity, at = _read_entity_data_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_entry_data_response_v1_array(out: bytearray, items: list[EntryDataResponse]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_count(out, item.entity)
        _write_entity_data_v1_array(out, item.entity)
        out.append(0)


def _read_alter_client_quotas_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterClientQuotasResponse, int]:
    item = new(AlterClientQuotasResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 8, budget)
    item.entries, at = _read_entry_data_response_v0_array(buffer, at, count, budget)
    return item, at


def _write_alter_client_quotas_response_v0(
    out: bytearray, item: AlterClientQuotasResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.entries)
    _write_entry_data_response_v0_array(out, item.entries)


def _read_alter_client_quotas_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterClientQuotasResponse, int]:
    item = new(AlterClientQuotasResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.entries, at = _read_entry_data_response_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_client_quotas_response_v1(
    out: bytearray, item: AlterClientQuotasResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.entries)
    _write_entry_data_response_v1_array(out, item.entries)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterClientQuotasResponse(Message):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_alter_client_quotas_response_v0,
        1: _read_alter_client_quotas_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_alter_client_quotas_response_v0,
        1: _write_alter_client_quotas_response_v1,
    }

    throttle_time_ms: int = 0
    entries: list[EntryDataResponse] = field(default_factory=list)
