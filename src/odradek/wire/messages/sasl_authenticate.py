"""Generated from `schemas/sasl_authenticate.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_bytes,
    read_compact_bytes,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_nullable_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 36 SaslAuthenticate

request SaslAuthenticateRequest 0-2 flexible 2+
    auth_bytes: bytes

response SaslAuthenticateResponse 0-2 flexible 2+
    error_code: int16
    error_message: string?
    auth_bytes: bytes
    session_lifetime_ms: int64 @1+
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qt: Final = Struct(">qB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_q: Final = Struct(">q").pack
_pack_qt: Final = Struct(">qB").pack


def _read_sasl_authenticate_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslAuthenticateRequest, int]:
    item = new(SaslAuthenticateRequest)
    item.auth_bytes, at = read_bytes(buffer, at)
    return item, at


def _write_sasl_authenticate_request_v0(
    out: bytearray, item: SaslAuthenticateRequest, payloads: Payloads
) -> None:
    write_bytes(out, item.auth_bytes)


def _read_sasl_authenticate_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslAuthenticateRequest, int]:
    item = new(SaslAuthenticateRequest)
    item.auth_bytes, at = read_compact_bytes(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sasl_authenticate_request_v2(
    out: bytearray, item: SaslAuthenticateRequest, payloads: Payloads
) -> None:
    write_compact_bytes(out, item.auth_bytes)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class SaslAuthenticateRequest(Request["SaslAuthenticateResponse"]):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 36
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sasl_authenticate_request_v0,
        1: _read_sasl_authenticate_request_v0,
        2: _read_sasl_authenticate_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sasl_authenticate_request_v0,
        1: _write_sasl_authenticate_request_v0,
        2: _write_sasl_authenticate_request_v2,
    }

    auth_bytes: bytes = b""


def _read_sasl_authenticate_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslAuthenticateResponse, int]:
    item = new(SaslAuthenticateResponse)
    item.session_lifetime_ms = 0
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    item.error_message, at = read_nullable_string(buffer, at)
    item.auth_bytes, at = read_bytes(buffer, at)
    return item, at


def _write_sasl_authenticate_response_v0(
    out: bytearray, item: SaslAuthenticateResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_nullable_string(out, item.error_message)
    write_bytes(out, item.auth_bytes)


def _read_sasl_authenticate_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslAuthenticateResponse, int]:
    item = new(SaslAuthenticateResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    item.error_message, at = read_nullable_string(buffer, at)
    item.auth_bytes, at = read_bytes(buffer, at)
    (item.session_lifetime_ms,) = _unpack_q(buffer, at)
    at += 8
    return item, at


def _write_sasl_authenticate_response_v1(
    out: bytearray, item: SaslAuthenticateResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_nullable_string(out, item.error_message)
    write_bytes(out, item.auth_bytes)
    out += _pack_q(item.session_lifetime_ms)


def _read_sasl_authenticate_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslAuthenticateResponse, int]:
    item = new(SaslAuthenticateResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    item.error_message, at = read_compact_nullable_string(buffer, at)
    item.auth_bytes, at = read_compact_bytes(buffer, at)
    item.session_lifetime_ms, tags = _unpack_qt(buffer, at)
    at += 9
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sasl_authenticate_response_v2(
    out: bytearray, item: SaslAuthenticateResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_bytes(out, item.auth_bytes)
    out += _pack_qt(item.session_lifetime_ms, 0)


@dataclass(slots=True, eq=False, repr=False)
class SaslAuthenticateResponse(Message):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 36
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sasl_authenticate_response_v0,
        1: _read_sasl_authenticate_response_v1,
        2: _read_sasl_authenticate_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sasl_authenticate_response_v0,
        1: _write_sasl_authenticate_response_v1,
        2: _write_sasl_authenticate_response_v2,
    }

    error_code: int = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0  # v1+
