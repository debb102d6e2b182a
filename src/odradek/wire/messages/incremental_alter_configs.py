"""Generated from `schemas/incremental_alter_configs.fields` by `odradek.wire.generator`: do not edit."""

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
api 44 IncrementalAlterConfigs

request IncrementalAlterConfigsRequest 0-1 flexible 1+
    resources: [AlterConfigsResource]
        resource_type: int8
        resource_name: string
        configs: [AlterableConfig]
            name: string
            config_operation: int8
            value: string?
    validate_only: bool

response IncrementalAlterConfigsResponse 0-1 flexible 1+
    throttle_time_ms: int32
    responses: [AlterConfigsResourceResponse]
        error_code: int16
        error_message: string?
        resource_type: int8
        resource_name: string
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_ot: Final = Struct(">?B").pack
_pack_b: Final = Struct(">b").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class AlterableConfig(Structure):
    """IncrementalAlterConfigsRequest.resources[].configs[]"""

    name: str = ""
    config_operation: int = 0
    value: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class AlterConfigsResource(Structure):
    """IncrementalAlterConfigsRequest.resources[]"""

    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = field(default_factory=list)


def _read_alterable_config_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterableConfig], int]:
    items = []
    for _ in range(elements):
        item = new(AlterableConfig)
        item.name, at = read_string(buffer, at)
        (item.config_operation,) = _unpack_b(buffer, at)
        at += 1
        item.value, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_alterable_config_v0_array(out: bytearray, items: list[AlterableConfig]) -> None:
    for item in items:
        write_string(out, item.name)
        out += _pack_b(item.config_operation)
        write_nullable_string(out, item.value)


def _read_alterable_config_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterableConfig], int]:
    items = []
    for _ in range(elements):
        item = new(AlterableConfig)
        item.name, at = read_compact_string(buffer, at)
        (item.config_operation,) = _unpack_b(buffer, at)
        at += 1
        item.value, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alterable_config_v1_array(out: bytearray, items: list[AlterableConfig]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_b(item.config_operation)
        write_compact_nullable_string(out, item.value)
        out.append(0)


def _read_alter_configs_resource_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterConfigsResource], int]:
    items = []
    for _ in range(elements):
        item = new(AlterConfigsResource)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 5, budget)
        item.configs, at = _read_alterable_config_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_alter_configs_resource_v0_array(out: bytearray, items: list[AlterConfigsResource]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        write_count(out, item.configs)
        _write_alterable_config_v0_array(out, item.configs)


def _read_alter_configs_resource_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterConfigsResource], int]:
    items = []
    for _ in range(elements):
        item = new(AlterConfigsResource)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.configs, at = _read_alterable_config_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_configs_resource_v1_array(out: bytearray, items: list[AlterConfigsResource]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        write_compact_count(out, item.configs)
        _write_alterable_config_v1_array(out, item.configs)
        out.append(0)


def _read_incremental_alter_configs_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[IncrementalAlterConfigsRequest, int]:
    item = new(IncrementalAlterConfigsRequest)
    count, at = read_count(buffer, at, 7, budget)
    item.resources, at = _read_alter_configs_resource_v0_array(buffer, at, count, budget)
    (item.validate_only,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_incremental_alter_configs_request_v0(
    out: bytearray, item: IncrementalAlterConfigsRequest, payloads: Payloads
) -> None:
    write_count(out, item.resources)
    _write_alter_configs_resource_v0_array(out, item.resources)
    out += _pack_o(item.validate_only)


def _read_incremental_alter_configs_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[IncrementalAlterConfigsRequest, int]:
    item = new(IncrementalAlterConfigsRequest)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.resources, at = _read_alter_configs_resource_v1_array(buffer, at, count, budget)
    item.validate_only, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_incremental_alter_configs_request_v1(
    out: bytearray, item: IncrementalAlterConfigsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.resources)
    _write_alter_configs_resource_v1_array(out, item.resources)
    out += _pack_ot(item.validate_only, 0)


@dataclass(slots=True, eq=False, repr=False)
class IncrementalAlterConfigsRequest(Request["IncrementalAlterConfigsResponse"]):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 44
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_incremental_alter_configs_request_v0,
        1: _read_incremental_alter_configs_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_incremental_alter_configs_request_v0,
        1: _write_incremental_alter_configs_request_v1,
    }

    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False


@dataclass(slots=True, eq=False, repr=False)
class AlterConfigsResourceResponse(Structure):
    """IncrementalAlterConfigsResponse.responses[]"""

    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""


def _read_alter_configs_resource_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterConfigsResourceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(AlterConfigsResourceResponse)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        items.append(item)
    return items, at


def _write_alter_configs_resource_response_v0_array(
    out: bytearray, items: list[AlterConfigsResourceResponse]
) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)


def _read_alter_configs_resource_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterConfigsResourceResponse], int]:
    items = []
    for _ in range(elements):
        item = new(AlterConfigsResourceResponse)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_configs_resource_response_v1_array(
    out: bytearray, items: list[AlterConfigsResourceResponse]
) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        out.append(0)


def _read_incremental_alter_configs_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[IncrementalAlterConfigsResponse, int]:
    item = new(IncrementalAlterConfigsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 7, budget)
    item.responses, at = _read_alter_configs_resource_response_v0_array(buffer, at, count, budget)
    return item, at


def _write_incremental_alter_configs_response_v0(
    out: bytearray, item: IncrementalAlterConfigsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.responses)
    _write_alter_configs_resource_response_v0_array(out, item.responses)


def _read_incremental_alter_configs_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[IncrementalAlterConfigsResponse, int]:
    item = new(IncrementalAlterConfigsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 6, budget)
    item.responses, at = _read_alter_configs_resource_response_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_incremental_alter_configs_response_v1(
    out: bytearray, item: IncrementalAlterConfigsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.responses)
    _write_alter_configs_resource_response_v1_array(out, item.responses)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class IncrementalAlterConfigsResponse(Message):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = 44
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_incremental_alter_configs_response_v0,
        1: _read_incremental_alter_configs_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_incremental_alter_configs_response_v0,
        1: _write_incremental_alter_configs_response_v1,
    }

    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
