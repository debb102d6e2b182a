"""Generated from `schemas/write_txn_markers.fields` by `odradek.wire.generator`: do not edit."""

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
    read_int32s,
    skip_tags,
)
from odradek.wire.encoding import Payloads, write_compact_count, write_compact_string, write_int32s
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 27 WriteTxnMarkers

request WriteTxnMarkersRequest 1-2 flexible 1+
    markers: [WritableTxnMarker]
        producer_id: int64
        producer_epoch: int16
        transaction_result: bool
        topics: [WritableTxnMarkerTopic]
            name: string
            partition_indexes: [int32]
        coordinator_epoch: int32
        transaction_version: int8 @2+

response WriteTxnMarkersResponse 1-2 flexible 1+
    markers: [WritableTxnMarkerResult]
        producer_id: int64
        topics: [WritableTxnMarkerTopicResult]
            name: string
            partitions: [WritableTxnMarkerPartitionResult]
                partition_index: int32
                error_code: int16
"""


_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ibt: Final = Struct(">ibB").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qho: Final = Struct(">qh?").unpack_from
_pack_it: Final = Struct(">iB").pack
_pack_ibt: Final = Struct(">ibB").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_q: Final = Struct(">q").pack
_pack_qho: Final = Struct(">qh?").pack


@dataclass(slots=True, eq=False, repr=False)
class WritableTxnMarkerTopic(Structure):
    """WriteTxnMarkersRequest.markers[].topics[]"""

    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class WritableTxnMarker(Structure):
    """WriteTxnMarkersRequest.markers[]"""

    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    coordinator_epoch: int = 0
    transaction_version: int = 0  # v2+


def _read_writable_txn_marker_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarkerTopic], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarkerTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_topic_v1_array(out: bytearray, items: list[WritableTxnMarkerTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_writable_txn_marker_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarker], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarker)
        item.transaction_version = 0
        item.producer_id, item.producer_epoch, item.transaction_result = _unpack_qho(buffer, at)
        at += 11
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_writable_txn_marker_topic_v1_array(buffer, at, count, budget)
        item.coordinator_epoch, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_v1_array(out: bytearray, items: list[WritableTxnMarker]) -> None:
    for item in items:
        out += _pack_qho(item.producer_id, item.producer_epoch, item.transaction_result)
        write_compact_count(out, item.topics)
        _write_writable_txn_marker_topic_v1_array(out, item.topics)
        out += _pack_it(item.coordinator_epoch, 0)


def _read_writable_txn_marker_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarker], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarker)
        item.producer_id, item.producer_epoch, item.transaction_result = _unpack_qho(buffer, at)
        at += 11
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_writable_txn_marker_topic_v1_array(buffer, at, count, budget)
        item.coordinator_epoch, item.transaction_version, tags = _unpack_ibt(buffer, at)
        at += 6
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_v2_array(out: bytearray, items: list[WritableTxnMarker]) -> None:
    for item in items:
        out += _pack_qho(item.producer_id, item.producer_epoch, item.transaction_result)
        write_compact_count(out, item.topics)
        _write_writable_txn_marker_topic_v1_array(out, item.topics)
        out += _pack_ibt(item.coordinator_epoch, item.transaction_version, 0)


def _read_write_txn_markers_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[WriteTxnMarkersRequest, int]:
    item = new(WriteTxnMarkersRequest)
    count, at = read_compact_count(buffer, at, 17, budget)
    item.markers, at = _read_writable_txn_marker_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_write_txn_markers_request_v1(
    out: bytearray, item: WriteTxnMarkersRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.markers)
    _write_writable_txn_marker_v1_array(out, item.markers)
    out.append(0)


def _read_write_txn_markers_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[WriteTxnMarkersRequest, int]:
    item = new(WriteTxnMarkersRequest)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.markers, at = _read_writable_txn_marker_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_write_txn_markers_request_v2(
    out: bytearray, item: WriteTxnMarkersRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.markers)
    _write_writable_txn_marker_v2_array(out, item.markers)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class WriteTxnMarkersRequest(Request["WriteTxnMarkersResponse"]):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_write_txn_markers_request_v1,
        2: _read_write_txn_markers_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_write_txn_markers_request_v1,
        2: _write_write_txn_markers_request_v2,
    }

    markers: list[WritableTxnMarker] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class WritableTxnMarkerPartitionResult(Structure):
    """WriteTxnMarkersResponse.markers[].topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class WritableTxnMarkerTopicResult(Structure):
    """WriteTxnMarkersResponse.markers[].topics[]"""

    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class WritableTxnMarkerResult(Structure):
    """WriteTxnMarkersResponse.markers[]"""

    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)


def _read_writable_txn_marker_partition_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarkerPartitionResult)
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_partition_result_v1_array(
    out: bytearray, items: list[WritableTxnMarkerPartitionResult]
) -> None:
    for item in items:
        out += _pack_iht(item.partition_index, item.error_code, 0)


def _read_writable_txn_marker_topic_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarkerTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarkerTopicResult)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_writable_txn_marker_partition_result_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_topic_result_v1_array(
    out: bytearray, items: list[WritableTxnMarkerTopicResult]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_writable_txn_marker_partition_result_v1_array(out, item.partitions)
        out.append(0)


def _read_writable_txn_marker_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[WritableTxnMarkerResult], int]:
    items = []
    for _ in range(elements):
        item = new(WritableTxnMarkerResult)
        (item.producer_id,) = _unpack_q(buffer, at)
        at += 8
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_writable_txn_marker_topic_result_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_writable_txn_marker_result_v1_array(out: bytearray, items: list[WritableTxnMarkerResult]) -> None:
    for item in items:
        out += _pack_q(item.producer_id)
        write_compact_count(out, item.topics)
        _write_writable_txn_marker_topic_result_v1_array(out, item.topics)
        out.append(0)


def _read_write_txn_markers_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[WriteTxnMarkersResponse, int]:
    item = new(WriteTxnMarkersResponse)
    count, at = read_compact_count(buffer, at, 10, budget)
    item.markers, at = _read_writable_txn_marker_result_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_write_txn_markers_response_v1(
    out: bytearray, item: WriteTxnMarkersResponse, payloads: Payloads
) -> None:
    write_compact_count(out, item.markers)
    _write_writable_txn_marker_result_v1_array(out, item.markers)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class WriteTxnMarkersResponse(Message):
    """Versions 1 to 2, flexible."""

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[Versions] = Versions(1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_write_txn_markers_response_v1,
        2: _read_write_txn_markers_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_write_txn_markers_response_v1,
        2: _write_write_txn_markers_response_v1,
    }

    markers: list[WritableTxnMarkerResult] = field(default_factory=list)
