"""Generated from `schemas/init_producer_id.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tags,
)
from odradek.wire.encoding import Payloads, write_compact_nullable_string, write_nullable_string
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 22 InitProducerId

request InitProducerIdRequest 0-5 flexible 2+
    transactional_id: string?
    transaction_timeout_ms: int32
    producer_id: int64 @3+ = -1
    producer_epoch: int16 @3+ = -1

response InitProducerIdResponse 0-5 flexible 2+
    throttle_time_ms: int32
    error_code: int16
    producer_id: int64 = -1
    producer_epoch: int16
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ihqh: Final = Struct(">ihqh").unpack_from
_unpack_ihqht: Final = Struct(">ihqhB").unpack_from
_unpack_iqht: Final = Struct(">iqhB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ihqh: Final = Struct(">ihqh").pack
_pack_ihqht: Final = Struct(">ihqhB").pack
_pack_iqht: Final = Struct(">iqhB").pack


def _read_init_producer_id_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[InitProducerIdRequest, int]:
    item = new(InitProducerIdRequest)
    item.producer_id = -1
    item.producer_epoch = -1
    item.transactional_id, at = read_nullable_string(buffer, at)
    (item.transaction_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_init_producer_id_request_v0(
    out: bytearray, item: InitProducerIdRequest, payloads: Payloads
) -> None:
    write_nullable_string(out, item.transactional_id)
    out += _pack_i(item.transaction_timeout_ms)


def _read_init_producer_id_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[InitProducerIdRequest, int]:
    item = new(InitProducerIdRequest)
    item.producer_id = -1
    item.producer_epoch = -1
    item.transactional_id, at = read_compact_nullable_string(buffer, at)
    item.transaction_timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_init_producer_id_request_v2(
    out: bytearray, item: InitProducerIdRequest, payloads: Payloads
) -> None:
    write_compact_nullable_string(out, item.transactional_id)
    out += _pack_it(item.transaction_timeout_ms, 0)


def _read_init_producer_id_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[InitProducerIdRequest, int]:
    item = new(InitProducerIdRequest)
    item.transactional_id, at = read_compact_nullable_string(buffer, at)
    item.transaction_timeout_ms, item.producer_id, item.producer_epoch, tags = _unpack_iqht(buffer, at)
    at += 15
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_init_producer_id_request_v3(
    out: bytearray, item: InitProducerIdRequest, payloads: Payloads
) -> None:
    write_compact_nullable_string(out, item.transactional_id)
    out += _pack_iqht(item.transaction_timeout_ms, item.producer_id, item.producer_epoch, 0)


@dataclass(slots=True, eq=False, repr=False)
class InitProducerIdRequest(Request["InitProducerIdResponse"]):
    """Versions 0 to 5, flexible from 2."""

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_init_producer_id_request_v0,
        1: _read_init_producer_id_request_v0,
        2: _read_init_producer_id_request_v2,
        3: _read_init_producer_id_request_v3,
        4: _read_init_producer_id_request_v3,
        5: _read_init_producer_id_request_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_init_producer_id_request_v0,
        1: _write_init_producer_id_request_v0,
        2: _write_init_producer_id_request_v2,
        3: _write_init_producer_id_request_v3,
        4: _write_init_producer_id_request_v3,
        5: _write_init_producer_id_request_v3,
    }

    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1  # v3+
    producer_epoch: int = -1  # v3+


def _read_init_producer_id_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[InitProducerIdResponse, int]:
    item = new(InitProducerIdResponse)
    item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch = _unpack_ihqh(buffer, at)
    at += 16
    return item, at


def _write_init_producer_id_response_v0(
    out: bytearray, item: InitProducerIdResponse, payloads: Payloads
) -> None:
    out += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)


def _read_init_producer_id_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[InitProducerIdResponse, int]:
    item = new(InitProducerIdResponse)
    item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, tags = _unpack_ihqht(
        buffer, at
    )
    at += 17
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_init_producer_id_response_v2(
    out: bytearray, item: InitProducerIdResponse, payloads: Payloads
) -> None:
    out += _pack_ihqht(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, 0)


@dataclass(slots=True, eq=False, repr=False)
class InitProducerIdResponse(Message):
    """Versions 0 to 5, flexible from 2."""

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_init_producer_id_response_v0,
        1: _read_init_producer_id_response_v0,
        2: _read_init_producer_id_response_v2,
        3: _read_init_producer_id_response_v2,
        4: _read_init_producer_id_response_v2,
        5: _read_init_producer_id_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_init_producer_id_response_v0,
        1: _write_init_producer_id_response_v0,
        2: _write_init_producer_id_response_v2,
        3: _write_init_producer_id_response_v2,
        4: _write_init_producer_id_response_v2,
        5: _write_init_producer_id_response_v2,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
