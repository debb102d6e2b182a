"""Generated from `schemas/describe_user_scram_credentials.fields` by `odradek.wire.generator`: do not edit."""

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
api 50 DescribeUserScramCredentials

request DescribeUserScramCredentialsRequest 0 flexible 0+
    users: [UserName]?
        name: string

response DescribeUserScramCredentialsResponse 0 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    error_message: string?
    results: [DescribeUserScramCredentialsResult]
        user: string
        error_code: int16
        error_message: string?
        credential_infos: [CredentialInfo]
            mechanism: int8
            iterations: int32
"""


_unpack_bit: Final = Struct(">biB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_bit: Final = Struct(">biB").pack
_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class UserName(Structure):
    """DescribeUserScramCredentialsRequest.users[]"""

    name: str = ""


def _read_user_name_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UserName], int]:
    items = []
    for _ in range(elements):
        item = new(UserName)
        item.name, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_user_name_v0_array(out: bytearray, items: list[UserName]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out.append(0)


def _read_describe_user_scram_credentials_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeUserScramCredentialsRequest, int]:
    item = new(DescribeUserScramCredentialsRequest)
    count, at = read_compact_nullable_count(buffer, at, 2, budget)
    if count < 0:
        item.users = None
    else:
        item.users, at = _read_user_name_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_user_scram_credentials_request_v0(
    out: bytearray, item: DescribeUserScramCredentialsRequest, payloads: Payloads
) -> None:
    if item.users is None:
        out.append(0)
    else:
        write_compact_count(out, item.users)
        _write_user_name_v0_array(out, item.users)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeUserScramCredentialsRequest(Request["DescribeUserScramCredentialsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_user_scram_credentials_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_user_scram_credentials_request_v0}

    users: list[UserName] | None = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class CredentialInfo(Structure):
    """DescribeUserScramCredentialsResponse.results[].credential_infos[]"""

    mechanism: int = 0
    iterations: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DescribeUserScramCredentialsResult(Structure):
    """DescribeUserScramCredentialsResponse.results[]"""

    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    credential_infos: list[CredentialInfo] = field(default_factory=list)


def _read_credential_info_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CredentialInfo], int]:
    items = []
    for _ in range(elements):
        item = new(CredentialInfo)
        item.mechanism, item.iterations, tags = _unpack_bit(buffer, at)
        at += 6
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_credential_info_v0_array(out: bytearray, items: list[CredentialInfo]) -> None:
    for item in items:
        out += _pack_bit(item.mechanism, item.iterations, 0)


def _read_describe_user_scram_credentials_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeUserScramCredentialsResult], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeUserScramCredentialsResult)
        item.user, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.credential_infos, at = _read_credential_info_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_user_scram_credentials_result_v0_array(
    out: bytearray, items: list[DescribeUserScramCredentialsResult]
) -> None:
    for item in items:
        write_compact_string(out, item.user)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_count(out, item.credential_infos)
        _write_credential_info_v0_array(out, item.credential_infos)
        out.append(0)


def _read_describe_user_scram_credentials_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeUserScramCredentialsResponse, int]:
    item = new(DescribeUserScramCredentialsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 6, budget)
    item.results, at = _read_describe_user_scram_credentials_result_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_user_scram_credentials_response_v0(
    out: bytearray, item: DescribeUserScramCredentialsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.results)
    _write_describe_user_scram_credentials_result_v0_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeUserScramCredentialsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_user_scram_credentials_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_user_scram_credentials_response_v0}

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = field(default_factory=list)
