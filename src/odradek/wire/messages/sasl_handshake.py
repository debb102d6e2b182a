"""Generated from `schemas/sasl_handshake.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, read_count, read_string, read_strings
from odradek.wire.encoding import Payloads, write_count, write_string, write_strings
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
api 17 SaslHandshake

request SaslHandshakeRequest 0-1
    mechanism: string

response SaslHandshakeResponse 0-1
    error_code: int16
    mechanisms: [string]
"""


_unpack_h: Final = Struct(">h").unpack_from
_pack_h: Final = Struct(">h").pack


def _read_sasl_handshake_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslHandshakeRequest, int]:
    item = new(SaslHandshakeRequest)
    item.mechanism, at = read_string(buffer, at)
    return item, at


def _write_sasl_handshake_request_v0(out: bytearray, item: SaslHandshakeRequest, payloads: Payloads) -> None:
    write_string(out, item.mechanism)


@dataclass(slots=True, eq=False, repr=False)
class SaslHandshakeRequest(Request["SaslHandshakeResponse"]):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sasl_handshake_request_v0,
        1: _read_sasl_handshake_request_v0,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sasl_handshake_request_v0,
        1: _write_sasl_handshake_request_v0,
    }

    mechanism: str = ""


def _read_sasl_handshake_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SaslHandshakeResponse, int]:
    item = new(SaslHandshakeResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_count(buffer, at, 2, budget)
    item.mechanisms, at = read_strings(buffer, at, count)
    return item, at


def _write_sasl_handshake_response_v0(
    out: bytearray, item: SaslHandshakeResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_count(out, item.mechanisms)
    write_strings(out, item.mechanisms)


@dataclass(slots=True, eq=False, repr=False)
class SaslHandshakeResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sasl_handshake_response_v0,
        1: _read_sasl_handshake_response_v0,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sasl_handshake_response_v0,
        1: _write_sasl_handshake_response_v0,
    }

    error_code: int = 0
    mechanisms: list[str] = field(default_factory=list)
