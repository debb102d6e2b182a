"""Generated from `schemas/add_partitions_to_txn.fields` by `odradek.wire.generator`: do not edit."""

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
    read_count,
    read_int32s,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_string,
    write_count,
    write_int32s,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 24 AddPartitionsToTxn

request AddPartitionsToTxnRequest 0-5 flexible 3+
    v3_and_below_transactional_id: string @0-3
    v3_and_below_producer_id: int64 @0-3
    v3_and_below_producer_epoch: int16 @0-3
    v3_and_below_topics: [AddPartitionsToTxnTopic] @0-3
        name: string
        partitions: [int32]
    transactions: [AddPartitionsToTxnTransaction] @4+
        transactional_id: string
        producer_id: int64
        producer_epoch: int16
        verify_only: bool
        topics: [AddPartitionsToTxnTopic]

response AddPartitionsToTxnResponse 0-5 flexible 3+
    throttle_time_ms: int32
    results_by_topic_v3_and_below: [AddPartitionsToTxnTopicResult] @0-3
        name: string
        results_by_partition: [AddPartitionsToTxnPartitionResult]
            partition_index: int32
            partition_error_code: int16
    error_code: int16 @4+
    results_by_transaction: [AddPartitionsToTxnResult] @4+
        transactional_id: string
        topic_results: [AddPartitionsToTxnTopicResult]
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_qh: Final = Struct(">qh").unpack_from
_unpack_qho: Final = Struct(">qh?").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_qh: Final = Struct(">qh").pack
_pack_qho: Final = Struct(">qh?").pack


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnTopic(Structure):
    """AddPartitionsToTxnRequest.v3_and_below_topics[]"""

    name: str = ""
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnTransaction(Structure):
    """AddPartitionsToTxnRequest.transactions[]"""

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)


def _read_add_partitions_to_txn_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic_v0_array(out: bytearray, items: list[AddPartitionsToTxnTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_add_partitions_to_txn_topic_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic_v3_array(out: bytearray, items: list[AddPartitionsToTxnTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_add_partitions_to_txn_transaction_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnTransaction], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnTransaction)
        item.transactional_id, at = read_compact_string(buffer, at)
        item.producer_id, item.producer_epoch, item.verify_only = _unpack_qho(buffer, at)
        at += 11
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_add_partitions_to_txn_topic_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_transaction_v4_array(
    out: bytearray, items: list[AddPartitionsToTxnTransaction]
) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        out += _pack_qho(item.producer_id, item.producer_epoch, item.verify_only)
        write_compact_count(out, item.topics)
        _write_add_partitions_to_txn_topic_v3_array(out, item.topics)
        out.append(0)


def _read_add_partitions_to_txn_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnRequest, int]:
    item = new(AddPartitionsToTxnRequest)
    item.transactions = []
    item.v3_and_below_transactional_id, at = read_string(buffer, at)
    item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(buffer, at)
    at += 10
    count, at = read_count(buffer, at, 6, budget)
    item.v3_and_below_topics, at = _read_add_partitions_to_txn_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_add_partitions_to_txn_request_v0(
    out: bytearray, item: AddPartitionsToTxnRequest, payloads: Payloads
) -> None:
    write_string(out, item.v3_and_below_transactional_id)
    out += _pack_qh(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
    write_count(out, item.v3_and_below_topics)
    _write_add_partitions_to_txn_topic_v0_array(out, item.v3_and_below_topics)


def _read_add_partitions_to_txn_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnRequest, int]:
    item = new(AddPartitionsToTxnRequest)
    item.transactions = []
    item.v3_and_below_transactional_id, at = read_compact_string(buffer, at)
    item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(buffer, at)
    at += 10
    count, at = read_compact_count(buffer, at, 3, budget)
    item.v3_and_below_topics, at = _read_add_partitions_to_txn_topic_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_partitions_to_txn_request_v3(
    out: bytearray, item: AddPartitionsToTxnRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.v3_and_below_transactional_id)
    out += _pack_qh(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
    write_compact_count(out, item.v3_and_below_topics)
    _write_add_partitions_to_txn_topic_v3_array(out, item.v3_and_below_topics)
    out.append(0)


def _read_add_partitions_to_txn_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnRequest, int]:
    item = new(AddPartitionsToTxnRequest)
    item.v3_and_below_transactional_id = ""
    item.v3_and_below_producer_id = 0
    item.v3_and_below_producer_epoch = 0
    item.v3_and_below_topics = []
    count, at = read_compact_count(buffer, at, 14, budget)
    item.transactions, at = _read_add_partitions_to_txn_transaction_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_partitions_to_txn_request_v4(
    out: bytearray, item: AddPartitionsToTxnRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.transactions)
    _write_add_partitions_to_txn_transaction_v4_array(out, item.transactions)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnRequest(Request["AddPartitionsToTxnResponse"]):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_add_partitions_to_txn_request_v0,
        1: _read_add_partitions_to_txn_request_v0,
        2: _read_add_partitions_to_txn_request_v0,
        3: _read_add_partitions_to_txn_request_v3,
        4: _read_add_partitions_to_txn_request_v4,
        5: _read_add_partitions_to_txn_request_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_add_partitions_to_txn_request_v0,
        1: _write_add_partitions_to_txn_request_v0,
        2: _write_add_partitions_to_txn_request_v0,
        3: _write_add_partitions_to_txn_request_v3,
        4: _write_add_partitions_to_txn_request_v4,
        5: _write_add_partitions_to_txn_request_v4,
    }

    v3_and_below_transactional_id: str = ""  # up to v3
    v3_and_below_producer_id: int = 0  # up to v3
    v3_and_below_producer_epoch: int = 0  # up to v3
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)  # up to v3
    transactions: list[AddPartitionsToTxnTransaction] = field(default_factory=list)  # v4+


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnPartitionResult(Structure):
    """AddPartitionsToTxnResponse.results_by_topic_v3_and_below[].results_by_partition[]"""

    partition_index: int = 0
    partition_error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnTopicResult(Structure):
    """AddPartitionsToTxnResponse.results_by_topic_v3_and_below[]"""

    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnResult(Structure):
    """AddPartitionsToTxnResponse.results_by_transaction[]"""

    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)


def _read_add_partitions_to_txn_partition_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnPartitionResult)
        item.partition_index, item.partition_error_code = _unpack_ih(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_partition_result_v0_array(
    out: bytearray, items: list[AddPartitionsToTxnPartitionResult]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.partition_error_code)


def _read_add_partitions_to_txn_partition_result_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnPartitionResult)
        item.partition_index, item.partition_error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_partition_result_v3_array(
    out: bytearray, items: list[AddPartitionsToTxnPartitionResult]
) -> None:
    for item in items:
        out += _pack_iht(item.partition_index, item.partition_error_code, 0)


def _read_add_partitions_to_txn_topic_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnTopicResult)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.results_by_partition, at = _read_add_partitions_to_txn_partition_result_v0_array(
            buffer, at, count, budget
        )
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic_result_v0_array(
    out: bytearray, items: list[AddPartitionsToTxnTopicResult]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.results_by_partition)
        _write_add_partitions_to_txn_partition_result_v0_array(out, item.results_by_partition)


def _read_add_partitions_to_txn_topic_result_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnTopicResult)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.results_by_partition, at = _read_add_partitions_to_txn_partition_result_v3_array(
            buffer, at, count, budget
        )
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_topic_result_v3_array(
    out: bytearray, items: list[AddPartitionsToTxnTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.results_by_partition)
        _write_add_partitions_to_txn_partition_result_v3_array(out, item.results_by_partition)
        out.append(0)


def _read_add_partitions_to_txn_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AddPartitionsToTxnResult], int]:
    items = []
    for _ in range(elements):
        item = new(AddPartitionsToTxnResult)
        item.transactional_id, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topic_results, at = _read_add_partitions_to_txn_topic_result_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_add_partitions_to_txn_result_v4_array(
    out: bytearray, items: list[AddPartitionsToTxnResult]
) -> None:
    for item in items:
        write_compact_string(out, item.transactional_id)
        write_compact_count(out, item.topic_results)
        _write_add_partitions_to_txn_topic_result_v3_array(out, item.topic_results)
        out.append(0)


def _read_add_partitions_to_txn_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnResponse, int]:
    item = new(AddPartitionsToTxnResponse)
    item.error_code = 0
    item.results_by_transaction = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result_v0_array(
        buffer, at, count, budget
    )
    return item, at


def _write_add_partitions_to_txn_response_v0(
    out: bytearray, item: AddPartitionsToTxnResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results_by_topic_v3_and_below)
    _write_add_partitions_to_txn_topic_result_v0_array(out, item.results_by_topic_v3_and_below)


def _read_add_partitions_to_txn_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnResponse, int]:
    item = new(AddPartitionsToTxnResponse)
    item.error_code = 0
    item.results_by_transaction = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result_v3_array(
        buffer, at, count, budget
    )
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_partitions_to_txn_response_v3(
    out: bytearray, item: AddPartitionsToTxnResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results_by_topic_v3_and_below)
    _write_add_partitions_to_txn_topic_result_v3_array(out, item.results_by_topic_v3_and_below)
    out.append(0)


def _read_add_partitions_to_txn_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AddPartitionsToTxnResponse, int]:
    item = new(AddPartitionsToTxnResponse)
    item.results_by_topic_v3_and_below = []
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 3, budget)
    item.results_by_transaction, at = _read_add_partitions_to_txn_result_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_add_partitions_to_txn_response_v4(
    out: bytearray, item: AddPartitionsToTxnResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.results_by_transaction)
    _write_add_partitions_to_txn_result_v4_array(out, item.results_by_transaction)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AddPartitionsToTxnResponse(Message):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_add_partitions_to_txn_response_v0,
        1: _read_add_partitions_to_txn_response_v0,
        2: _read_add_partitions_to_txn_response_v0,
        3: _read_add_partitions_to_txn_response_v3,
        4: _read_add_partitions_to_txn_response_v4,
        5: _read_add_partitions_to_txn_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_add_partitions_to_txn_response_v0,
        1: _write_add_partitions_to_txn_response_v0,
        2: _write_add_partitions_to_txn_response_v0,
        3: _write_add_partitions_to_txn_response_v3,
        4: _write_add_partitions_to_txn_response_v4,
        5: _write_add_partitions_to_txn_response_v4,
    }

    throttle_time_ms: int = 0
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        default_factory=list
    )  # up to v3
    error_code: int = 0  # v4+
    results_by_transaction: list[AddPartitionsToTxnResult] = field(default_factory=list)  # v4+
