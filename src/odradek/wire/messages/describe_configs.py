"""Generated from `schemas/describe_configs.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_string,
    read_strings,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_count,
    write_nullable_string,
    write_string,
    write_strings,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 32 DescribeConfigs

request DescribeConfigsRequest 1-4 flexible 4+
    resources: [DescribeConfigsResource]
        resource_type: int8
        resource_name: string
        configuration_keys: [string]?
    include_synonyms: bool
    include_documentation: bool @3+

response DescribeConfigsResponse 1-4 flexible 4+
    throttle_time_ms: int32
    results: [DescribeConfigsResult]
        error_code: int16
        error_message: string?
        resource_type: int8
        resource_name: string
        configs: [DescribeConfigsResourceResult]
            name: string
            value: string?
            read_only: bool
            config_source: int8 = -1
            is_sensitive: bool
            synonyms: [DescribeConfigsSynonym]
                name: string
                value: string?
                source: int8
            config_type: int8 @3+
            documentation: string? @3+
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_oo: Final = Struct(">??").unpack_from
_unpack_oot: Final = Struct(">??B").unpack_from
_unpack_obo: Final = Struct(">?b?").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bt: Final = Struct(">bB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_oo: Final = Struct(">??").pack
_pack_oot: Final = Struct(">??B").pack
_pack_obo: Final = Struct(">?b?").pack
_pack_b: Final = Struct(">b").pack
_pack_bt: Final = Struct(">bB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsResource(Structure):
    """DescribeConfigsRequest.resources[]"""

    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = field(default_factory=list)


def _read_describe_configs_resource_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResource], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResource)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        count, at = read_nullable_count(buffer, at, 2, budget)
        if count < 0:
            item.configuration_keys = None
        else:
            item.configuration_keys, at = read_strings(buffer, at, count)
        items.append(item)
    return items, at


def _write_describe_configs_resource_v1_array(out: bytearray, items: list[DescribeConfigsResource]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        if item.configuration_keys is None:
            out += NULL_INT32
        else:
            write_count(out, item.configuration_keys)
            write_strings(out, item.configuration_keys)


def _read_describe_configs_resource_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResource], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResource)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        count, at = read_compact_nullable_count(buffer, at, 1, budget)
        if count < 0:
            item.configuration_keys = None
        else:
            item.configuration_keys, at = read_compact_strings(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_configs_resource_v4_array(out: bytearray, items: list[DescribeConfigsResource]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        if item.configuration_keys is None:
            out.append(0)
        else:
            write_compact_count(out, item.configuration_keys)
            write_compact_strings(out, item.configuration_keys)
        out.append(0)


def _read_describe_configs_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsRequest, int]:
    item = new(DescribeConfigsRequest)
    item.include_documentation = False
    count, at = read_count(buffer, at, 7, budget)
    item.resources, at = _read_describe_configs_resource_v1_array(buffer, at, count, budget)
    (item.include_synonyms,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_describe_configs_request_v1(
    out: bytearray, item: DescribeConfigsRequest, payloads: Payloads
) -> None:
    write_count(out, item.resources)
    _write_describe_configs_resource_v1_array(out, item.resources)
    out += _pack_o(item.include_synonyms)


def _read_describe_configs_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsRequest, int]:
    item = new(DescribeConfigsRequest)
    count, at = read_count(buffer, at, 7, budget)
    item.resources, at = _read_describe_configs_resource_v1_array(buffer, at, count, budget)
    item.include_synonyms, item.include_documentation = _unpack_oo(buffer, at)
    at += 2
    return item, at


def _write_describe_configs_request_v3(
    out: bytearray, item: DescribeConfigsRequest, payloads: Payloads
) -> None:
    write_count(out, item.resources)
    _write_describe_configs_resource_v1_array(out, item.resources)
    out += _pack_oo(item.include_synonyms, item.include_documentation)


def _read_describe_configs_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsRequest, int]:
    item = new(DescribeConfigsRequest)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.resources, at = _read_describe_configs_resource_v4_array(buffer, at, count, budget)
    item.include_synonyms, item.include_documentation, tags = _unpack_oot(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_configs_request_v4(
    out: bytearray, item: DescribeConfigsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.resources)
    _write_describe_configs_resource_v4_array(out, item.resources)
    out += _pack_oot(item.include_synonyms, item.include_documentation, 0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsRequest(Request["DescribeConfigsResponse"]):
    """Versions 1 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[Versions] = Versions(1, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_describe_configs_request_v1,
        2: _read_describe_configs_request_v1,
        3: _read_describe_configs_request_v3,
        4: _read_describe_configs_request_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_describe_configs_request_v1,
        2: _write_describe_configs_request_v1,
        3: _write_describe_configs_request_v3,
        4: _write_describe_configs_request_v4,
    }

    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: bool = False
    include_documentation: bool = False  # v3+


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsSynonym(Structure):
    """DescribeConfigsResponse.results[].configs[].synonyms[]"""

    name: str = ""
    value: str | None = ""
    source: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsResourceResult(Structure):
    """DescribeConfigsResponse.results[].configs[]"""

    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int = 0  # v3+
    documentation: str | None = ""  # v3+


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsResult(Structure):
    """DescribeConfigsResponse.results[]"""

    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)


def _read_describe_configs_synonym_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsSynonym], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsSynonym)
        item.name, at = read_string(buffer, at)
        item.value, at = read_nullable_string(buffer, at)
        (item.source,) = _unpack_b(buffer, at)
        at += 1
        items.append(item)
    return items, at


def _write_describe_configs_synonym_v1_array(out: bytearray, items: list[DescribeConfigsSynonym]) -> None:
    for item in items:
        write_string(out, item.name)
        write_nullable_string(out, item.value)
        out += _pack_b(item.source)


def _read_describe_configs_synonym_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsSynonym], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsSynonym)
        item.name, at = read_compact_string(buffer, at)
        item.value, at = read_compact_nullable_string(buffer, at)
        item.source, tags = _unpack_bt(buffer, at)
        at += 2
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_configs_synonym_v4_array(out: bytearray, items: list[DescribeConfigsSynonym]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_nullable_string(out, item.value)
        out += _pack_bt(item.source, 0)


def _read_describe_configs_resource_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResourceResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResourceResult)
        item.config_type = 0
        item.documentation = ""
        item.name, at = read_string(buffer, at)
        item.value, at = read_nullable_string(buffer, at)
        item.read_only, item.config_source, item.is_sensitive = _unpack_obo(buffer, at)
        at += 3
        count, at = read_count(buffer, at, 5, budget)
        item.synonyms, at = _read_describe_configs_synonym_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_describe_configs_resource_result_v1_array(
    out: bytearray, items: list[DescribeConfigsResourceResult]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_nullable_string(out, item.value)
        out += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
        write_count(out, item.synonyms)
        _write_describe_configs_synonym_v1_array(out, item.synonyms)


def _read_describe_configs_resource_result_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResourceResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResourceResult)
        item.name, at = read_string(buffer, at)
        item.value, at = read_nullable_string(buffer, at)
        item.read_only, item.config_source, item.is_sensitive = _unpack_obo(buffer, at)
        at += 3
        count, at = read_count(buffer, at, 5, budget)
        item.synonyms, at = _read_describe_configs_synonym_v1_array(buffer, at, count, budget)
        (item.config_type,) = _unpack_b(buffer, at)
        at += 1
        item.documentation, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_describe_configs_resource_result_v3_array(
    out: bytearray, items: list[DescribeConfigsResourceResult]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_nullable_string(out, item.value)
        out += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
        write_count(out, item.synonyms)
        _write_describe_configs_synonym_v1_array(out, item.synonyms)
        out += _pack_b(item.config_type)
        write_nullable_string(out, item.documentation)


def _read_describe_configs_resource_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResourceResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResourceResult)
        item.name, at = read_compact_string(buffer, at)
        item.value, at = read_compact_nullable_string(buffer, at)
        item.read_only, item.config_source, item.is_sensitive = _unpack_obo(buffer, at)
        at += 3
        count, at = read_compact_count(buffer, at, 4, budget)
        item.synonyms, at = _read_describe_configs_synonym_v4_array(buffer, at, count, budget)
        (item.config_type,) = _unpack_b(buffer, at)
        at += 1
        item.documentation, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_configs_resource_result_v4_array(
    out: bytearray, items: list[DescribeConfigsResourceResult]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_nullable_string(out, item.value)
        out += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
        write_compact_count(out, item.synonyms)
        _write_describe_configs_synonym_v4_array(out, item.synonyms)
        out += _pack_b(item.config_type)
        write_compact_nullable_string(out, item.documentation)
        out.append(0)


def _read_describe_configs_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 11, budget)
        item.configs, at = _read_describe_configs_resource_result_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_describe_configs_result_v1_array(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        write_count(out, item.configs)
        _write_describe_configs_resource_result_v1_array(out, item.configs)


def _read_describe_configs_result_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.configs, at = _read_describe_configs_resource_result_v3_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_describe_configs_result_v3_array(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        write_count(out, item.configs)
        _write_describe_configs_resource_result_v3_array(out, item.configs)


def _read_describe_configs_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeConfigsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeConfigsResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 9, budget)
        item.configs, at = _read_describe_configs_resource_result_v4_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_configs_result_v4_array(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        write_compact_count(out, item.configs)
        _write_describe_configs_resource_result_v4_array(out, item.configs)
        out.append(0)


def _read_describe_configs_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsResponse, int]:
    item = new(DescribeConfigsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 11, budget)
    item.results, at = _read_describe_configs_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_describe_configs_response_v1(
    out: bytearray, item: DescribeConfigsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_describe_configs_result_v1_array(out, item.results)


def _read_describe_configs_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsResponse, int]:
    item = new(DescribeConfigsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 11, budget)
    item.results, at = _read_describe_configs_result_v3_array(buffer, at, count, budget)
    return item, at


def _write_describe_configs_response_v3(
    out: bytearray, item: DescribeConfigsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_describe_configs_result_v3_array(out, item.results)


def _read_describe_configs_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeConfigsResponse, int]:
    item = new(DescribeConfigsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 7, budget)
    item.results, at = _read_describe_configs_result_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_configs_response_v4(
    out: bytearray, item: DescribeConfigsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_describe_configs_result_v4_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeConfigsResponse(Message):
    """Versions 1 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[Versions] = Versions(1, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_describe_configs_response_v1,
        2: _read_describe_configs_response_v1,
        3: _read_describe_configs_response_v3,
        4: _read_describe_configs_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_describe_configs_response_v1,
        2: _write_describe_configs_response_v1,
        3: _write_describe_configs_response_v3,
        4: _write_describe_configs_response_v4,
    }

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)
