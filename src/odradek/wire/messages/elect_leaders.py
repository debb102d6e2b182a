"""Generated from `schemas/elect_leaders.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_nullable_string,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_int32s,
    write_nullable_string,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 43 ElectLeaders

request ElectLeadersRequest 0-2 flexible 2+
    election_type: int8 @1+
    topic_partitions: [TopicPartitions]?
        topic: string
        partitions: [int32]
    timeout_ms: int32 = 60000

response ElectLeadersResponse 0-2 flexible 2+
    throttle_time_ms: int32
    error_code: int16 @1+
    replica_election_results: [ReplicaElectionResult]
        topic: string
        partition_result: [PartitionResult]
            partition_id: int32
            error_code: int16
            error_message: string?
"""


_unpack_b: Final = Struct(">b").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_b: Final = Struct(">b").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class TopicPartitions(Structure):
    """ElectLeadersRequest.topic_partitions[]"""

    topic: str = ""
    partitions: list[int] = field(default_factory=list)


def _read_topic_partitions_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_topic_partitions_v0_array(out: bytearray, items: list[TopicPartitions]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_topic_partitions_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_partitions_v2_array(out: bytearray, items: list[TopicPartitions]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_elect_leaders_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersRequest, int]:
    item = new(ElectLeadersRequest)
    item.election_type = 0
    count, at = read_nullable_count(buffer, at, 6, budget)
    if count < 0:
        item.topic_partitions = None
    else:
        item.topic_partitions, at = _read_topic_partitions_v0_array(buffer, at, count, budget)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_elect_leaders_request_v0(out: bytearray, item: ElectLeadersRequest, payloads: Payloads) -> None:
    if item.topic_partitions is None:
        out += NULL_INT32
    else:
        write_count(out, item.topic_partitions)
        _write_topic_partitions_v0_array(out, item.topic_partitions)
    out += _pack_i(item.timeout_ms)


def _read_elect_leaders_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersRequest, int]:
    item = new(ElectLeadersRequest)
    (item.election_type,) = _unpack_b(buffer, at)
    at += 1
    count, at = read_nullable_count(buffer, at, 6, budget)
    if count < 0:
        item.topic_partitions = None
    else:
        item.topic_partitions, at = _read_topic_partitions_v0_array(buffer, at, count, budget)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_elect_leaders_request_v1(out: bytearray, item: ElectLeadersRequest, payloads: Payloads) -> None:
    out += _pack_b(item.election_type)
    if item.topic_partitions is None:
        out += NULL_INT32
    else:
        write_count(out, item.topic_partitions)
        _write_topic_partitions_v0_array(out, item.topic_partitions)
    out += _pack_i(item.timeout_ms)


def _read_elect_leaders_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersRequest, int]:
    item = new(ElectLeadersRequest)
    (item.election_type,) = _unpack_b(buffer, at)
    at += 1
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.topic_partitions = None
    else:
        item.topic_partitions, at = _read_topic_partitions_v2_array(buffer, at, count, budget)
    item.timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_elect_leaders_request_v2(out: bytearray, item: ElectLeadersRequest, payloads: Payloads) -> None:
    out += _pack_b(item.election_type)
    if item.topic_partitions is None:
        out.append(0)
    else:
        write_compact_count(out, item.topic_partitions)
        _write_topic_partitions_v2_array(out, item.topic_partitions)
    out += _pack_it(item.timeout_ms, 0)


@dataclass(slots=True, eq=False, repr=False)
class ElectLeadersRequest(Request["ElectLeadersResponse"]):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_elect_leaders_request_v0,
        1: _read_elect_leaders_request_v1,
        2: _read_elect_leaders_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_elect_leaders_request_v0,
        1: _write_elect_leaders_request_v1,
        2: _write_elect_leaders_request_v2,
    }

    election_type: int = 0  # v1+
    topic_partitions: list[TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int = 60000


@dataclass(slots=True, eq=False, repr=False)
class PartitionResult(Structure):
    """ElectLeadersResponse.replica_election_results[].partition_result[]"""

    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class ReplicaElectionResult(Structure):
    """ElectLeadersResponse.replica_election_results[]"""

    topic: str = ""
    partition_result: list[PartitionResult] = field(default_factory=list)


def _read_partition_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionResult)
        item.partition_id, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_partition_result_v0_array(out: bytearray, items: list[PartitionResult]) -> None:
    for item in items:
        out += _pack_ih(item.partition_id, item.error_code)
        write_nullable_string(out, item.error_message)


def _read_partition_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionResult], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionResult)
        item.partition_id, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_result_v2_array(out: bytearray, items: list[PartitionResult]) -> None:
    for item in items:
        out += _pack_ih(item.partition_id, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_replica_election_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReplicaElectionResult], int]:
    items = []
    for _ in range(elements):
        item = new(ReplicaElectionResult)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 8, budget)
        item.partition_result, at = _read_partition_result_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_replica_election_result_v0_array(out: bytearray, items: list[ReplicaElectionResult]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partition_result)
        _write_partition_result_v0_array(out, item.partition_result)


def _read_replica_election_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReplicaElectionResult], int]:
    items = []
    for _ in range(elements):
        item = new(ReplicaElectionResult)
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 8, budget)
        item.partition_result, at = _read_partition_result_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_replica_election_result_v2_array(out: bytearray, items: list[ReplicaElectionResult]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partition_result)
        _write_partition_result_v2_array(out, item.partition_result)
        out.append(0)


def _read_elect_leaders_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersResponse, int]:
    item = new(ElectLeadersResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.replica_election_results, at = _read_replica_election_result_v0_array(buffer, at, count, budget)
    return item, at


def _write_elect_leaders_response_v0(out: bytearray, item: ElectLeadersResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.replica_election_results)
    _write_replica_election_result_v0_array(out, item.replica_election_results)


def _read_elect_leaders_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersResponse, int]:
    item = new(ElectLeadersResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_count(buffer, at, 6, budget)
    item.replica_election_results, at = _read_replica_election_result_v0_array(buffer, at, count, budget)
    return item, at


def _write_elect_leaders_response_v1(out: bytearray, item: ElectLeadersResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_count(out, item.replica_election_results)
    _write_replica_election_result_v0_array(out, item.replica_election_results)


def _read_elect_leaders_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ElectLeadersResponse, int]:
    item = new(ElectLeadersResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 3, budget)
    item.replica_election_results, at = _read_replica_election_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_elect_leaders_response_v2(out: bytearray, item: ElectLeadersResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.replica_election_results)
    _write_replica_election_result_v2_array(out, item.replica_election_results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ElectLeadersResponse(Message):
    """Versions 0 to 2, flexible from 2."""

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_elect_leaders_response_v0,
        1: _read_elect_leaders_response_v1,
        2: _read_elect_leaders_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_elect_leaders_response_v0,
        1: _write_elect_leaders_response_v1,
        2: _write_elect_leaders_response_v2,
    }

    throttle_time_ms: int = 0
    error_code: int = 0  # v1+
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)
