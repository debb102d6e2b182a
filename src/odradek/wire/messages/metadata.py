"""Generated from `schemas/metadata.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_nullable_string,
    read_string,
    read_uuid,
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
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 3 Metadata

request MetadataRequest 0-13 flexible 9+
    topics: [MetadataRequestTopic]?1+
        topic_id: uuid @10+
        name: string?10+
    allow_auto_topic_creation: bool @4+ = true
    include_cluster_authorized_operations: bool @8-10
    include_topic_authorized_operations: bool @8+

response MetadataResponse 0-13 flexible 9+
    throttle_time_ms: int32 @3+
    brokers: [MetadataResponseBroker]
        node_id: int32
        host: string
        port: int32
        rack: string? @1+ = null
    cluster_id: string? @2+ = null
    controller_id: int32 @1+ = -1
    topics: [MetadataResponseTopic]
        error_code: int16
        name: string?12+
        topic_id: uuid @10+
        is_internal: bool @1+
        partitions: [MetadataResponsePartition]
            error_code: int16
            partition_index: int32
            leader_id: int32
            leader_epoch: int32 @7+ = -1
            replica_nodes: [int32]
            isr_nodes: [int32]
            offline_replicas: [int32] @5+
        topic_authorized_operations: int32 @8+ = -2147483648
    cluster_authorized_operations: int32 @8-10 = -2147483648
    error_code: int16 @13+
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_ooo: Final = Struct(">???").unpack_from
_unpack_ooot: Final = Struct(">???B").unpack_from
_unpack_oot: Final = Struct(">??B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_hii: Final = Struct(">hii").unpack_from
_unpack_hiii: Final = Struct(">hiii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_ooo: Final = Struct(">???").pack
_pack_ooot: Final = Struct(">???B").pack
_pack_oot: Final = Struct(">??B").pack
_pack_h: Final = Struct(">h").pack
_pack_ht: Final = Struct(">hB").pack
_pack_hii: Final = Struct(">hii").pack
_pack_hiii: Final = Struct(">hiii").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack


@dataclass(slots=True, eq=False, repr=False)
class MetadataRequestTopic(Structure):
    """MetadataRequest.topics[]"""

    topic_id: UUID = NO_TOPIC_ID  # v10+
    name: str | None = ""


def _read_metadata_request_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        items.append(item)
    return items, at


def _write_metadata_request_topic_v0_array(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    for item in items:
        assert item.name is not None
        write_string(out, item.name)


def _read_metadata_request_topic_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_request_topic_v9_array(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    for item in items:
        assert item.name is not None
        write_compact_string(out, item.name)
        out.append(0)


def _read_metadata_request_topic_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataRequestTopic)
        item.topic_id, at = read_uuid(buffer, at)
        item.name, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_request_topic_v10_array(out: bytearray, items: list[MetadataRequestTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_nullable_string(out, item.name)
        out.append(0)


def _read_metadata_request_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    item.allow_auto_topic_creation = True
    item.include_cluster_authorized_operations = False
    item.include_topic_authorized_operations = False
    count, at = read_count(buffer, at, 2, budget)
    item.topics, at = _read_metadata_request_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_metadata_request_v0(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    assert item.topics is not None
    write_count(out, item.topics)
    _write_metadata_request_topic_v0_array(out, item.topics)


def _read_metadata_request_v1(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    item.allow_auto_topic_creation = True
    item.include_cluster_authorized_operations = False
    item.include_topic_authorized_operations = False
    count, at = read_nullable_count(buffer, at, 2, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_metadata_request_v1(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out += NULL_INT32
    else:
        write_count(out, item.topics)
        _write_metadata_request_topic_v0_array(out, item.topics)


def _read_metadata_request_v4(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    item.include_cluster_authorized_operations = False
    item.include_topic_authorized_operations = False
    count, at = read_nullable_count(buffer, at, 2, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v0_array(buffer, at, count, budget)
    (item.allow_auto_topic_creation,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_metadata_request_v4(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out += NULL_INT32
    else:
        write_count(out, item.topics)
        _write_metadata_request_topic_v0_array(out, item.topics)
    out += _pack_o(item.allow_auto_topic_creation)


def _read_metadata_request_v8(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    count, at = read_nullable_count(buffer, at, 2, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v0_array(buffer, at, count, budget)
    (
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
    ) = _unpack_ooo(buffer, at)
    at += 3
    return item, at


def _write_metadata_request_v8(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out += NULL_INT32
    else:
        write_count(out, item.topics)
        _write_metadata_request_topic_v0_array(out, item.topics)
    out += _pack_ooo(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
    )


def _read_metadata_request_v9(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    count, at = read_compact_nullable_count(buffer, at, 2, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v9_array(buffer, at, count, budget)
    (
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
        tags,
    ) = _unpack_ooot(buffer, at)
    at += 4
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_request_v9(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_metadata_request_topic_v9_array(out, item.topics)
    out += _pack_ooot(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
        0,
    )


def _read_metadata_request_v10(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    count, at = read_compact_nullable_count(buffer, at, 18, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v10_array(buffer, at, count, budget)
    (
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
        tags,
    ) = _unpack_ooot(buffer, at)
    at += 4
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_request_v10(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_metadata_request_topic_v10_array(out, item.topics)
    out += _pack_ooot(
        item.allow_auto_topic_creation,
        item.include_cluster_authorized_operations,
        item.include_topic_authorized_operations,
        0,
    )


def _read_metadata_request_v11(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[MetadataRequest, int]:
    item = new(MetadataRequest)
    item.include_cluster_authorized_operations = False
    count, at = read_compact_nullable_count(buffer, at, 18, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_metadata_request_topic_v10_array(buffer, at, count, budget)
    item.allow_auto_topic_creation, item.include_topic_authorized_operations, tags = _unpack_oot(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_request_v11(out: bytearray, item: MetadataRequest, payloads: Payloads) -> None:
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_metadata_request_topic_v10_array(out, item.topics)
    out += _pack_oot(item.allow_auto_topic_creation, item.include_topic_authorized_operations, 0)


@dataclass(slots=True, eq=False, repr=False)
class MetadataRequest(Request["MetadataResponse"]):
    """Versions 0 to 13, flexible from 9."""

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[Versions] = Versions(0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_metadata_request_v0,
        1: _read_metadata_request_v1,
        2: _read_metadata_request_v1,
        3: _read_metadata_request_v1,
        4: _read_metadata_request_v4,
        5: _read_metadata_request_v4,
        6: _read_metadata_request_v4,
        7: _read_metadata_request_v4,
        8: _read_metadata_request_v8,
        9: _read_metadata_request_v9,
        10: _read_metadata_request_v10,
        11: _read_metadata_request_v11,
        12: _read_metadata_request_v11,
        13: _read_metadata_request_v11,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_metadata_request_v0,
        1: _write_metadata_request_v1,
        2: _write_metadata_request_v1,
        3: _write_metadata_request_v1,
        4: _write_metadata_request_v4,
        5: _write_metadata_request_v4,
        6: _write_metadata_request_v4,
        7: _write_metadata_request_v4,
        8: _write_metadata_request_v8,
        9: _write_metadata_request_v9,
        10: _write_metadata_request_v10,
        11: _write_metadata_request_v11,
        12: _write_metadata_request_v11,
        13: _write_metadata_request_v11,
    }

    topics: list[MetadataRequestTopic] | None = field(default_factory=list)
    allow_auto_topic_creation: bool = True  # v4+
    include_cluster_authorized_operations: bool = False  # v8–10
    include_topic_authorized_operations: bool = False  # v8+


@dataclass(slots=True, eq=False, repr=False)
class MetadataResponseBroker(Structure):
    """MetadataResponse.brokers[]"""

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None  # v1+


@dataclass(slots=True, eq=False, repr=False)
class MetadataResponsePartition(Structure):
    """MetadataResponse.topics[].partitions[]"""

    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1  # v7+
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    offline_replicas: list[int] = field(default_factory=list)  # v5+


@dataclass(slots=True, eq=False, repr=False)
class MetadataResponseTopic(Structure):
    """MetadataResponse.topics[]"""

    error_code: int = 0
    name: str | None = ""
    topic_id: UUID = NO_TOPIC_ID  # v10+
    is_internal: bool = False  # v1+
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648  # v8+


def _read_metadata_response_broker_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseBroker], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseBroker)
        item.rack = None
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        items.append(item)
    return items, at


def _write_metadata_response_broker_v0_array(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_string(out, item.host)
        out += _pack_i(item.port)


def _read_metadata_response_broker_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseBroker], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseBroker)
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.rack, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_metadata_response_broker_v1_array(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_string(out, item.host)
        out += _pack_i(item.port)
        write_nullable_string(out, item.rack)


def _read_metadata_response_broker_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseBroker], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseBroker)
        (item.node_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.rack, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_response_broker_v9_array(out: bytearray, items: list[MetadataResponseBroker]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out.append(0)


def _read_metadata_response_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponsePartition)
        item.leader_epoch = -1
        item.offline_replicas = []
        item.error_code, item.partition_index, item.leader_id = _unpack_hii(buffer, at)
        at += 10
        count, at = read_count(buffer, at, 4, budget)
        item.replica_nodes, at = read_int32s(buffer, at, count)
        count, at = read_count(buffer, at, 4, budget)
        item.isr_nodes, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_metadata_response_partition_v0_array(
    out: bytearray, items: list[MetadataResponsePartition]
) -> None:
    for item in items:
        out += _pack_hii(item.error_code, item.partition_index, item.leader_id)
        write_count(out, item.replica_nodes)
        write_int32s(out, item.replica_nodes)
        write_count(out, item.isr_nodes)
        write_int32s(out, item.isr_nodes)


def _read_metadata_response_partition_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponsePartition)
        item.leader_epoch = -1
        item.error_code, item.partition_index, item.leader_id = _unpack_hii(buffer, at)
        at += 10
        count, at = read_count(buffer, at, 4, budget)
        item.replica_nodes, at = read_int32s(buffer, at, count)
        count, at = read_count(buffer, at, 4, budget)
        item.isr_nodes, at = read_int32s(buffer, at, count)
        count, at = read_count(buffer, at, 4, budget)
        item.offline_replicas, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_metadata_response_partition_v5_array(
    out: bytearray, items: list[MetadataResponsePartition]
) -> None:
    for item in items:
        out += _pack_hii(item.error_code, item.partition_index, item.leader_id)
        write_count(out, item.replica_nodes)
        write_int32s(out, item.replica_nodes)
        write_count(out, item.isr_nodes)
        write_int32s(out, item.isr_nodes)
        write_count(out, item.offline_replicas)
        write_int32s(out, item.offline_replicas)


def _read_metadata_response_partition_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponsePartition)
        item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(buffer, at)
        at += 14
        count, at = read_count(buffer, at, 4, budget)
        item.replica_nodes, at = read_int32s(buffer, at, count)
        count, at = read_count(buffer, at, 4, budget)
        item.isr_nodes, at = read_int32s(buffer, at, count)
        count, at = read_count(buffer, at, 4, budget)
        item.offline_replicas, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_metadata_response_partition_v7_array(
    out: bytearray, items: list[MetadataResponsePartition]
) -> None:
    for item in items:
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        write_count(out, item.replica_nodes)
        write_int32s(out, item.replica_nodes)
        write_count(out, item.isr_nodes)
        write_int32s(out, item.isr_nodes)
        write_count(out, item.offline_replicas)
        write_int32s(out, item.offline_replicas)


def _read_metadata_response_partition_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponsePartition)
        item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(buffer, at)
        at += 14
        count, at = read_compact_count(buffer, at, 4, budget)
        item.replica_nodes, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.isr_nodes, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.offline_replicas, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_response_partition_v9_array(
    out: bytearray, items: list[MetadataResponsePartition]
) -> None:
    for item in items:
        out += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
        write_compact_count(out, item.replica_nodes)
        write_int32s(out, item.replica_nodes)
        write_compact_count(out, item.isr_nodes)
        write_int32s(out, item.isr_nodes)
        write_compact_count(out, item.offline_replicas)
        write_int32s(out, item.offline_replicas)
        out.append(0)


def _read_metadata_response_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.is_internal = False
        item.topic_authorized_operations = -2147483648
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 18, budget)
        item.partitions, at = _read_metadata_response_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v0_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_metadata_response_partition_v0_array(out, item.partitions)


def _read_metadata_response_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic_authorized_operations = -2147483648
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_string(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_count(buffer, at, 18, budget)
        item.partitions, at = _read_metadata_response_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v1_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_string(out, item.name)
        out += _pack_o(item.is_internal)
        write_count(out, item.partitions)
        _write_metadata_response_partition_v0_array(out, item.partitions)


def _read_metadata_response_topic_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic_authorized_operations = -2147483648
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_string(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_count(buffer, at, 22, budget)
        item.partitions, at = _read_metadata_response_partition_v5_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v5_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_string(out, item.name)
        out += _pack_o(item.is_internal)
        write_count(out, item.partitions)
        _write_metadata_response_partition_v5_array(out, item.partitions)


def _read_metadata_response_topic_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic_authorized_operations = -2147483648
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_string(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_count(buffer, at, 26, budget)
        item.partitions, at = _read_metadata_response_partition_v7_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v7_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_string(out, item.name)
        out += _pack_o(item.is_internal)
        write_count(out, item.partitions)
        _write_metadata_response_partition_v7_array(out, item.partitions)


def _read_metadata_response_topic_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_string(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_count(buffer, at, 26, budget)
        item.partitions, at = _read_metadata_response_partition_v7_array(buffer, at, count, budget)
        (item.topic_authorized_operations,) = _unpack_i(buffer, at)
        at += 4
        items.append(item)
    return items, at


def _write_metadata_response_topic_v8_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_string(out, item.name)
        out += _pack_o(item.is_internal)
        write_count(out, item.partitions)
        _write_metadata_response_partition_v7_array(out, item.partitions)
        out += _pack_i(item.topic_authorized_operations)


def _read_metadata_response_topic_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        item.topic_id = NO_TOPIC_ID
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_compact_string(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_metadata_response_partition_v9_array(buffer, at, count, budget)
        item.topic_authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v9_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_compact_string(out, item.name)
        out += _pack_o(item.is_internal)
        write_compact_count(out, item.partitions)
        _write_metadata_response_partition_v9_array(out, item.partitions)
        out += _pack_it(item.topic_authorized_operations, 0)


def _read_metadata_response_topic_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_compact_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_metadata_response_partition_v9_array(buffer, at, count, budget)
        item.topic_authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v10_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        assert item.name is not None
        write_compact_string(out, item.name)
        write_uuid(out, item.topic_id)
        out += _pack_o(item.is_internal)
        write_compact_count(out, item.partitions)
        _write_metadata_response_partition_v9_array(out, item.partitions)
        out += _pack_it(item.topic_authorized_operations, 0)


def _read_metadata_response_topic_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MetadataResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(MetadataResponseTopic)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.name, at = read_compact_nullable_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        (item.is_internal,) = _unpack_o(buffer, at)
        at += 1
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_metadata_response_partition_v9_array(buffer, at, count, budget)
        item.topic_authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_metadata_response_topic_v12_array(out: bytearray, items: list[MetadataResponseTopic]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.name)
        write_uuid(out, item.topic_id)
        out += _pack_o(item.is_internal)
        write_compact_count(out, item.partitions)
        _write_metadata_response_partition_v9_array(out, item.partitions)
        out += _pack_it(item.topic_authorized_operations, 0)


def _read_metadata_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.throttle_time_ms = 0
    item.cluster_id = None
    item.controller_id = -1
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    count, at = read_count(buffer, at, 10, budget)
    item.brokers, at = _read_metadata_response_broker_v0_array(buffer, at, count, budget)
    count, at = read_count(buffer, at, 8, budget)
    item.topics, at = _read_metadata_response_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v0(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    write_count(out, item.brokers)
    _write_metadata_response_broker_v0_array(out, item.brokers)
    write_count(out, item.topics)
    _write_metadata_response_topic_v0_array(out, item.topics)


def _read_metadata_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.throttle_time_ms = 0
    item.cluster_id = None
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 9, budget)
    item.topics, at = _read_metadata_response_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v1(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v1_array(out, item.topics)


def _read_metadata_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.throttle_time_ms = 0
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    item.cluster_id, at = read_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 9, budget)
    item.topics, at = _read_metadata_response_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v2(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    write_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v1_array(out, item.topics)


def _read_metadata_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    item.cluster_id, at = read_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 9, budget)
    item.topics, at = _read_metadata_response_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v3(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    write_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v1_array(out, item.topics)


def _read_metadata_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    item.cluster_id, at = read_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 9, budget)
    item.topics, at = _read_metadata_response_topic_v5_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v5(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    write_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v5_array(out, item.topics)


def _read_metadata_response_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    item.cluster_id, at = read_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 9, budget)
    item.topics, at = _read_metadata_response_topic_v7_array(buffer, at, count, budget)
    return item, at


def _write_metadata_response_v7(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    write_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v7_array(out, item.topics)


def _read_metadata_response_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 12, budget)
    item.brokers, at = _read_metadata_response_broker_v1_array(buffer, at, count, budget)
    item.cluster_id, at = read_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 13, budget)
    item.topics, at = _read_metadata_response_topic_v8_array(buffer, at, count, budget)
    (item.cluster_authorized_operations,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_metadata_response_v8(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.brokers)
    _write_metadata_response_broker_v1_array(out, item.brokers)
    write_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_count(out, item.topics)
    _write_metadata_response_topic_v8_array(out, item.topics)
    out += _pack_i(item.cluster_authorized_operations)


def _read_metadata_response_v9(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_metadata_response_broker_v9_array(buffer, at, count, budget)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 10, budget)
    item.topics, at = _read_metadata_response_topic_v9_array(buffer, at, count, budget)
    item.cluster_authorized_operations, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_response_v9(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.brokers)
    _write_metadata_response_broker_v9_array(out, item.brokers)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.topics)
    _write_metadata_response_topic_v9_array(out, item.topics)
    out += _pack_it(item.cluster_authorized_operations, 0)


def _read_metadata_response_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_metadata_response_broker_v9_array(buffer, at, count, budget)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 26, budget)
    item.topics, at = _read_metadata_response_topic_v10_array(buffer, at, count, budget)
    item.cluster_authorized_operations, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_response_v10(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.brokers)
    _write_metadata_response_broker_v9_array(out, item.brokers)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.topics)
    _write_metadata_response_topic_v10_array(out, item.topics)
    out += _pack_it(item.cluster_authorized_operations, 0)


def _read_metadata_response_v11(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_metadata_response_broker_v9_array(buffer, at, count, budget)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 26, budget)
    item.topics, at = _read_metadata_response_topic_v10_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_response_v11(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.brokers)
    _write_metadata_response_broker_v9_array(out, item.brokers)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.topics)
    _write_metadata_response_topic_v10_array(out, item.topics)
    out.append(0)


def _read_metadata_response_v12(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_metadata_response_broker_v9_array(buffer, at, count, budget)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 26, budget)
    item.topics, at = _read_metadata_response_topic_v12_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_response_v12(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.brokers)
    _write_metadata_response_broker_v9_array(out, item.brokers)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.topics)
    _write_metadata_response_topic_v12_array(out, item.topics)
    out.append(0)


def _read_metadata_response_v13(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[MetadataResponse, int]:
    item = new(MetadataResponse)
    item.cluster_authorized_operations = -2147483648
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_metadata_response_broker_v9_array(buffer, at, count, budget)
    item.cluster_id, at = read_compact_nullable_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 26, budget)
    item.topics, at = _read_metadata_response_topic_v12_array(buffer, at, count, budget)
    item.error_code, tags = _unpack_ht(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_metadata_response_v13(out: bytearray, item: MetadataResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.brokers)
    _write_metadata_response_broker_v9_array(out, item.brokers)
    write_compact_nullable_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.topics)
    _write_metadata_response_topic_v12_array(out, item.topics)
    out += _pack_ht(item.error_code, 0)


@dataclass(slots=True, eq=False, repr=False)
class MetadataResponse(Message):
    """Versions 0 to 13, flexible from 9."""

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[Versions] = Versions(0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_metadata_response_v0,
        1: _read_metadata_response_v1,
        2: _read_metadata_response_v2,
        3: _read_metadata_response_v3,
        4: _read_metadata_response_v3,
        5: _read_metadata_response_v5,
        6: _read_metadata_response_v5,
        7: _read_metadata_response_v7,
        8: _read_metadata_response_v8,
        9: _read_metadata_response_v9,
        10: _read_metadata_response_v10,
        11: _read_metadata_response_v11,
        12: _read_metadata_response_v12,
        13: _read_metadata_response_v13,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_metadata_response_v0,
        1: _write_metadata_response_v1,
        2: _write_metadata_response_v2,
        3: _write_metadata_response_v3,
        4: _write_metadata_response_v3,
        5: _write_metadata_response_v5,
        6: _write_metadata_response_v5,
        7: _write_metadata_response_v7,
        8: _write_metadata_response_v8,
        9: _write_metadata_response_v9,
        10: _write_metadata_response_v10,
        11: _write_metadata_response_v11,
        12: _write_metadata_response_v12,
        13: _write_metadata_response_v13,
    }

    throttle_time_ms: int = 0  # v3+
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: str | None = None  # v2+
    controller_id: int = -1  # v1+
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648  # v8–10
    error_code: int = 0  # v13+
