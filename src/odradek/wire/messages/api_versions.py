"""Generated from `schemas/api_versions.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_tag,
    read_tag_count,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_tag,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 18 ApiVersions

request ApiVersionsRequest 0-5 flexible 3+
    client_software_name: string @3+
    client_software_version: string @3+
    cluster_id: string? @5+ = null
    node_id: int32 @5+ = -1

response ApiVersionsResponse 0-5 flexible 3+
    error_code: int16
    api_keys: [ApiVersion]
        api_key: int16
        min_version: int16
        max_version: int16
    throttle_time_ms: int32 @1+
    supported_features: [SupportedFeatureKey] @3+ tag 0
        name: string
        min_version: int16
        max_version: int16
    finalized_features_epoch: int64 @3+ tag 1 = -1
    finalized_features: [FinalizedFeatureKey] @3+ tag 2
        name: string
        max_version_level: int16
        min_version_level: int16
    zk_migration_ready: bool @3+ tag 3
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hht: Final = Struct(">hhB").unpack_from
_unpack_hhh: Final = Struct(">hhh").unpack_from
_unpack_hhht: Final = Struct(">hhhB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_h: Final = Struct(">h").pack
_pack_hht: Final = Struct(">hhB").pack
_pack_hhh: Final = Struct(">hhh").pack
_pack_hhht: Final = Struct(">hhhB").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_q: Final = Struct(">q").pack


def _read_api_versions_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsRequest, int]:
    item = new(ApiVersionsRequest)
    item.client_software_name = ""
    item.client_software_version = ""
    item.cluster_id = None
    item.node_id = -1
    return item, at


def _write_api_versions_request_v0(out: bytearray, item: ApiVersionsRequest, payloads: Payloads) -> None:
    pass


def _read_api_versions_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsRequest, int]:
    item = new(ApiVersionsRequest)
    item.cluster_id = None
    item.node_id = -1
    item.client_software_name, at = read_compact_string(buffer, at)
    item.client_software_version, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_api_versions_request_v3(out: bytearray, item: ApiVersionsRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.client_software_name)
    write_compact_string(out, item.client_software_version)
    out.append(0)


def _read_api_versions_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsRequest, int]:
    item = new(ApiVersionsRequest)
    item.client_software_name, at = read_compact_string(buffer, at)
    item.client_software_version, at = read_compact_string(buffer, at)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    item.node_id, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_api_versions_request_v5(out: bytearray, item: ApiVersionsRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.client_software_name)
    write_compact_string(out, item.client_software_version)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_it(item.node_id, 0)


@dataclass(slots=True, eq=False, repr=False)
class ApiVersionsRequest(Request["ApiVersionsResponse"]):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_api_versions_request_v0,
        1: _read_api_versions_request_v0,
        2: _read_api_versions_request_v0,
        3: _read_api_versions_request_v3,
        4: _read_api_versions_request_v3,
        5: _read_api_versions_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_api_versions_request_v0,
        1: _write_api_versions_request_v0,
        2: _write_api_versions_request_v0,
        3: _write_api_versions_request_v3,
        4: _write_api_versions_request_v3,
        5: _write_api_versions_request_v5,
    }

    client_software_name: str = ""  # v3+
    client_software_version: str = ""  # v3+
    cluster_id: str | None = None  # v5+
    node_id: int = -1  # v5+


@dataclass(slots=True, eq=False, repr=False)
class ApiVersion(Structure):
    """ApiVersionsResponse.api_keys[]"""

    api_key: int = 0
    min_version: int = 0
    max_version: int = 0


@dataclass(slots=True, eq=False, repr=False)
class SupportedFeatureKey(Structure):
    """ApiVersionsResponse.supported_features[]"""

    name: str = ""
    min_version: int = 0
    max_version: int = 0


@dataclass(slots=True, eq=False, repr=False)
class FinalizedFeatureKey(Structure):
    """ApiVersionsResponse.finalized_features[]"""

    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0


def _read_api_version_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ApiVersion], int]:
    items = []
    for _ in range(elements):
        item = new(ApiVersion)
        item.api_key, item.min_version, item.max_version = _unpack_hhh(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_api_version_v0_array(out: bytearray, items: list[ApiVersion]) -> None:
    for item in items:
        out += _pack_hhh(item.api_key, item.min_version, item.max_version)


def _read_api_version_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ApiVersion], int]:
    items = []
    for _ in range(elements):
        item = new(ApiVersion)
        item.api_key, item.min_version, item.max_version, tags = _unpack_hhht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_api_version_v3_array(out: bytearray, items: list[ApiVersion]) -> None:
    for item in items:
        out += _pack_hhht(item.api_key, item.min_version, item.max_version, 0)


def _read_supported_feature_key_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[SupportedFeatureKey], int]:
    items = []
    for _ in range(elements):
        item = new(SupportedFeatureKey)
        item.name, at = read_compact_string(buffer, at)
        item.min_version, item.max_version, tags = _unpack_hht(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_supported_feature_key_v3_array(out: bytearray, items: list[SupportedFeatureKey]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_hht(item.min_version, item.max_version, 0)


def _read_finalized_feature_key_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FinalizedFeatureKey], int]:
    items = []
    for _ in range(elements):
        item = new(FinalizedFeatureKey)
        item.name, at = read_compact_string(buffer, at)
        item.max_version_level, item.min_version_level, tags = _unpack_hht(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_finalized_feature_key_v3_array(out: bytearray, items: list[FinalizedFeatureKey]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_hht(item.max_version_level, item.min_version_level, 0)


def _read_api_versions_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsResponse, int]:
    item = new(ApiVersionsResponse)
    item.throttle_time_ms = 0
    item.supported_features = []
    item.finalized_features_epoch = -1
    item.finalized_features = []
    item.zk_migration_ready = False
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_count(buffer, at, 6, budget)
    item.api_keys, at = _read_api_version_v0_array(buffer, at, count, budget)
    return item, at


def _write_api_versions_response_v0(out: bytearray, item: ApiVersionsResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_count(out, item.api_keys)
    _write_api_version_v0_array(out, item.api_keys)


def _read_api_versions_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsResponse, int]:
    item = new(ApiVersionsResponse)
    item.supported_features = []
    item.finalized_features_epoch = -1
    item.finalized_features = []
    item.zk_migration_ready = False
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_count(buffer, at, 6, budget)
    item.api_keys, at = _read_api_version_v0_array(buffer, at, count, budget)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_api_versions_response_v1(out: bytearray, item: ApiVersionsResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_count(out, item.api_keys)
    _write_api_version_v0_array(out, item.api_keys)
    out += _pack_i(item.throttle_time_ms)


def _read_api_versions_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ApiVersionsResponse, int]:
    item = new(ApiVersionsResponse)
    item.supported_features = []
    item.finalized_features_epoch = -1
    item.finalized_features = []
    item.zk_migration_ready = False
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 7, budget)
    item.api_keys, at = _read_api_version_v3_array(buffer, at, count, budget)
    item.throttle_time_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_count(buffer, at, 6, budget)
                item.supported_features, at = _read_supported_feature_key_v3_array(buffer, at, count, budget)
            elif tag == 1:
                (item.finalized_features_epoch,) = _unpack_q(buffer, at)
                at += 8
            elif tag == 2:
                count, at = read_compact_count(buffer, at, 6, budget)
                item.finalized_features, at = _read_finalized_feature_key_v3_array(buffer, at, count, budget)
            elif tag == 3:
                (item.zk_migration_ready,) = _unpack_o(buffer, at)
                at += 1
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_api_versions_response_v3(out: bytearray, item: ApiVersionsResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.api_keys)
    _write_api_version_v3_array(out, item.api_keys)
    out += _pack_i(item.throttle_time_ms)
    tags = (
        (len(item.supported_features) > 0)
        + (item.finalized_features_epoch != -1)
        + (len(item.finalized_features) > 0)
        + (item.zk_migration_ready)
    )
    out.append(tags)
    if tags:
        if len(item.supported_features) > 0:
            value = bytearray()
            write_compact_count(value, item.supported_features)
            _write_supported_feature_key_v3_array(value, item.supported_features)
            write_tag(out, 0, value)
        if item.finalized_features_epoch != -1:
            value = bytearray()
            value += _pack_q(item.finalized_features_epoch)
            write_tag(out, 1, value)
        if len(item.finalized_features) > 0:
            value = bytearray()
            write_compact_count(value, item.finalized_features)
            _write_finalized_feature_key_v3_array(value, item.finalized_features)
            write_tag(out, 2, value)
        if item.zk_migration_ready:
            value = bytearray()
            value += _pack_o(item.zk_migration_ready)
            write_tag(out, 3, value)


@dataclass(slots=True, eq=False, repr=False)
class ApiVersionsResponse(Message):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_api_versions_response_v0,
        1: _read_api_versions_response_v1,
        2: _read_api_versions_response_v1,
        3: _read_api_versions_response_v3,
        4: _read_api_versions_response_v3,
        5: _read_api_versions_response_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_api_versions_response_v0,
        1: _write_api_versions_response_v1,
        2: _write_api_versions_response_v1,
        3: _write_api_versions_response_v3,
        4: _write_api_versions_response_v3,
        5: _write_api_versions_response_v3,
    }

    error_code: int = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: int = 0  # v1+
    supported_features: list[SupportedFeatureKey] = field(default_factory=list)  # v3+
    finalized_features_epoch: int = -1  # v3+
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list)  # v3+
    zk_migration_ready: bool = False  # v3+
