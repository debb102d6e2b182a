"""Generated from `schemas/add_offsets_to_txn.fields` by `odradek.wire.generator`: do not edit."""

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
api 25 AddOffsetsToTxn

request AddOffsetsToTxnRequest 0-4 flexible 3+
    transactional_id: string
    producer_id: int64
    producer_epoch: int16
    group_id: string

response AddOffsetsToTxnResponse 0-4 flexible 3+
    throttle_time_ms: int32
    error_code: int16
"""


_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_qh: Final = Struct(">qh").unpack_from
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_qh: Final = Struct(">qh").pack


def _read_add_offsets_to_txn_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddOffsetsToTxnRequest, int]:
    item = new(AddOffsetsToTxnRequest)
    item.transactional_id, at = read_string(buffer, at)
    item.producer_id, item.producer_epoch = _unpack_qh(buffer, at)
    at += 10
    item.group_id, at = read_string(buffer, at)
    return item, at


def _write_add_offsets_to_txn_request_v0(
    out: bytearray, item: AddOffsetsToTxnRequest, payloads: Payloads
) -> None:
    write_string(out, item.transactional_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    write_string(out, item.group_id)


def _read_add_offsets_to_txn_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddOffsetsToTxnRequest, int]:
    item = new(AddOffsetsToTxnRequest)
    item.transactional_id, at = read_compact_string(buffer, at)
    item.producer_id, item.producer_epoch = _unpack_qh(buffer, at)
    at += 10
    item.group_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_offsets_to_txn_request_v3(
    out: bytearray, item: AddOffsetsToTxnRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.transactional_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    write_compact_string(out, item.group_id)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AddOffsetsToTxnRequest(Request["AddOffsetsToTxnResponse"]):
    """Versions 0 to 4, flexible from 3."""

    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_add_offsets_to_txn_request_v0,
        1: _read_add_offsets_to_txn_request_v0,
        2: _read_add_offsets_to_txn_request_v0,
        3: _read_add_offsets_to_txn_request_v3,
        4: _read_add_offsets_to_txn_request_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_add_offsets_to_txn_request_v0,
        1: _write_add_offsets_to_txn_request_v0,
        2: _write_add_offsets_to_txn_request_v0,
        3: _write_add_offsets_to_txn_request_v3,
        4: _write_add_offsets_to_txn_request_v3,
    }

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""


def _read_add_offsets_to_txn_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddOffsetsToTxnResponse, int]:
    item = new(AddOffsetsToTxnResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    return item, at


def _write_add_offsets_to_txn_response_v0(
    out: bytearray, item: AddOffsetsToTxnResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_add_offsets_to_txn_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddOffsetsToTxnResponse, int]:
    item = new(AddOffsetsToTxnResponse)
    item.throttle_time_ms, item.error_code, tags = _unpack_iht(buffer, at)
    at += 7
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_offsets_to_txn_response_v3(
    out: bytearray, item: AddOffsetsToTxnResponse, payloads: Payloads
) -> None:
    out += _pack_iht(item.throttle_time_ms, item.error_code, 0)


@dataclass(slots=True, eq=False, repr=False)
class AddOffsetsToTxnResponse(Message):
    """Versions 0 to 4, flexible from 3."""

    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_add_offsets_to_txn_response_v0,
        1: _read_add_offsets_to_txn_response_v0,
        2: _read_add_offsets_to_txn_response_v0,
        3: _read_add_offsets_to_txn_response_v3,
        4: _read_add_offsets_to_txn_response_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_add_offsets_to_txn_response_v0,
        1: _write_add_offsets_to_txn_response_v0,
        2: _write_add_offsets_to_txn_response_v0,
        3: _write_add_offsets_to_txn_response_v3,
        4: _write_add_offsets_to_txn_response_v3,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
