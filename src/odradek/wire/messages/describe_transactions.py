"""Generated from `schemas/describe_transactions.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_string,
    write_compact_strings,
    write_int32s,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 65 DescribeTransactions

request DescribeTransactionsRequest 0 flexible 0+
    transactional_ids: [string]

response DescribeTransactionsResponse 0 flexible 0+
    throttle_time_ms: int32
    transaction_states: [TransactionState]
        error_code: int16
        transactional_id: string
        transaction_state: string
        transaction_timeout_ms: int32
        transaction_start_time_ms: int64
        producer_id: int64
        producer_epoch: int16
        topics: [TopicData]
            topic: string
            partitions: [int32]
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iqqh: Final = Struct(">iqqh").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iqqh: Final = Struct(">iqqh").pack


def _read_describe_transactions_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeTransactionsRequest, int]:
    item = new(DescribeTransactionsRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.transactional_ids, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_transactions_request_v0(
    out: bytearray, item: DescribeTransactionsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.transactional_ids)
    write_compact_strings(out, item.transactional_ids)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeTransactionsRequest(Request["DescribeTransactionsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_transactions_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_transactions_request_v0}

    transactional_ids: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TopicData(Structure):
    """DescribeTransactionsResponse.transaction_states[].topics[]"""

    topic: str = ""
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TransactionState(Structure):
    """DescribeTransactionsResponse.transaction_states[]"""

    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = field(default_factory=list)


def _read_topic_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicData], int]:
    items = []
    for _ in range(elements):
        item = new(TopicData)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_data_v0_array(out: bytearray, items: list[TopicData]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_transaction_state_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TransactionState], int]:
    items = []
    for _ in range(elements):
        item = new(TransactionState)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.transactional_id, at = read_compact_string(buffer, at)
        item.transaction_state, at = read_compact_string(buffer, at)
        item.transaction_timeout_ms, item.transaction_start_time_ms, item.producer_id, item.producer_epoch = (
            _unpack_iqqh(buffer, at)
        )
        at += 22
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_topic_data_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_transaction_state_v0_array(out: bytearray, items: list[TransactionState]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_string(out, item.transactional_id)
        write_compact_string(out, item.transaction_state)
        out += _pack_iqqh(
            item.transaction_timeout_ms, item.transaction_start_time_ms, item.producer_id, item.producer_epoch
        )
        write_compact_count(out, item.topics)
        _write_topic_data_v0_array(out, item.topics)
        out.append(0)


def _read_describe_transactions_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeTransactionsResponse, int]:
    item = new(DescribeTransactionsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 28, budget)
    item.transaction_states, at = _read_transaction_state_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_transactions_response_v0(
    out: bytearray, item: DescribeTransactionsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.transaction_states)
    _write_transaction_state_v0_array(out, item.transaction_states)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeTransactionsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_describe_transactions_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_describe_transactions_response_v0}

    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = field(default_factory=list)
