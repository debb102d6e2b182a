"""Generated from `schemas/describe_client_quotas.fields` by `odradek.wire.generator`: do not edit."""

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
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
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
api 48 DescribeClientQuotas

request DescribeClientQuotasRequest 0-1 flexible 1+
    components: [ComponentData]
        entity_type: string
        match_type: int8
        match: string?
    strict: bool

response DescribeClientQuotasResponse 0-1 flexible 1+
    throttle_time_ms: int32
    error_code: int16
    error_message: string?
    entries: [EntryData]?
        entity: [EntityData]
            entity_type: string
            entity_name: string?
        values: [ValueData]
            key: string
            value: float64
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_d: Final = Struct(">d").unpack_from
_unpack_dt: Final = Struct(">dB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_ot: Final = Struct(">?B").pack
_pack_b: Final = Struct(">b").pack
_pack_d: Final = Struct(">d").pack
_pack_dt: Final = Struct(">dB").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class ComponentData(Structure):
    """DescribeClientQuotasRequest.components[]"""

    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""


def _read_component_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ComponentData], int]:
    items = []
    for _ in range(elements):
        item = new(ComponentData)
        item.entity_type, at = read_string(buffer, at)
        (item.match_type,) = _unpack_b(buffer, at)
        at += 1
        item.match, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_component_data_v0_array(out: bytearray, items: list[ComponentData]) -> None:
    for item in items:
        write_string(out, item.entity_type)
        out += _pack_b(item.match_type)
        write_nullable_string(out, item.match)


def _read_component_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ComponentData], int]:
    items = []
    for _ in range(elements):
        item = new(ComponentData)
        item.entity_type, at = read_compact_string(buffer, at)
        (item.match_type,) = _unpack_b(buffer, at)
        at += 1
        item.match, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_component_data_v1_array(out: bytearray, items: list[ComponentData]) -> None:
    for item in items:
        write_compact_string(out, item.entity_type)
        out += _pack_b(item.match_type)
        write_compact_nullable_string(out, item.match)
        out.append(0)


def _read_describe_client_quotas_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClientQuotasRequest, int]:
    item = new(DescribeClientQuotasRequest)
    count, at = read_count(buffer, at, 5, budget)
    item.components, at = _read_component_data_v0_array(buffer, at, count, budget)
    (item.strict,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_describe_client_quotas_request_v0(
    out: bytearray, item: DescribeClientQuotasRequest, payloads: Payloads
) -> None:
    write_count(out, item.components)
    _write_component_data_v0_array(out, item.components)
    out += _pack_o(item.strict)


def _read_describe_client_quotas_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClientQuotasRequest, int]:
    item = new(DescribeClientQuotasRequest)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.components, at = _read_component_data_v1_array(buffer, at, count, budget)
    item.strict, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_client_quotas_request_v1(
    out: bytearray, item: DescribeClientQuotasRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.components)
    _write_component_data_v1_array(out, item.components)
    out += _pack_ot(item.strict, 0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeClientQuotasRequest(Request["DescribeClientQuotasResponse"]):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_client_quotas_request_v0,
        1: _read_describe_client_quotas_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_client_quotas_request_v0,
        1: _write_describe_client_quotas_request_v1,
    }

    components: list[ComponentData] = field(default_factory=list)
    strict: bool = False


@dataclass(slots=True, eq=False, repr=False)
class EntityData(Structure):
    """DescribeClientQuotasResponse.entries[].entity[]"""

    entity_type: str = ""
    entity_name: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class ValueData(Structure):
    """DescribeClientQuotasResponse.entries[].values[]"""

    key: str = ""
    value: float = 0.0


@dataclass(slots=True, eq=False, repr=False)
class EntryData(Structure):
    """DescribeClientQuotasResponse.entries[]"""

    entity: list[EntityData] = field(default_factory=list)
    values: list[ValueData] = field(default_factory=list)


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


def _read_value_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ValueData], int]:
    items = []
    for _ in range(elements):
        item = new(ValueData)
        item.key, at = read_string(buffer, at)
        (item.value,) = _unpack_d(buffer, at)
        at += 8
        items.append(item)
    return items, at


def _write_value_data_v0_array(out: bytearray, items: list[ValueData]) -> None:
    for item in items:
        write_string(out, item.key)
        out += _pack_d(item.value)


def _read_value_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ValueData], int]:
    items = []
    for _ in range(elements):
        item = new(ValueData)
        item.key, at = read_compact_string(buffer, at)
        item.value, tags = _unpack_dt(buffer, at)
        at += 9
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_value_data_v1_array(out: bytearray, items: list[ValueData]) -> None:
    for item in items:
        write_compact_string(out, item.key)
        out += _pack_dt(item.value, 0)


def _read_entry_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryData], int]:
    items = []
    for _ in range(elements):
        item = new(EntryData)
        count, at = read_count(buffer, at, 4, budget)
        item.entity, at = _read_entity_data_v0_array(buffer, at, count, budget)
        count, at = read_count(buffer, at, 10, budget)
        item.values, at = _read_value_data_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_entry_data_v0_array(out: bytearray, items: list[EntryData]) -> None:
    for item in items:
        write_count(out, item.entity)
        _write_entity_data_v0_array(out, item.entity)
        write_count(out, item.values)
        _write_value_data_v0_array(out, item.values)


def _read_entry_data_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[EntryData], int]:
    items = []
    for _ in range(elements):
        item = new(EntryData)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.entity, at = _read_entity_data_v1_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 10, budget)
        item.values, at = _read_value_data_v1_array(buffer, at, count, budget)
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
        write_compact_count(out, item.values)
        _write_value_data_v1_array(out, item.values)
        out.append(0)


def _read_describe_client_quotas_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClientQuotasResponse, int]:
    item = new(DescribeClientQuotasResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_nullable_string(buffer, at)
    count, at = read_nullable_count(buffer, at, 8, budget)
    if count < 0:
        item.entries = None
    else:
        item.entries, at = _read_entry_data_v0_array(buffer, at, count, budget)
    return item, at


def _write_describe_client_quotas_response_v0(
    out: bytearray, item: DescribeClientQuotasResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_nullable_string(out, item.error_message)
    if item.entries is None:
        out += NULL_INT32
    else:
        write_count(out, item.entries)
        _write_entry_data_v0_array(out, item.entries)


def _read_describe_client_quotas_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClientQuotasResponse, int]:
    item = new(DescribeClientQuotasResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.entries = None
    else:
        item.entries, at = _read_entry_data_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_client_quotas_response_v1(
    out: bytearray, item: DescribeClientQuotasResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    if item.entries is None:
        out.append(0)
    else:
        write_compact_count(out, item.entries)
        _write_entry_data_v1_array(out, item.entries)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeClientQuotasResponse(Message):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_client_quotas_response_v0,
        1: _read_describe_client_quotas_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_client_quotas_response_v0,
        1: _write_describe_client_quotas_response_v1,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = field(default_factory=list)
