"""Generated from `schemas/describe_quorum.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 55 DescribeQuorum

request DescribeQuorumRequest 0-2 flexible 0+
    topics: [TopicData]
        topic_name: string
        partitions: [PartitionData]
            partition_index: int32

response DescribeQuorumResponse 0-2 flexible 0+
    error_code: int16
    error_message: string? @2+
    topics: [TopicDataResponse]
        topic_name: string
        partitions: [PartitionDataResponse]
            partition_index: int32
            error_code: int16
            error_message: string? @2+
            leader_id: int32
            leader_epoch: int32
            high_watermark: int64
            current_voters: [ReplicaState]
                replica_id: int32
                replica_directory_id: uuid @2+
                log_end_offset: int64
                last_fetch_timestamp: int64 @1+ = -1
                last_caught_up_timestamp: int64 @1+ = -1
            observers: [ReplicaState]
    nodes: [Node] @2+
        node_id: int32
        listeners: [Listener]
            name: string
            host: string
            port: uint16
"""


_unpack_ut: Final = Struct(">HB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihiiq: Final = Struct(">ihiiq").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iqt: Final = Struct(">iqB").unpack_from
_unpack_iqqqt: Final = Struct(">iqqqB").unpack_from
_unpack_qqqt: Final = Struct(">qqqB").unpack_from
_pack_ut: Final = Struct(">HB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihiiq: Final = Struct(">ihiiq").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iqt: Final = Struct(">iqB").pack
_pack_iqqqt: Final = Struct(">iqqqB").pack
_pack_qqqt: Final = Struct(">qqqB").pack


@dataclass(slots=True, eq=False, repr=False)
class PartitionData(Structure):
    """DescribeQuorumRequest.topics[].partitions[]"""

    partition_index: int = 0


@dataclass(slots=True, eq=False, repr=False)
class TopicData(Structure):
    """DescribeQuorumRequest.topics[]"""

    topic_name: str = ""
    partitions: list[PartitionData] = field(default_factory=list)


def _read_partition_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.partition_index, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_v0_array(out: bytearray, items: list[PartitionData]) -> None:
    for item in items:
        out += _pack_it(item.partition_index, 0)


def _read_topic_data_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicData], int]:
    items = []
    for _ in range(elements):
        item = new(TopicData)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 5, budget)
        item.partitions, at = _read_partition_data_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_data_v0_array(out: bytearray, items: list[TopicData]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        _write_partition_data_v0_array(out, item.partitions)
        out.append(0)


def _read_describe_quorum_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeQuorumRequest, int]:
    item = new(DescribeQuorumRequest)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_data_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_quorum_request_v0(
    out: bytearray, item: DescribeQuorumRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    _write_topic_data_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeQuorumRequest(Request["DescribeQuorumResponse"]):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_quorum_request_v0,
        1: _read_describe_quorum_request_v0,
        2: _read_describe_quorum_request_v0,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_quorum_request_v0,
        1: _write_describe_quorum_request_v0,
        2: _write_describe_quorum_request_v0,
    }

    topics: list[TopicData] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ReplicaState(Structure):
    """DescribeQuorumResponse.topics[].partitions[].current_voters[]"""

    replica_id: int = 0
    replica_directory_id: UUID = NO_TOPIC_ID  # v2+
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1  # v1+
    last_caught_up_timestamp: int = -1  # v1+


@dataclass(slots=True, eq=False, repr=False)
class PartitionDataResponse(Structure):
    """DescribeQuorumResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""  # v2+
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = field(default_factory=list)
    observers: list[ReplicaState] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TopicDataResponse(Structure):
    """DescribeQuorumResponse.topics[]"""

    topic_name: str = ""
    partitions: list[PartitionDataResponse] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Listener(Structure):
    """DescribeQuorumResponse.nodes[].listeners[]"""

    name: str = ""
    host: str = ""
    port: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Node(Structure):
    """DescribeQuorumResponse.nodes[]"""

    node_id: int = 0
    listeners: list[Listener] = field(default_factory=list)


def _read_replica_state_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReplicaState], int]:
    items = []
    for _ in range(elements):
        item = new(ReplicaState)
        item.replica_directory_id = NO_TOPIC_ID
        item.last_fetch_timestamp = -1
        item.last_caught_up_timestamp = -1
        item.replica_id, item.log_end_offset, tags = _unpack_iqt(buffer, at)
        at += 13
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_replica_state_v0_array(out: bytearray, items: list[ReplicaState]) -> None:
    for item in items:
        out += _pack_iqt(item.replica_id, item.log_end_offset, 0)


def _read_replica_state_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReplicaState], int]:
    items = []
    for _ in range(elements):
        item = new(ReplicaState)
        item.replica_directory_id = NO_TOPIC_ID
        (
            item.replica_id,
            item.log_end_offset,
            item.last_fetch_timestamp,
            item.last_caught_up_timestamp,
            tags,
        ) = _unpack_iqqqt(buffer, at)
        at += 29
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_replica_state_v1_array(out: bytearray, items: list[ReplicaState]) -> None:
    for item in items:
        out += _pack_iqqqt(
            item.replica_id, item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp, 0
        )


def _read_replica_state_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReplicaState], int]:
    items = []
    for _ in range(elements):
        item = new(ReplicaState)
        (item.replica_id,) = _unpack_i(buffer, at)
        at += 4
        item.replica_directory_id, at = read_uuid(buffer, at)
        item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp, tags = _unpack_qqqt(
            buffer, at
        )
        at += 25
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_replica_state_v2_array(out: bytearray, items: list[ReplicaState]) -> None:
    for item in items:
        out += _pack_i(item.replica_id)
        write_uuid(out, item.replica_directory_id)
        out += _pack_qqqt(item.log_end_offset, item.last_fetch_timestamp, item.last_caught_up_timestamp, 0)


def _read_partition_data_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionDataResponse)
        item.error_message = ""
        item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark = (
            _unpack_ihiiq(buffer, at)
        )
        at += 22
        count, at = read_compact_count(buffer, at, 13, budget)
        item.current_voters, at = _read_replica_state_v0_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 13, budget)
        item.observers, at = _read_replica_state_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_response_v0_array(out: bytearray, items: list[PartitionDataResponse]) -> None:
    for item in items:
        out += _pack_ihiiq(
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark
        )
        write_compact_count(out, item.current_voters)
        _write_replica_state_v0_array(out, item.current_voters)
        write_compact_count(out, item.observers)
        _write_replica_state_v0_array(out, item.observers)
        out.append(0)


def _read_partition_data_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionDataResponse)
        item.error_message = ""
        item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark = (
            _unpack_ihiiq(buffer, at)
        )
        at += 22
        count, at = read_compact_count(buffer, at, 29, budget)
        item.current_voters, at = _read_replica_state_v1_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 29, budget)
        item.observers, at = _read_replica_state_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_response_v1_array(out: bytearray, items: list[PartitionDataResponse]) -> None:
    for item in items:
        out += _pack_ihiiq(
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch, item.high_watermark
        )
        write_compact_count(out, item.current_voters)
        _write_replica_state_v1_array(out, item.current_voters)
        write_compact_count(out, item.observers)
        _write_replica_state_v1_array(out, item.observers)
        out.append(0)


def _read_partition_data_response_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionDataResponse)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.leader_id, item.leader_epoch, item.high_watermark = _unpack_iiq(buffer, at)
        at += 16
        count, at = read_compact_count(buffer, at, 45, budget)
        item.current_voters, at = _read_replica_state_v2_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 45, budget)
        item.observers, at = _read_replica_state_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_data_response_v2_array(out: bytearray, items: list[PartitionDataResponse]) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_iiq(item.leader_id, item.leader_epoch, item.high_watermark)
        write_compact_count(out, item.current_voters)
        _write_replica_state_v2_array(out, item.current_voters)
        write_compact_count(out, item.observers)
        _write_replica_state_v2_array(out, item.observers)
        out.append(0)


def _read_topic_data_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicDataResponse)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 25, budget)
        item.partitions, at = _read_partition_data_response_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_data_response_v0_array(out: bytearray, items: list[TopicDataResponse]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        _write_partition_data_response_v0_array(out, item.partitions)
        out.append(0)


def _read_topic_data_response_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicDataResponse)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 25, budget)
        item.partitions, at = _read_partition_data_response_v1_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_data_response_v1_array(out: bytearray, items: list[TopicDataResponse]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        _write_partition_data_response_v1_array(out, item.partitions)
        out.append(0)


def _read_topic_data_response_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicDataResponse], int]:
    items = []
    for _ in range(elements):
        item = new(TopicDataResponse)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 26, budget)
        item.partitions, at = _read_partition_data_response_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_data_response_v2_array(out: bytearray, items: list[TopicDataResponse]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partitions)
        _write_partition_data_response_v2_array(out, item.partitions)
        out.append(0)


def _read_listener_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[Listener], int]:
    items = []
    for _ in range(elements):
        item = new(Listener)
        item.name, at = read_compact_string(buffer, at)
        item.host, at = read_compact_string(buffer, at)
        item.port, tags = _unpack_ut(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_listener_v2_array(out: bytearray, items: list[Listener]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_string(out, item.host)
        out += _pack_ut(item.port, 0)


def _read_node_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[Node], int]:
    items = []
    for _ in range(elements):
        item = new(Node)
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 5, budget)
        item.listeners, at = _read_listener_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_node_v2_array(out: bytearray, items: list[Node]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_compact_count(out, item.listeners)
        _write_listener_v2_array(out, item.listeners)
        out.append(0)


def _read_describe_quorum_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeQuorumResponse, int]:
    item = new(DescribeQuorumResponse)
    item.error_message = ""
    item.nodes = []
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_data_response_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_quorum_response_v0(
    out: bytearray, item: DescribeQuorumResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.topics)
    _write_topic_data_response_v0_array(out, item.topics)
    out.append(0)


def _read_describe_quorum_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeQuorumResponse, int]:
    item = new(DescribeQuorumResponse)
    item.error_message = ""
    item.nodes = []
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_data_response_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_quorum_response_v1(
    out: bytearray, item: DescribeQuorumResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.topics)
    _write_topic_data_response_v1_array(out, item.topics)
    out.append(0)


def _read_describe_quorum_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeQuorumResponse, int]:
    item = new(DescribeQuorumResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_topic_data_response_v2_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 6, budget)
    item.nodes, at = _read_node_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_quorum_response_v2(
    out: bytearray, item: DescribeQuorumResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.topics)
    _write_topic_data_response_v2_array(out, item.topics)
    write_compact_count(out, item.nodes)
    _write_node_v2_array(out, item.nodes)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeQuorumResponse(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_quorum_response_v0,
        1: _read_describe_quorum_response_v1,
        2: _read_describe_quorum_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_quorum_response_v0,
        1: _write_describe_quorum_response_v1,
        2: _write_describe_quorum_response_v2,
    }

    error_code: int = 0
    error_message: str | None = ""  # v2+
    topics: list[TopicDataResponse] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)  # v2+
