"""Generated from `schemas/update_features.fields` by `odradek.wire.generator`: do not edit."""

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
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 57 UpdateFeatures

request UpdateFeaturesRequest 0-2 flexible 0+
    timeout_ms: int32 = 60000
    feature_updates: [FeatureUpdateKey]
        feature: string
        max_version_level: int16
        allow_downgrade: bool @0
        upgrade_type: int8 @1+ = 1
    validate_only: bool @1+

response UpdateFeaturesResponse 0-2 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    error_message: string?
    results: [UpdatableFeatureResult] @0-1
        feature: string
        error_code: int16
        error_message: string?
"""


_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hot: Final = Struct(">h?B").unpack_from
_unpack_hbt: Final = Struct(">hbB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_ot: Final = Struct(">?B").pack
_pack_h: Final = Struct(">h").pack
_pack_hot: Final = Struct(">h?B").pack
_pack_hbt: Final = Struct(">hbB").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class FeatureUpdateKey(Structure):
    """UpdateFeaturesRequest.feature_updates[]"""

    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False  # v0
    upgrade_type: int = 1  # v1+


def _read_feature_update_key_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FeatureUpdateKey], int]:
    items = []
    for _ in range(elements):
        item = new(FeatureUpdateKey)
        item.upgrade_type = 1
        item.feature, at = read_compact_string(buffer, at)
        item.max_version_level, item.allow_downgrade, tags = _unpack_hot(buffer, at)
        at += 4
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_feature_update_key_v0_array(out: bytearray, items: list[FeatureUpdateKey]) -> None:
    for item in items:
        write_compact_string(out, item.feature)
        out += _pack_hot(item.max_version_level, item.allow_downgrade, 0)


def _read_feature_update_key_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FeatureUpdateKey], int]:
    items = []
    for _ in range(elements):
        item = new(FeatureUpdateKey)
        item.allow_downgrade = False
        item.feature, at = read_compact_string(buffer, at)
        item.max_version_level, item.upgrade_type, tags = _unpack_hbt(buffer, at)
        at += 4
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_feature_update_key_v1_array(out: bytearray, items: list[FeatureUpdateKey]) -> None:
    for item in items:
        write_compact_string(out, item.feature)
        out += _pack_hbt(item.max_version_level, item.upgrade_type, 0)


def _read_update_features_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateFeaturesRequest, int]:
    item = new(UpdateFeaturesRequest)
    item.validate_only = False
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.feature_updates, at = _read_feature_update_key_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_update_features_request_v0(
    out: bytearray, item: UpdateFeaturesRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.timeout_ms)
    write_compact_count(out, item.feature_updates)
    _write_feature_update_key_v0_array(out, item.feature_updates)
    out.append(0)


def _read_update_features_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateFeaturesRequest, int]:
    item = new(UpdateFeaturesRequest)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.feature_updates, at = _read_feature_update_key_v1_array(buffer, at, count, budget)
    item.validate_only, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_update_features_request_v1(
    out: bytearray, item: UpdateFeaturesRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.timeout_ms)
    write_compact_count(out, item.feature_updates)
    _write_feature_update_key_v1_array(out, item.feature_updates)
    out += _pack_ot(item.validate_only, 0)


@dataclass(slots=True, eq=False, repr=False)
class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"]):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_update_features_request_v0,
        1: _read_update_features_request_v1,
        2: _read_update_features_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_update_features_request_v0,
        1: _write_update_features_request_v1,
        2: _write_update_features_request_v1,
    }

    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = field(default_factory=list)
    validate_only: bool = False  # v1+


@dataclass(slots=True, eq=False, repr=False)
class UpdatableFeatureResult(Structure):
    """UpdateFeaturesResponse.results[]"""

    feature: str = ""
    error_code: int = 0
    error_message: str | None = ""


def _read_updatable_feature_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdatableFeatureResult], int]:
    items = []
    for _ in range(elements):
        item = new(UpdatableFeatureResult)
        item.feature, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_updatable_feature_result_v0_array(out: bytearray, items: list[UpdatableFeatureResult]) -> None:
    for item in items:
        write_compact_string(out, item.feature)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_update_features_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateFeaturesResponse, int]:
    item = new(UpdateFeaturesResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_updatable_feature_result_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_update_features_response_v0(
    out: bytearray, item: UpdateFeaturesResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.results)
    _write_updatable_feature_result_v0_array(out, item.results)
    out.append(0)


def _read_update_features_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateFeaturesResponse, int]:
    item = new(UpdateFeaturesResponse)
    item.results = []
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_update_features_response_v2(
    out: bytearray, item: UpdateFeaturesResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class UpdateFeaturesResponse(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_update_features_response_v0,
        1: _read_update_features_response_v0,
        2: _read_update_features_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_update_features_response_v0,
        1: _write_update_features_response_v0,
        2: _write_update_features_response_v2,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdatableFeatureResult] = field(default_factory=list)  # up to v1
