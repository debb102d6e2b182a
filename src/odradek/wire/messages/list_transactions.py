"""Generated from `schemas/list_transactions.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
    read_int64s,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int64s,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 66 ListTransactions

request ListTransactionsRequest 0-2 flexible 0+
    state_filters: [string]
    producer_id_filters: [int64]
    duration_filter: int64 @1+ = -1
    transactional_id_pattern: string? @2+ = null

response ListTransactionsResponse 0-2 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    unknown_state_filters: [string]
    transaction_states: [TransactionState]
        transactional_id: string
        producer_id: int64
        transaction_state: string
"""


_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qt: Final = Struct(">qB").unpack_from
_pack_ih: Final = Struct(">ih").pack
_pack_q: Final = Struct(">q").pack
_pack_qt: Final = Struct(">qB").pack


def _read_list_transactions_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListTransactionsRequest, int]:
    item = new(ListTransactionsRequest)
    item.duration_filter = -1
    item.transactional_id_pattern = None
    count, at = read_compact_count(buffer, at, 1, budget)
    item.state_filters, at = read_compact_strings(buffer, at, count)
    count, at = read_compact_count(buffer, at, 8, budget)
    item.producer_id_filters, at = read_int64s(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_transactions_request_v0(
    out: bytearray, item: ListTransactionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.state_filters)
    write_compact_strings(out, item.state_filters)
    write_compact_count(out, item.producer_id_filters)
    write_int64s(out, item.producer_id_filters)
    out.append(0)


def _read_list_transactions_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListTransactionsRequest, int]:
    item = new(ListTransactionsRequest)
    item.transactional_id_pattern = None
    count, at = read_compact_count(buffer, at, 1, budget)
    item.state_filters, at = read_compact_strings(buffer, at, count)
    count, at = read_compact_count(buffer, at, 8, budget)
    item.producer_id_filters, at = read_int64s(buffer, at, count)
    item.duration_filter, tags = _unpack_qt(buffer, at)
    at += 9
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_transactions_request_v1(
    out: bytearray, item: ListTransactionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.state_filters)
    write_compact_strings(out, item.state_filters)
    write_compact_count(out, item.producer_id_filters)
    write_int64s(out, item.producer_id_filters)
    out += _pack_qt(item.duration_filter, 0)


def _read_list_transactions_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListTransactionsRequest, int]:
    item = new(ListTransactionsRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.state_filters, at = read_compact_strings(buffer, at, count)
    count, at = read_compact_count(buffer, at, 8, budget)
    item.producer_id_filters, at = read_int64s(buffer, at, count)
    (item.duration_filter,) = _unpack_q(buffer, at)
    at += 8
    item.transactional_id_pattern, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_transactions_request_v2(
    out: bytearray, item: ListTransactionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.state_filters)
    write_compact_strings(out, item.state_filters)
    write_compact_count(out, item.producer_id_filters)
    write_int64s(out, item.producer_id_filters)
    out += _pack_q(item.duration_filter)
    write_compact_nullable_string(out, item.transactional_id_pattern)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListTransactionsRequest(Request["ListTransactionsResponse"]):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_transactions_request_v0,
        1: _read_list_transactions_request_v1,
        2: _read_list_transactions_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_transactions_request_v0,
        1: _write_list_transactions_request_v1,
        2: _write_list_transactions_request_v2,
    }

    state_filters: list[str] = field(default_factory=list)
    producer_id_filters: list[int] = field(default_factory=list)
    duration_filter: int = -1  # v1+
    transactional_id_pattern: str | None = None  # v2+


@dataclass(slots=True, eq=False, repr=False)
class TransactionState(Structure):
    """ListTransactionsResponse.transaction_states[]"""

    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""


def _read_transaction_state_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TransactionState], int]:
    items = []
    for _ in range(elements):
        item = new(TransactionState)
        item.transactional_id, at = read_compact_string(buffer, at)
        (item.producer_id,) = _unpack_q(buffer, at)
        at += 8
        item.transaction_state, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_transaction_state_v0_array(out: bytearray, items: list[TransactionState]) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        out += _pack_q(item.producer_id)
        write_compact_string(out, item.transaction_state)
        out.append(0)


def _read_list_transactions_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListTransactionsResponse, int]:
    item = new(ListTransactionsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 1, budget)
    item.unknown_state_filters, at = read_compact_strings(buffer, at, count)
    count, at = read_compact_count(buffer, at, 11, budget)
    item.transaction_states, at = _read_transaction_state_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_transactions_response_v0(
    out: bytearray, item: ListTransactionsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.unknown_state_filters)
    write_compact_strings(out, item.unknown_state_filters)
    write_compact_count(out, item.transaction_states)
    _write_transaction_state_v0_array(out, item.transaction_states)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListTransactionsResponse(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_transactions_response_v0,
        1: _read_list_transactions_response_v0,
        2: _read_list_transactions_response_v0,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_transactions_response_v0,
        1: _write_list_transactions_response_v0,
        2: _write_list_transactions_response_v0,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = field(default_factory=list)
    transaction_states: list[TransactionState] = field(default_factory=list)
