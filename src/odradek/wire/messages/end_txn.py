"""Generated from `schemas/end_txn.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, read_compact_string, read_string, skip_tags
from odradek.wire.encoding import Payloads, write_compact_string, write_string
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 26 EndTxn

request EndTxnRequest 0-5 flexible 3+
    transactional_id: string
    producer_id: int64
    producer_epoch: int16
    committed: bool

response EndTxnResponse 0-5 flexible 3+
    throttle_time_ms: int32
    error_code: int16
    producer_id: int64 @5+ = -1
    producer_epoch: int16 @5+ = -1
"""


_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_ihqht: Final = Struct(">ihqhB").unpack_from
_unpack_qho: Final = Struct(">qh?").unpack_from
_unpack_qhot: Final = Struct(">qh?B").unpack_from
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_ihqht: Final = Struct(">ihqhB").pack
_pack_qho: Final = Struct(">qh?").pack
_pack_qhot: Final = Struct(">qh?B").pack


def _read_end_txn_request_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnRequest, int]:
    item = new(EndTxnRequest)
    item.transactional_id, at = read_string(buffer, at)
    item.producer_id, item.producer_epoch, item.committed = _unpack_qho(buffer, at)
    at += 11
    return item, at


def _write_end_txn_request_v0(out: bytearray, item: EndTxnRequest, payloads: Payloads) -> None:
    write_string(out, item.transactional_id)
    out += _pack_qho(item.producer_id, item.producer_epoch, item.committed)


def _read_end_txn_request_v3(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnRequest, int]:
    item = new(EndTxnRequest)
    item.transactional_id, at = read_compact_string(buffer, at)
    item.producer_id, item.producer_epoch, item.committed, tags = _unpack_qhot(buffer, at)
    at += 12
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_end_txn_request_v3(out: bytearray, item: EndTxnRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.transactional_id)
    out += _pack_qhot(item.producer_id, item.producer_epoch, item.committed, 0)


@dataclass(slots=True, eq=False, repr=False)
class EndTxnRequest(Request["EndTxnResponse"]):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_end_txn_request_v0,
        1: _read_end_txn_request_v0,
        2: _read_end_txn_request_v0,
        3: _read_end_txn_request_v3,
        4: _read_end_txn_request_v3,
        5: _read_end_txn_request_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_end_txn_request_v0,
        1: _write_end_txn_request_v0,
        2: _write_end_txn_request_v0,
        3: _write_end_txn_request_v3,
        4: _write_end_txn_request_v3,
        5: _write_end_txn_request_v3,
    }

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False


def _read_end_txn_response_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnResponse, int]:
    item = new(EndTxnResponse)
    item.producer_id = -1
    item.producer_epoch = -1
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    return item, at


def _write_end_txn_response_v0(out: bytearray, item: EndTxnResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_end_txn_response_v3(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnResponse, int]:
    item = new(EndTxnResponse)
    item.producer_id = -1
    item.producer_epoch = -1
    item.throttle_time_ms, item.error_code, tags = _unpack_iht(buffer, at)
    at += 7
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_end_txn_response_v3(out: bytearray, item: EndTxnResponse, payloads: Payloads) -> None:
    out += _pack_iht(item.throttle_time_ms, item.error_code, 0)


def _read_end_txn_response_v5(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnResponse, int]:
    item = new(EndTxnResponse)
    item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, tags = _unpack_ihqht(
        buffer, at
    )
    at += 17
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_end_txn_response_v5(out: bytearray, item: EndTxnResponse, payloads: Payloads) -> None:
    out += _pack_ihqht(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch, 0)


@dataclass(slots=True, eq=False, repr=False)
class EndTxnResponse(Message):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_end_txn_response_v0,
        1: _read_end_txn_response_v0,
        2: _read_end_txn_response_v0,
        3: _read_end_txn_response_v3,
        4: _read_end_txn_response_v3,
        5: _read_end_txn_response_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_end_txn_response_v0,
        1: _write_end_txn_response_v0,
        2: _write_end_txn_response_v0,
        3: _write_end_txn_response_v3,
        4: _write_end_txn_response_v3,
        5: _write_end_txn_response_v5,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1  # v5+
    producer_epoch: int = -1  # v5+
