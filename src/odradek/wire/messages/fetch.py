"""Generated from `schemas/fetch.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_int32s,
    read_nullable_count,
    read_nullable_records,
    read_string,
    read_tag,
    read_tag_count,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    NULL_INT32,
    Payloads,
    write_compact_count,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_int32s,
    write_nullable_records,
    write_string,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 1 Fetch

request FetchRequest 4-18 flexible 12+
    cluster_id: string? @12+ tag 0 = null
    replica_id: int32 @0-14 = -1
    replica_state: ReplicaState @15+ tag 1
        replica_id: int32 = -1
        replica_epoch: int64 = -1
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 2147483647
    isolation_level: int8
    session_id: int32 @7+
    session_epoch: int32 @7+ = -1
    topics: [FetchTopic]
        topic: string @0-12
        topic_id: uuid @13+
        partitions: [FetchPartition]
            partition: int32
            current_leader_epoch: int32 @9+ = -1
            fetch_offset: int64
            last_fetched_epoch: int32 @12+ = -1
            log_start_offset: int64 @5+ = -1
            partition_max_bytes: int32
            replica_directory_id: uuid @17+ tag 0
            high_watermark: int64 @18+ tag 1 = 9223372036854775807
    forgotten_topics_data: [ForgottenTopic] @7+
        topic: string @0-12
        topic_id: uuid @13+
        partitions: [int32]
    rack_id: string @11+

response FetchResponse 4-18 flexible 12+
    throttle_time_ms: int32
    error_code: int16 @7+
    session_id: int32 @7+
    responses: [FetchableTopicResponse]
        topic: string @0-12
        topic_id: uuid @13+
        partitions: [PartitionData]
            partition_index: int32
            error_code: int16
            high_watermark: int64
            last_stable_offset: int64 = -1
            log_start_offset: int64 @5+ = -1
            diverging_epoch: EpochEndOffset @12+ tag 0
                epoch: int32 = -1
                end_offset: int64 = -1
            current_leader: LeaderIdAndEpoch @12+ tag 1
                leader_id: int32 = -1
                leader_epoch: int32 = -1
            snapshot_id: SnapshotId @12+ tag 2
                end_offset: int64 = -1
                epoch: int32 = -1
            aborted_transactions: [AbortedTransaction]?
                producer_id: int64
                first_offset: int64
            preferred_read_replica: int32 @11+ = -1
            records: records?
    node_endpoints: [NodeEndpoint] @16+ tag 0
        node_id: int32
        host: string
        port: int32
        rack: string? = null
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqq: Final = Struct(">ihqqq").unpack_from
_unpack_iit: Final = Struct(">iiB").unpack_from
_unpack_iiibii: Final = Struct(">iiibii").unpack_from
_unpack_iiiib: Final = Struct(">iiiib").unpack_from
_unpack_iiiibii: Final = Struct(">iiiibii").unpack_from
_unpack_iiqiqit: Final = Struct(">iiqiqiB").unpack_from
_unpack_iiqqi: Final = Struct(">iiqqi").unpack_from
_unpack_iqt: Final = Struct(">iqB").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqqi: Final = Struct(">iqqi").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qit: Final = Struct(">qiB").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_unpack_qqt: Final = Struct(">qqB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_iit: Final = Struct(">iiB").pack
_pack_iiibii: Final = Struct(">iiibii").pack
_pack_iiiib: Final = Struct(">iiiib").pack
_pack_iiiibii: Final = Struct(">iiiibii").pack
_pack_iiqiqi: Final = Struct(">iiqiqi").pack
_pack_iiqiqit: Final = Struct(">iiqiqiB").pack
_pack_iiqqi: Final = Struct(">iiqqi").pack
_pack_iqt: Final = Struct(">iqB").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_iqqi: Final = Struct(">iqqi").pack
_pack_q: Final = Struct(">q").pack
_pack_qit: Final = Struct(">qiB").pack
_pack_qq: Final = Struct(">qq").pack
_pack_qqt: Final = Struct(">qqB").pack


@dataclass(slots=True, eq=False, repr=False)
class ReplicaState(Structure):
    """FetchRequest.replica_state"""

    replica_id: int = -1
    replica_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class FetchPartition(Structure):
    """FetchRequest.topics[].partitions[]"""

    partition: int = 0
    current_leader_epoch: int = -1  # v9+
    fetch_offset: int = 0
    last_fetched_epoch: int = -1  # v12+
    log_start_offset: int = -1  # v5+
    partition_max_bytes: int = 0
    replica_directory_id: UUID = NO_TOPIC_ID  # v17+
    high_watermark: int = 9223372036854775807  # v18+


@dataclass(slots=True, eq=False, repr=False)
class FetchTopic(Structure):
    """FetchRequest.topics[]"""

    topic: str = ""  # up to v12
    topic_id: UUID = NO_TOPIC_ID  # v13+
    partitions: list[FetchPartition] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ForgottenTopic(Structure):
    """FetchRequest.forgotten_topics_data[]"""

    topic: str = ""  # up to v12
    topic_id: UUID = NO_TOPIC_ID  # v13+
    partitions: list[int] = field(default_factory=list)


def _read_replica_state_v15(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ReplicaState, int]:
    item = new(ReplicaState)
    item.replica_id, item.replica_epoch, tags = _unpack_iqt(buffer, at)
    at += 13
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_replica_state_v15(out: bytearray, item: ReplicaState) -> None:
    out += _pack_iqt(item.replica_id, item.replica_epoch, 0)


def _read_fetch_partition_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.current_leader_epoch = -1
        item.last_fetched_epoch = -1
        item.log_start_offset = -1
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        item.partition, item.fetch_offset, item.partition_max_bytes = _unpack_iqi(buffer, at)
        at += 16
        items.append(item)
    return items, at


def _write_fetch_partition_v4_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iqi(item.partition, item.fetch_offset, item.partition_max_bytes)


def _read_fetch_partition_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.current_leader_epoch = -1
        item.last_fetched_epoch = -1
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        item.partition, item.fetch_offset, item.log_start_offset, item.partition_max_bytes = _unpack_iqqi(
            buffer, at
        )
        at += 24
        items.append(item)
    return items, at


def _write_fetch_partition_v5_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iqqi(item.partition, item.fetch_offset, item.log_start_offset, item.partition_max_bytes)


def _read_fetch_partition_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.last_fetched_epoch = -1
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        (
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.log_start_offset,
            item.partition_max_bytes,
        ) = _unpack_iiqqi(buffer, at)
        at += 28
        items.append(item)
    return items, at


def _write_fetch_partition_v9_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iiqqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.log_start_offset,
            item.partition_max_bytes,
        )


def _read_fetch_partition_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        (
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
            tags,
        ) = _unpack_iiqiqit(buffer, at)
        at += 33
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_partition_v12_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iiqiqit(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
            0,
        )


def _read_fetch_partition_v17_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        (
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
            tags,
        ) = _unpack_iiqiqit(buffer, at)
        at += 33
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    item.replica_directory_id, at = read_uuid(buffer, at)
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_fetch_partition_v17_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iiqiqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
        )
        tags = item.replica_directory_id.int != 0
        out.append(tags)
        if tags:
            if item.replica_directory_id.int != 0:
                value = bytearray()
                write_uuid(value, item.replica_directory_id)
                write_tag(out, 0, value)


def _read_fetch_partition_v18_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchPartition], int]:
    items = []
    for _ in range(elements):
        item = new(FetchPartition)
        item.replica_directory_id = NO_TOPIC_ID
        item.high_watermark = 9223372036854775807
        (
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
            tags,
        ) = _unpack_iiqiqit(buffer, at)
        at += 33
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    item.replica_directory_id, at = read_uuid(buffer, at)
                elif tag == 1:
                    (item.high_watermark,) = _unpack_q(buffer, at)
                    at += 8
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_fetch_partition_v18_array(out: bytearray, items: list[FetchPartition]) -> None:
    for item in items:
        out += _pack_iiqiqi(
            item.partition,
            item.current_leader_epoch,
            item.fetch_offset,
            item.last_fetched_epoch,
            item.log_start_offset,
            item.partition_max_bytes,
        )
        tags = (item.replica_directory_id.int != 0) + (item.high_watermark != 9223372036854775807)
        out.append(tags)
        if tags:
            if item.replica_directory_id.int != 0:
                value = bytearray()
                write_uuid(value, item.replica_directory_id)
                write_tag(out, 0, value)
            if item.high_watermark != 9223372036854775807:
                value = bytearray()
                value += _pack_q(item.high_watermark)
                write_tag(out, 1, value)


def _read_fetch_topic_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 16, budget)
        item.partitions, at = _read_fetch_partition_v4_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v4_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_fetch_partition_v4_array(out, item.partitions)


def _read_fetch_topic_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 24, budget)
        item.partitions, at = _read_fetch_partition_v5_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v5_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_fetch_partition_v5_array(out, item.partitions)


def _read_fetch_topic_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 28, budget)
        item.partitions, at = _read_fetch_partition_v9_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v9_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_fetch_partition_v9_array(out, item.partitions)


def _read_fetch_topic_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partitions, at = _read_fetch_partition_v12_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v12_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        _write_fetch_partition_v12_array(out, item.partitions)
        out.append(0)


def _read_fetch_topic_v13_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partitions, at = _read_fetch_partition_v12_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v13_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_fetch_partition_v12_array(out, item.partitions)
        out.append(0)


def _read_fetch_topic_v17_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partitions, at = _read_fetch_partition_v17_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v17_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_fetch_partition_v17_array(out, item.partitions)
        out.append(0)


def _read_fetch_topic_v18_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchTopic], int]:
    items = []
    for _ in range(elements):
        item = new(FetchTopic)
        item.topic = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 33, budget)
        item.partitions, at = _read_fetch_partition_v18_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetch_topic_v18_array(out: bytearray, items: list[FetchTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_fetch_partition_v18_array(out, item.partitions)
        out.append(0)


def _read_forgotten_topic_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ForgottenTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ForgottenTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_forgotten_topic_v7_array(out: bytearray, items: list[ForgottenTopic]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_forgotten_topic_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ForgottenTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ForgottenTopic)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_forgotten_topic_v12_array(out: bytearray, items: list[ForgottenTopic]) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_forgotten_topic_v13_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ForgottenTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ForgottenTopic)
        item.topic = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_forgotten_topic_v13_array(out: bytearray, items: list[ForgottenTopic]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_fetch_request_v4(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    item.session_id = 0
    item.session_epoch = -1
    item.forgotten_topics_data = []
    item.rack_id = ""
    item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level = _unpack_iiiib(
        buffer, at
    )
    at += 17
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_fetch_topic_v4_array(buffer, at, count, budget)
    return item, at


def _write_fetch_request_v4(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiib(
        item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level
    )
    write_count(out, item.topics)
    _write_fetch_topic_v4_array(out, item.topics)


def _read_fetch_request_v5(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    item.session_id = 0
    item.session_epoch = -1
    item.forgotten_topics_data = []
    item.rack_id = ""
    item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level = _unpack_iiiib(
        buffer, at
    )
    at += 17
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_fetch_topic_v5_array(buffer, at, count, budget)
    return item, at


def _write_fetch_request_v5(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiib(
        item.replica_id, item.max_wait_ms, item.min_bytes, item.max_bytes, item.isolation_level
    )
    write_count(out, item.topics)
    _write_fetch_topic_v5_array(out, item.topics)


def _read_fetch_request_v7(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    item.rack_id = ""
    (
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiiibii(buffer, at)
    at += 25
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_fetch_topic_v5_array(buffer, at, count, budget)
    count, at = read_count(buffer, at, 6, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v7_array(buffer, at, count, budget)
    return item, at


def _write_fetch_request_v7(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_count(out, item.topics)
    _write_fetch_topic_v5_array(out, item.topics)
    write_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v7_array(out, item.forgotten_topics_data)


def _read_fetch_request_v9(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    item.rack_id = ""
    (
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiiibii(buffer, at)
    at += 25
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_fetch_topic_v9_array(buffer, at, count, budget)
    count, at = read_count(buffer, at, 6, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v7_array(buffer, at, count, budget)
    return item, at


def _write_fetch_request_v9(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_count(out, item.topics)
    _write_fetch_topic_v9_array(out, item.topics)
    write_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v7_array(out, item.forgotten_topics_data)


def _read_fetch_request_v11(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    (
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiiibii(buffer, at)
    at += 25
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_fetch_topic_v9_array(buffer, at, count, budget)
    count, at = read_count(buffer, at, 6, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v7_array(buffer, at, count, budget)
    item.rack_id, at = read_string(buffer, at)
    return item, at


def _write_fetch_request_v11(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_count(out, item.topics)
    _write_fetch_topic_v9_array(out, item.topics)
    write_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v7_array(out, item.forgotten_topics_data)
    write_string(out, item.rack_id)


def _read_fetch_request_v12(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    (
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiiibii(buffer, at)
    at += 25
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_fetch_topic_v12_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v12_array(buffer, at, count, budget)
    item.rack_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.cluster_id, at = read_compact_nullable_string(buffer, at)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_request_v12(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v12_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v12_array(out, item.forgotten_topics_data)
    write_compact_string(out, item.rack_id)
    tags = item.cluster_id is not None
    out.append(tags)
    if tags:
        if item.cluster_id is not None:
            value = bytearray()
            write_compact_nullable_string(value, item.cluster_id)
            write_tag(out, 0, value)


def _read_fetch_request_v13(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_state = None
    (
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiiibii(buffer, at)
    at += 25
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v13_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v13_array(buffer, at, count, budget)
    item.rack_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.cluster_id, at = read_compact_nullable_string(buffer, at)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_request_v13(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiiibii(
        item.replica_id,
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v13_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v13_array(out, item.forgotten_topics_data)
    write_compact_string(out, item.rack_id)
    tags = item.cluster_id is not None
    out.append(tags)
    if tags:
        if item.cluster_id is not None:
            value = bytearray()
            write_compact_nullable_string(value, item.cluster_id)
            write_tag(out, 0, value)


def _read_fetch_request_v15(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_id = -1
    item.replica_state = None
    (
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiibii(buffer, at)
    at += 21
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v13_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v13_array(buffer, at, count, budget)
    item.rack_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.cluster_id, at = read_compact_nullable_string(buffer, at)
            elif tag == 1:
                item.replica_state, at = _read_replica_state_v15(buffer, at, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_request_v15(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiibii(
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v13_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v13_array(out, item.forgotten_topics_data)
    write_compact_string(out, item.rack_id)
    tags = (item.cluster_id is not None) + (item.replica_state is not None)
    out.append(tags)
    if tags:
        if item.cluster_id is not None:
            value = bytearray()
            write_compact_nullable_string(value, item.cluster_id)
            write_tag(out, 0, value)
        if item.replica_state is not None:
            value = bytearray()
            _write_replica_state_v15(value, item.replica_state)
            write_tag(out, 1, value)


def _read_fetch_request_v17(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_id = -1
    item.replica_state = None
    (
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiibii(buffer, at)
    at += 21
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v17_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v13_array(buffer, at, count, budget)
    item.rack_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.cluster_id, at = read_compact_nullable_string(buffer, at)
            elif tag == 1:
                item.replica_state, at = _read_replica_state_v15(buffer, at, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_request_v17(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiibii(
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v17_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v13_array(out, item.forgotten_topics_data)
    write_compact_string(out, item.rack_id)
    tags = (item.cluster_id is not None) + (item.replica_state is not None)
    out.append(tags)
    if tags:
        if item.cluster_id is not None:
            value = bytearray()
            write_compact_nullable_string(value, item.cluster_id)
            write_tag(out, 0, value)
        if item.replica_state is not None:
            value = bytearray()
            _write_replica_state_v15(value, item.replica_state)
            write_tag(out, 1, value)


def _read_fetch_request_v18(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchRequest, int]:
    item = new(FetchRequest)
    item.cluster_id = None
    item.replica_id = -1
    item.replica_state = None
    (
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    ) = _unpack_iiibii(buffer, at)
    at += 21
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_fetch_topic_v18_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.forgotten_topics_data, at = _read_forgotten_topic_v13_array(buffer, at, count, budget)
    item.rack_id, at = read_compact_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.cluster_id, at = read_compact_nullable_string(buffer, at)
            elif tag == 1:
                item.replica_state, at = _read_replica_state_v15(buffer, at, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_request_v18(out: bytearray, item: FetchRequest, payloads: Payloads) -> None:
    out += _pack_iiibii(
        item.max_wait_ms,
        item.min_bytes,
        item.max_bytes,
        item.isolation_level,
        item.session_id,
        item.session_epoch,
    )
    write_compact_count(out, item.topics)
    _write_fetch_topic_v18_array(out, item.topics)
    write_compact_count(out, item.forgotten_topics_data)
    _write_forgotten_topic_v13_array(out, item.forgotten_topics_data)
    write_compact_string(out, item.rack_id)
    tags = (item.cluster_id is not None) + (item.replica_state is not None)
    out.append(tags)
    if tags:
        if item.cluster_id is not None:
            value = bytearray()
            write_compact_nullable_string(value, item.cluster_id)
            write_tag(out, 0, value)
        if item.replica_state is not None:
            value = bytearray()
            _write_replica_state_v15(value, item.replica_state)
            write_tag(out, 1, value)


@dataclass(slots=True, eq=False, repr=False)
class FetchRequest(Request["FetchResponse"]):
    """Versions 4 to 18, flexible from 12."""

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[Versions] = Versions(4, 18)
    FLEXIBLE_FROM: ClassVar[int] = 12
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        4: _read_fetch_request_v4,
        5: _read_fetch_request_v5,
        6: _read_fetch_request_v5,
        7: _read_fetch_request_v7,
        8: _read_fetch_request_v7,
        9: _read_fetch_request_v9,
        10: _read_fetch_request_v9,
        11: _read_fetch_request_v11,
        12: _read_fetch_request_v12,
        13: _read_fetch_request_v13,
        14: _read_fetch_request_v13,
        15: _read_fetch_request_v15,
        16: _read_fetch_request_v15,
        17: _read_fetch_request_v17,
        18: _read_fetch_request_v18,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        4: _write_fetch_request_v4,
        5: _write_fetch_request_v5,
        6: _write_fetch_request_v5,
        7: _write_fetch_request_v7,
        8: _write_fetch_request_v7,
        9: _write_fetch_request_v9,
        10: _write_fetch_request_v9,
        11: _write_fetch_request_v11,
        12: _write_fetch_request_v12,
        13: _write_fetch_request_v13,
        14: _write_fetch_request_v13,
        15: _write_fetch_request_v15,
        16: _write_fetch_request_v15,
        17: _write_fetch_request_v17,
        18: _write_fetch_request_v18,
    }

    cluster_id: str | None = None  # v12+
    replica_id: int = -1  # up to v14
    replica_state: ReplicaState | None = None  # v15+
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0  # v7+
    session_epoch: int = -1  # v7+
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)  # v7+
    rack_id: str = ""  # v11+


@dataclass(slots=True, eq=False, repr=False)
class EpochEndOffset(Structure):
    """FetchResponse.responses[].partitions[].diverging_epoch"""

    epoch: int = -1
    end_offset: int = -1


@dataclass(slots=True, eq=False, repr=False)
class LeaderIdAndEpoch(Structure):
    """FetchResponse.responses[].partitions[].current_leader"""

    leader_id: int = -1
    leader_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class SnapshotId(Structure):
    """FetchResponse.responses[].partitions[].snapshot_id"""

    end_offset: int = -1
    epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class AbortedTransaction(Structure):
    """FetchResponse.responses[].partitions[].aborted_transactions[]"""

    producer_id: int = 0
    first_offset: int = 0


@dataclass(slots=True, eq=False, repr=False)
class PartitionData(Structure):
    """FetchResponse.responses[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1  # v5+
    diverging_epoch: EpochEndOffset | None = None  # v12+
    current_leader: LeaderIdAndEpoch | None = None  # v12+
    snapshot_id: SnapshotId | None = None  # v12+
    aborted_transactions: list[AbortedTransaction] | None = field(default_factory=list)
    preferred_read_replica: int = -1  # v11+
    records: Buffer | None = None


@dataclass(slots=True, eq=False, repr=False)
class FetchableTopicResponse(Structure):
    """FetchResponse.responses[]"""

    topic: str = ""  # up to v12
    topic_id: UUID = NO_TOPIC_ID  # v13+
    partitions: list[PartitionData] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class NodeEndpoint(Structure):
    """FetchResponse.node_endpoints[]"""

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


def _read_epoch_end_offset_v12(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EpochEndOffset, int]:
    item = new(EpochEndOffset)
    item.epoch, item.end_offset, tags = _unpack_iqt(buffer, at)
    at += 13
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_epoch_end_offset_v12(out: bytearray, item: EpochEndOffset) -> None:
    out += _pack_iqt(item.epoch, item.end_offset, 0)


def _read_leader_id_and_epoch_v12(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaderIdAndEpoch, int]:
    item = new(LeaderIdAndEpoch)
    item.leader_id, item.leader_epoch, tags = _unpack_iit(buffer, at)
    at += 9
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leader_id_and_epoch_v12(out: bytearray, item: LeaderIdAndEpoch) -> None:
    out += _pack_iit(item.leader_id, item.leader_epoch, 0)


def _read_snapshot_id_v12(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[SnapshotId, int]:
    item = new(SnapshotId)
    item.end_offset, item.epoch, tags = _unpack_qit(buffer, at)
    at += 13
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_snapshot_id_v12(out: bytearray, item: SnapshotId) -> None:
    out += _pack_qit(item.end_offset, item.epoch, 0)


def _read_aborted_transaction_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AbortedTransaction], int]:
    items = []
    for _ in range(elements):
        item = new(AbortedTransaction)
        item.producer_id, item.first_offset = _unpack_qq(buffer, at)
        at += 16
        items.append(item)
    return items, at


def _write_aborted_transaction_v4_array(out: bytearray, items: list[AbortedTransaction]) -> None:
    for item in items:
        out += _pack_qq(item.producer_id, item.first_offset)


def _read_aborted_transaction_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AbortedTransaction], int]:
    items = []
    for _ in range(elements):
        item = new(AbortedTransaction)
        item.producer_id, item.first_offset, tags = _unpack_qqt(buffer, at)
        at += 17
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_aborted_transaction_v12_array(out: bytearray, items: list[AbortedTransaction]) -> None:
    for item in items:
        out += _pack_qqt(item.producer_id, item.first_offset, 0)


def _read_partition_data_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.log_start_offset = -1
        item.diverging_epoch = None
        item.current_leader = None
        item.snapshot_id = None
        item.preferred_read_replica = -1
        item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset = _unpack_ihqq(
            buffer, at
        )
        at += 22
        count, at = read_nullable_count(buffer, at, 16, budget)
        if count < 0:
            item.aborted_transactions = None
        else:
            item.aborted_transactions, at = _read_aborted_transaction_v4_array(buffer, at, count, budget)
        item.records, at = read_nullable_records(buffer, at)
        items.append(item)
    return items, at


def _write_partition_data_v4_array(out: bytearray, items: list[PartitionData], payloads: Payloads) -> None:
    for item in items:
        out += _pack_ihqq(item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset)
        if item.aborted_transactions is None:
            out += NULL_INT32
        else:
            write_count(out, item.aborted_transactions)
            _write_aborted_transaction_v4_array(out, item.aborted_transactions)
        write_nullable_records(out, item.records, payloads)


def _read_partition_data_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.diverging_epoch = None
        item.current_leader = None
        item.snapshot_id = None
        item.preferred_read_replica = -1
        (
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        ) = _unpack_ihqqq(buffer, at)
        at += 30
        count, at = read_nullable_count(buffer, at, 16, budget)
        if count < 0:
            item.aborted_transactions = None
        else:
            item.aborted_transactions, at = _read_aborted_transaction_v4_array(buffer, at, count, budget)
        item.records, at = read_nullable_records(buffer, at)
        items.append(item)
    return items, at


def _write_partition_data_v5_array(out: bytearray, items: list[PartitionData], payloads: Payloads) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        )
        if item.aborted_transactions is None:
            out += NULL_INT32
        else:
            write_count(out, item.aborted_transactions)
            _write_aborted_transaction_v4_array(out, item.aborted_transactions)
        write_nullable_records(out, item.records, payloads)


def _read_partition_data_v11_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.diverging_epoch = None
        item.current_leader = None
        item.snapshot_id = None
        (
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        ) = _unpack_ihqqq(buffer, at)
        at += 30
        count, at = read_nullable_count(buffer, at, 16, budget)
        if count < 0:
            item.aborted_transactions = None
        else:
            item.aborted_transactions, at = _read_aborted_transaction_v4_array(buffer, at, count, budget)
        (item.preferred_read_replica,) = _unpack_i(buffer, at)
        at += 4
        item.records, at = read_nullable_records(buffer, at)
        items.append(item)
    return items, at


def _write_partition_data_v11_array(out: bytearray, items: list[PartitionData], payloads: Payloads) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        )
        if item.aborted_transactions is None:
            out += NULL_INT32
        else:
            write_count(out, item.aborted_transactions)
            _write_aborted_transaction_v4_array(out, item.aborted_transactions)
        out += _pack_i(item.preferred_read_replica)
        write_nullable_records(out, item.records, payloads)


def _read_partition_data_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionData], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionData)
        item.diverging_epoch = None
        item.current_leader = None
        item.snapshot_id = None
        (
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        ) = _unpack_ihqqq(buffer, at)
        at += 30
        count, at = read_compact_nullable_count(buffer, at, 17, budget)
        if count < 0:
            item.aborted_transactions = None
        else:
            item.aborted_transactions, at = _read_aborted_transaction_v12_array(buffer, at, count, budget)
        (item.preferred_read_replica,) = _unpack_i(buffer, at)
        at += 4
        item.records, at = read_compact_nullable_records(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    item.diverging_epoch, at = _read_epoch_end_offset_v12(buffer, at, budget)
                elif tag == 1:
                    item.current_leader, at = _read_leader_id_and_epoch_v12(buffer, at, budget)
                elif tag == 2:
                    item.snapshot_id, at = _read_snapshot_id_v12(buffer, at, budget)
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_partition_data_v12_array(out: bytearray, items: list[PartitionData], payloads: Payloads) -> None:
    for item in items:
        out += _pack_ihqqq(
            item.partition_index,
            item.error_code,
            item.high_watermark,
            item.last_stable_offset,
            item.log_start_offset,
        )
        if item.aborted_transactions is None:
            out.append(0)
        else:
            write_compact_count(out, item.aborted_transactions)
            _write_aborted_transaction_v12_array(out, item.aborted_transactions)
        out += _pack_i(item.preferred_read_replica)
        write_compact_nullable_records(out, item.records, payloads)
        tags = (
            (item.diverging_epoch is not None)
            + (item.current_leader is not None)
            + (item.snapshot_id is not None)
        )
        out.append(tags)
        if tags:
            if item.diverging_epoch is not None:
                value = bytearray()
                _write_epoch_end_offset_v12(value, item.diverging_epoch)
                write_tag(out, 0, value)
            if item.current_leader is not None:
                value = bytearray()
                _write_leader_id_and_epoch_v12(value, item.current_leader)
                write_tag(out, 1, value)
            if item.snapshot_id is not None:
                value = bytearray()
                _write_snapshot_id_v12(value, item.snapshot_id)
                write_tag(out, 2, value)


def _read_fetchable_topic_response_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(FetchableTopicResponse)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 30, budget)
        item.partitions, at = _read_partition_data_v4_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetchable_topic_response_v4_array(
    out: bytearray, items: list[FetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_partition_data_v4_array(out, item.partitions, payloads)


def _read_fetchable_topic_response_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(FetchableTopicResponse)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 38, budget)
        item.partitions, at = _read_partition_data_v5_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetchable_topic_response_v5_array(
    out: bytearray, items: list[FetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_partition_data_v5_array(out, item.partitions, payloads)


def _read_fetchable_topic_response_v11_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(FetchableTopicResponse)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 42, budget)
        item.partitions, at = _read_partition_data_v11_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_fetchable_topic_response_v11_array(
    out: bytearray, items: list[FetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        _write_partition_data_v11_array(out, item.partitions, payloads)


def _read_fetchable_topic_response_v12_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(FetchableTopicResponse)
        item.topic_id = NO_TOPIC_ID
        item.topic, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 37, budget)
        item.partitions, at = _read_partition_data_v12_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetchable_topic_response_v12_array(
    out: bytearray, items: list[FetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_compact_string(out, item.topic)
        write_compact_count(out, item.partitions)
        _write_partition_data_v12_array(out, item.partitions, payloads)
        out.append(0)


def _read_fetchable_topic_response_v13_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[FetchableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(FetchableTopicResponse)
        item.topic = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 37, budget)
        item.partitions, at = _read_partition_data_v12_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_fetchable_topic_response_v13_array(
    out: bytearray, items: list[FetchableTopicResponse], payloads: Payloads
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_partition_data_v12_array(out, item.partitions, payloads)
        out.append(0)


def _read_node_endpoint_v16_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[NodeEndpoint], int]:
    items = []
    for _ in range(elements):
        item = new(NodeEndpoint)
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


def _write_node_endpoint_v16_array(out: bytearray, items: list[NodeEndpoint]) -> None:
    for item in items:
        out += _pack_i(item.node_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out.append(0)


def _read_fetch_response_v4(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.error_code = 0
    item.session_id = 0
    item.node_endpoints = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_fetchable_topic_response_v4_array(buffer, at, count, budget)
    return item, at


def _write_fetch_response_v4(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.responses)
    _write_fetchable_topic_response_v4_array(out, item.responses, payloads)


def _read_fetch_response_v5(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.error_code = 0
    item.session_id = 0
    item.node_endpoints = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_fetchable_topic_response_v5_array(buffer, at, count, budget)
    return item, at


def _write_fetch_response_v5(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.responses)
    _write_fetchable_topic_response_v5_array(out, item.responses, payloads)


def _read_fetch_response_v7(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.node_endpoints = []
    item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(buffer, at)
    at += 10
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_fetchable_topic_response_v5_array(buffer, at, count, budget)
    return item, at


def _write_fetch_response_v7(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    write_count(out, item.responses)
    _write_fetchable_topic_response_v5_array(out, item.responses, payloads)


def _read_fetch_response_v11(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.node_endpoints = []
    item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(buffer, at)
    at += 10
    count, at = read_count(buffer, at, 6, budget)
    item.responses, at = _read_fetchable_topic_response_v11_array(buffer, at, count, budget)
    return item, at


def _write_fetch_response_v11(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    write_count(out, item.responses)
    _write_fetchable_topic_response_v11_array(out, item.responses, payloads)


def _read_fetch_response_v12(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.node_endpoints = []
    item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(buffer, at)
    at += 10
    count, at = read_compact_count(buffer, at, 3, budget)
    item.responses, at = _read_fetchable_topic_response_v12_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_fetch_response_v12(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    write_compact_count(out, item.responses)
    _write_fetchable_topic_response_v12_array(out, item.responses, payloads)
    out.append(0)


def _read_fetch_response_v13(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.node_endpoints = []
    item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(buffer, at)
    at += 10
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_fetchable_topic_response_v13_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_fetch_response_v13(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    write_compact_count(out, item.responses)
    _write_fetchable_topic_response_v13_array(out, item.responses, payloads)
    out.append(0)


def _read_fetch_response_v16(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[FetchResponse, int]:
    item = new(FetchResponse)
    item.node_endpoints = []
    item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(buffer, at)
    at += 10
    count, at = read_compact_count(buffer, at, 18, budget)
    item.responses, at = _read_fetchable_topic_response_v13_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_count(buffer, at, 11, budget)
                item.node_endpoints, at = _read_node_endpoint_v16_array(buffer, at, count, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_fetch_response_v16(out: bytearray, item: FetchResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
    write_compact_count(out, item.responses)
    _write_fetchable_topic_response_v13_array(out, item.responses, payloads)
    tags = len(item.node_endpoints) > 0
    out.append(tags)
    if tags:
        if len(item.node_endpoints) > 0:
            value = bytearray()
            write_compact_count(value, item.node_endpoints)
            _write_node_endpoint_v16_array(value, item.node_endpoints)
            write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class FetchResponse(Message):
    """Versions 4 to 18, flexible from 12."""

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[Versions] = Versions(4, 18)
    FLEXIBLE_FROM: ClassVar[int] = 12
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        4: _read_fetch_response_v4,
        5: _read_fetch_response_v5,
        6: _read_fetch_response_v5,
        7: _read_fetch_response_v7,
        8: _read_fetch_response_v7,
        9: _read_fetch_response_v7,
        10: _read_fetch_response_v7,
        11: _read_fetch_response_v11,
        12: _read_fetch_response_v12,
        13: _read_fetch_response_v13,
        14: _read_fetch_response_v13,
        15: _read_fetch_response_v13,
        16: _read_fetch_response_v16,
        17: _read_fetch_response_v16,
        18: _read_fetch_response_v16,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        4: _write_fetch_response_v4,
        5: _write_fetch_response_v5,
        6: _write_fetch_response_v5,
        7: _write_fetch_response_v7,
        8: _write_fetch_response_v7,
        9: _write_fetch_response_v7,
        10: _write_fetch_response_v7,
        11: _write_fetch_response_v11,
        12: _write_fetch_response_v12,
        13: _write_fetch_response_v13,
        14: _write_fetch_response_v13,
        15: _write_fetch_response_v13,
        16: _write_fetch_response_v16,
        17: _write_fetch_response_v16,
        18: _write_fetch_response_v16,
    }

    throttle_time_ms: int = 0
    error_code: int = 0  # v7+
    session_id: int = 0  # v7+
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)  # v16+
