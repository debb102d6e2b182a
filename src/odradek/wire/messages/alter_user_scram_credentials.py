"""Generated from `schemas/alter_user_scram_credentials.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 51 AlterUserScramCredentials

request AlterUserScramCredentialsRequest 0 flexible 0+
    deletions: [ScramCredentialDeletion]
        name: string
        mechanism: int8
    upsertions: [ScramCredentialUpsertion]
        name: string
        mechanism: int8
        iterations: int32
        salt: bytes
        salted_password: bytes

response AlterUserScramCredentialsResponse 0 flexible 0+
    throttle_time_ms: int32
    results: [AlterUserScramCredentialsResult]
        user: string
        error_code: int16
        error_message: string?
"""


_unpack_bt: Final = Struct(">bB").unpack_from
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_bt: Final = Struct(">bB").pack
_pack_bi: Final = Struct(">bi").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class ScramCredentialDeletion(Structure):
    """AlterUserScramCredentialsRequest.deletions[]"""

    name: str = ""
    mechanism: int = 0


@dataclass(slots=True, eq=False, repr=False)
class ScramCredentialUpsertion(Structure):
    """AlterUserScramCredentialsRequest.upsertions[]"""

    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""


def _read_scram_credential_deletion_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ScramCredentialDeletion], int]:
    items = []
    for _ in range(elements):
        item = new(ScramCredentialDeletion)
        item.name, at = read_compact_string(buffer, at)
        item.mechanism, tags = _unpack_bt(buffer, at)
        at += 2
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_scram_credential_deletion_v0_array(out: bytearray, items: list[ScramCredentialDeletion]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_bt(item.mechanism, 0)


def _read_scram_credential_upsertion_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ScramCredentialUpsertion], int]:
    items = []
    for _ in range(elements):
        item = new(ScramCredentialUpsertion)
        item.name, at = read_compact_string(buffer, at)
        item.mechanism, item.iterations = _unpack_bi(buffer, at)
        at += 5
        item.salt, at = read_compact_bytes(buffer, at)
        item.salted_password, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_scram_credential_upsertion_v0_array(out: bytearray, items: list[ScramCredentialUpsertion]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_bi(item.mechanism, item.iterations)
        write_compact_bytes(out, item.salt)
        write_compact_bytes(out, item.salted_password)
        out.append(0)


def _read_alter_user_scram_credentials_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterUserScramCredentialsRequest, int]:
    item = new(AlterUserScramCredentialsRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.deletions, at = _read_scram_credential_deletion_v0_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 9, budget)
    item.upsertions, at = _read_scram_credential_upsertion_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_user_scram_credentials_request_v0(
    out: bytearray, item: AlterUserScramCredentialsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.deletions)
    _write_scram_credential_deletion_v0_array(out, item.deletions)
    write_compact_count(out, item.upsertions)
    _write_scram_credential_upsertion_v0_array(out, item.upsertions)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterUserScramCredentialsRequest(Request["AlterUserScramCredentialsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_alter_user_scram_credentials_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_alter_user_scram_credentials_request_v0}

    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AlterUserScramCredentialsResult(Structure):
    """AlterUserScramCredentialsResponse.results[]"""

    user: str = ""
    error_code: int = 0
    error_message: str | None = ""


def _read_alter_user_scram_credentials_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AlterUserScramCredentialsResult], int]:
    items = []
    for _ in range(elements):
        item = new(AlterUserScramCredentialsResult)
        item.user, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_alter_user_scram_credentials_result_v0_array(
    out: bytearray, items: list[AlterUserScramCredentialsResult]
) -> None:
    for item in items:
        write_compact_string(out, item.user)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_alter_user_scram_credentials_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterUserScramCredentialsResponse, int]:
    item = new(AlterUserScramCredentialsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_alter_user_scram_credentials_result_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_user_scram_credentials_response_v0(
    out: bytearray, item: AlterUserScramCredentialsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_alter_user_scram_credentials_result_v0_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterUserScramCredentialsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_alter_user_scram_credentials_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_alter_user_scram_credentials_response_v0}

    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = field(default_factory=list)
