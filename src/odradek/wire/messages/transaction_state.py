"""Generated from `schemas/transaction_state.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_string,
    read_tag,
    read_tag_count,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_string,
    write_count,
    write_int32s,
    write_string,
    write_tag,
)
from odradek.wire.message import Decoder, Encoder, Message, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records TransactionState

record TransactionLogKey 0
    transactional_id: string

record TransactionLogValue 0-1 flexible 1+
    producer_id: int64
    previous_producer_id: int64 @1+ tag 0 = -1
    next_producer_id: int64 @1+ tag 1 = -1
    producer_epoch: int16
    transaction_timeout_ms: int32
    transaction_status: int8
    transaction_partitions: [PartitionsSchema]?
        topic: string
        partition_ids: [int32]
    transaction_last_update_timestamp_ms: int64
    transaction_start_timestamp_ms: int64
    client_transaction_version: int16 @1+ tag 2
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qhib: Final = Struct(">qhib").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_unpack_qqt: Final = Struct(">qqB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_q: Final = Struct(">q").pack
_pack_qhib: Final = Struct(">qhib").pack
_pack_qq: Final = Struct(">qq").pack


def _read_transaction_log_key_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TransactionLogKey, int]:
    item = new(TransactionLogKey)
    item.transactional_id, at = read_string(buffer, at)
    return item, at


def _write_transaction_log_key_v0(out: bytearray, item: TransactionLogKey, payloads: Payloads) -> None:
    write_string(out, item.transactional_id)


@dataclass(slots=True, eq=False, repr=False)
class TransactionLogKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_transaction_log_key_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_transaction_log_key_v0}

    transactional_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class PartitionsSchema(Structure):
    """TransactionLogValue.transaction_partitions[]"""

    topic: str = ""
    partition_ids: list[int] = field(default_factory=list)


def _read_partitions_schema_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionsSchema], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionsSchema)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partition_ids, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_partitions_schema_v0_array(out: bytearray, items: list[PartitionsSchema]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partition_ids)
        write_int32s(out, item.partition_ids)


def _read_partitions_schema_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionsSchema], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionsSchema)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_ids, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partitions_schema_v1_array(out: bytearray, items: list[PartitionsSchema]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partition_ids)
        write_int32s(out, item.partition_ids)
        out.append(0)


def _read_transaction_log_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TransactionLogValue, int]:
    item = new(TransactionLogValue)
    item.previous_producer_id = -1
    item.next_producer_id = -1
    item.client_transaction_version = 0
    item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status = (
        _unpack_qhib(buffer, at)
    )
    at += 15
    count, at = read_nullable_count(buffer, at, 6, budget)
    if count < 0:
        item.transaction_partitions = None
    else:
        item.transaction_partitions, at = _read_partitions_schema_v0_array(buffer, at, count, budget)
    item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _unpack_qq(buffer, at)
    at += 16
    return item, at


def _write_transaction_log_value_v0(out: bytearray, item: TransactionLogValue, payloads: Payloads) -> None:
    out += _pack_qhib(
        item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status
    )
    if item.transaction_partitions is None:
        out += NULL_INT32
    else:
        write_count(out, item.transaction_partitions)
        _write_partitions_schema_v0_array(out, item.transaction_partitions)
    out += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)


def _read_transaction_log_value_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TransactionLogValue, int]:
    item = new(TransactionLogValue)
    item.previous_producer_id = -1
    item.next_producer_id = -1
    item.client_transaction_version = 0
    item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status = (
        _unpack_qhib(buffer, at)
    )
    at += 15
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.transaction_partitions = None
    else:
        item.transaction_partitions, at = _read_partitions_schema_v1_array(buffer, at, count, budget)
    item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms, tags = _unpack_qqt(
        buffer, at
    )
    at += 17
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.previous_producer_id,) = _unpack_q(buffer, at)
                at += 8
            elif tag == 1:
                (item.next_producer_id,) = _unpack_q(buffer, at)
                at += 8
            elif tag == 2:
                (item.client_transaction_version,) = _unpack_h(buffer, at)
                at += 2
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_transaction_log_value_v1(out: bytearray, item: TransactionLogValue, payloads: Payloads) -> None:
    out += _pack_qhib(
        item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status
    )
    if item.transaction_partitions is None:
        out.append(0)
    else:
        write_compact_count(out, item.transaction_partitions)
        _write_partitions_schema_v1_array(out, item.transaction_partitions)
    out += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
    tags = (
        (item.previous_producer_id != -1)
        + (item.next_producer_id != -1)
        + (item.client_transaction_version != 0)
    )
    out.append(tags)
    if tags:
        if item.previous_producer_id != -1:
            value = bytearray()
            value += _pack_q(item.previous_producer_id)
            write_tag(out, 0, value)
        if item.next_producer_id != -1:
            value = bytearray()
            value += _pack_q(item.next_producer_id)
            write_tag(out, 1, value)
        if item.client_transaction_version != 0:
            value = bytearray()
            value += _pack_h(item.client_transaction_version)
            write_tag(out, 2, value)


@dataclass(slots=True, eq=False, repr=False)
class TransactionLogValue(Message):
    """Versions 0 to 1, flexible from 1."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_transaction_log_value_v0,
        1: _read_transaction_log_value_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_transaction_log_value_v0,
        1: _write_transaction_log_value_v1,
    }

    producer_id: int = 0
    previous_producer_id: int = -1  # v1+
    next_producer_id: int = -1  # v1+
    producer_epoch: int = 0
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0  # v1+
