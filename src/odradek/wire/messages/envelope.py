"""Generated from `schemas/envelope.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_bytes,
    read_compact_nullable_bytes,
    read_tag,
    read_tag_count,
    skip_tags,
)
from odradek.wire.encoding import Payloads, write_compact_bytes, write_compact_nullable_bytes, write_tag
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 58 Envelope

request EnvelopeRequest 0 flexible 0+
    request_data: bytes
    request_principal: bytes?
    client_host_address: bytes
    asked_broker_id: int32 tag 10000 = -1

response EnvelopeResponse 0 flexible 0+
    response_data: bytes? = null
    error_code: int16
"""


_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_ht: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack


def _read_envelope_request_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EnvelopeRequest, int]:
    item = new(EnvelopeRequest)
    item.asked_broker_id = -1
    item.request_data, at = read_compact_bytes(buffer, at)
    item.request_principal, at = read_compact_nullable_bytes(buffer, at)
    item.client_host_address, at = read_compact_bytes(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 10000:
                (item.asked_broker_id,) = _unpack_i(buffer, at)
                at += 4
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_envelope_request_v0(out: bytearray, item: EnvelopeRequest, payloads: Payloads) -> None:
    write_compact_bytes(out, item.request_data)
    write_compact_nullable_bytes(out, item.request_principal)
    write_compact_bytes(out, item.client_host_address)
    tags = item.asked_broker_id != -1
    out.append(tags)
    if tags:
        if item.asked_broker_id != -1:
            value = bytearray()
            value += _pack_i(item.asked_broker_id)
            write_tag(out, 10000, value)


@dataclass(slots=True, eq=False, repr=False)
class EnvelopeRequest(Request["EnvelopeResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 58
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_envelope_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_envelope_request_v0}

    request_data: bytes = b""
    request_principal: bytes | None = b""
    client_host_address: bytes = b""
    asked_broker_id: int = -1


def _read_envelope_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[EnvelopeResponse, int]:
    item = new(EnvelopeResponse)
    item.response_data, at = read_compact_nullable_bytes(buffer, at)
    item.error_code, tags = _unpack_ht(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_envelope_response_v0(out: bytearray, item: EnvelopeResponse, payloads: Payloads) -> None:
    write_compact_nullable_bytes(out, item.response_data)
    out += _pack_ht(item.error_code, 0)


@dataclass(slots=True, eq=False, repr=False)
class EnvelopeResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 58
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_envelope_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_envelope_response_v0}

    response_data: bytes | None = None
    error_code: int = 0
