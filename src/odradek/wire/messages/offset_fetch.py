"""Generated from `schemas/offset_fetch.fields` by `odradek.wire.generator`: do not edit."""

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
api 9 OffsetFetch

request OffsetFetchRequest 1-10 flexible 6+
    group_id: string @0-7
    topics: [OffsetFetchRequestTopic]?2+ @0-7
        name: string
        partition_indexes: [int32]
    groups: [OffsetFetchRequestGroup] @8+
        group_id: string
        member_id: string? @9+ = null
        member_epoch: int32 @9+ = -1
        topics: [OffsetFetchRequestTopics]?
            name: string @0-9
            topic_id: uuid @10+
            partition_indexes: [int32]
    require_stable: bool @7+

response OffsetFetchResponse 1-10 flexible 6+
    throttle_time_ms: int32 @3+
    topics: [OffsetFetchResponseTopic] @0-7
        name: string
        partitions: [OffsetFetchResponsePartition]
            partition_index: int32
            committed_offset: int64
            committed_leader_epoch: int32 @5+ = -1
            metadata: string?
            error_code: int16
    error_code: int16 @2-7
    groups: [OffsetFetchResponseGroup] @8+
        group_id: string
        topics: [OffsetFetchResponseTopics]
            name: string @0-9
            topic_id: uuid @10+
            partitions: [OffsetFetchResponsePartitions]
                partition_index: int32
                committed_offset: int64
                committed_leader_epoch: int32 = -1
                metadata: string?
                error_code: int16
        error_code: int16
"""


_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_pack_ot: Final = Struct(">?B").pack
_pack_h: Final = Struct(">h").pack
_pack_ht: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchRequestTopic(Structure):
    """OffsetFetchRequest.topics[]"""

    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchRequestTopics(Structure):
    """OffsetFetchRequest.groups[].topics[]"""

    name: str = ""  # up to v9
    topic_id: UUID = NO_TOPIC_ID  # v10+
    partition_indexes: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchRequestGroup(Structure):
    """OffsetFetchRequest.groups[]"""

    group_id: str = ""
    member_id: str | None = None  # v9+
    member_epoch: int = -1  # v9+
    topics: list[OffsetFetchRequestTopics] | None = field(default_factory=list)


def _read_offset_fetch_request_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topic_v1_array(out: bytearray, items: list[OffsetFetchRequestTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)


def _read_offset_fetch_request_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topic_v6_array(out: bytearray, items: list[OffsetFetchRequestTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_offset_fetch_request_topics_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestTopics], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestTopics)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topics_v8_array(
    out: bytearray, items: list[OffsetFetchRequestTopics]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_offset_fetch_request_topics_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestTopics], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestTopics)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partition_indexes, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_topics_v10_array(
    out: bytearray, items: list[OffsetFetchRequestTopics]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_indexes)
        write_int32s(out, item.partition_indexes)
        out.append(0)


def _read_offset_fetch_request_group_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestGroup], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestGroup)
        item.member_id = None
        item.member_epoch = -1
        item.group_id, at = read_compact_string(buffer, at)
        count, at = read_compact_nullable_count(buffer, at, 3, budget)
        if count < 0:
            item.topics = None
        else:
            item.topics, at = _read_offset_fetch_request_topics_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_group_v8_array(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        if item.topics is None:
            out.append(0)
        else:
            write_compact_count(out, item.topics)
            _write_offset_fetch_request_topics_v8_array(out, item.topics)
        out.append(0)


def _read_offset_fetch_request_group_v9_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestGroup], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestGroup)
        item.group_id, at = read_compact_string(buffer, at)
        item.member_id, at = read_compact_nullable_string(buffer, at)
        (item.member_epoch,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_nullable_count(buffer, at, 3, budget)
        if count < 0:
            item.topics = None
        else:
            item.topics, at = _read_offset_fetch_request_topics_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_group_v9_array(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_nullable_string(out, item.member_id)
        out += _pack_i(item.member_epoch)
        if item.topics is None:
            out.append(0)
        else:
            write_compact_count(out, item.topics)
            _write_offset_fetch_request_topics_v8_array(out, item.topics)
        out.append(0)


def _read_offset_fetch_request_group_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchRequestGroup], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchRequestGroup)
        item.group_id, at = read_compact_string(buffer, at)
        item.member_id, at = read_compact_nullable_string(buffer, at)
        (item.member_epoch,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_nullable_count(buffer, at, 18, budget)
        if count < 0:
            item.topics = None
        else:
            item.topics, at = _read_offset_fetch_request_topics_v10_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_request_group_v10_array(out: bytearray, items: list[OffsetFetchRequestGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_nullable_string(out, item.member_id)
        out += _pack_i(item.member_epoch)
        if item.topics is None:
            out.append(0)
        else:
            write_compact_count(out, item.topics)
            _write_offset_fetch_request_topics_v10_array(out, item.topics)
        out.append(0)


def _read_offset_fetch_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.groups = []
    item.require_stable = False
    item.group_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_fetch_request_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_offset_fetch_request_v1(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    assert item.topics is not None
    write_count(out, item.topics)
    _write_offset_fetch_request_topic_v1_array(out, item.topics)


def _read_offset_fetch_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.groups = []
    item.require_stable = False
    item.group_id, at = read_string(buffer, at)
    count, at = read_nullable_count(buffer, at, 6, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_offset_fetch_request_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_offset_fetch_request_v2(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    if item.topics is None:
        out += NULL_INT32
    else:
        write_count(out, item.topics)
        _write_offset_fetch_request_topic_v1_array(out, item.topics)


def _read_offset_fetch_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.groups = []
    item.require_stable = False
    item.group_id, at = read_compact_string(buffer, at)
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_offset_fetch_request_topic_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_request_v6(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_offset_fetch_request_topic_v6_array(out, item.topics)
    out.append(0)


def _read_offset_fetch_request_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.groups = []
    item.group_id, at = read_compact_string(buffer, at)
    count, at = read_compact_nullable_count(buffer, at, 3, budget)
    if count < 0:
        item.topics = None
    else:
        item.topics, at = _read_offset_fetch_request_topic_v6_array(buffer, at, count, budget)
    item.require_stable, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_request_v7(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    if item.topics is None:
        out.append(0)
    else:
        write_compact_count(out, item.topics)
        _write_offset_fetch_request_topic_v6_array(out, item.topics)
    out += _pack_ot(item.require_stable, 0)


def _read_offset_fetch_request_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.group_id = ""
    item.topics = []
    count, at = read_compact_count(buffer, at, 3, budget)
    item.groups, at = _read_offset_fetch_request_group_v8_array(buffer, at, count, budget)
    item.require_stable, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_request_v8(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.groups)
    _write_offset_fetch_request_group_v8_array(out, item.groups)
    out += _pack_ot(item.require_stable, 0)


def _read_offset_fetch_request_v9(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.group_id = ""
    item.topics = []
    count, at = read_compact_count(buffer, at, 8, budget)
    item.groups, at = _read_offset_fetch_request_group_v9_array(buffer, at, count, budget)
    item.require_stable, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_request_v9(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.groups)
    _write_offset_fetch_request_group_v9_array(out, item.groups)
    out += _pack_ot(item.require_stable, 0)


def _read_offset_fetch_request_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchRequest, int]:
    item = new(OffsetFetchRequest)
    item.group_id = ""
    item.topics = []
    count, at = read_compact_count(buffer, at, 8, budget)
    item.groups, at = _read_offset_fetch_request_group_v10_array(buffer, at, count, budget)
    item.require_stable, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_request_v10(out: bytearray, item: OffsetFetchRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.groups)
    _write_offset_fetch_request_group_v10_array(out, item.groups)
    out += _pack_ot(item.require_stable, 0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchRequest(Request["OffsetFetchResponse"]):
    """Versions 1 to 10, flexible from 6."""

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[Versions] = Versions(1, 10)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_offset_fetch_request_v1,
        2: _read_offset_fetch_request_v2,
        3: _read_offset_fetch_request_v2,
        4: _read_offset_fetch_request_v2,
        5: _read_offset_fetch_request_v2,
        6: _read_offset_fetch_request_v6,
        7: _read_offset_fetch_request_v7,
        8: _read_offset_fetch_request_v8,
        9: _read_offset_fetch_request_v9,
        10: _read_offset_fetch_request_v10,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_offset_fetch_request_v1,
        2: _write_offset_fetch_request_v2,
        3: _write_offset_fetch_request_v2,
        4: _write_offset_fetch_request_v2,
        5: _write_offset_fetch_request_v2,
        6: _write_offset_fetch_request_v6,
        7: _write_offset_fetch_request_v7,
        8: _write_offset_fetch_request_v8,
        9: _write_offset_fetch_request_v9,
        10: _write_offset_fetch_request_v10,
    }

    group_id: str = ""  # up to v7
    topics: list[OffsetFetchRequestTopic] | None = field(default_factory=list)  # up to v7
    groups: list[OffsetFetchRequestGroup] = field(default_factory=list)  # v8+
    require_stable: bool = False  # v7+


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponsePartition(Structure):
    """OffsetFetchResponse.topics[].partitions[]"""

    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # v5+
    metadata: str | None = ""
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponseTopic(Structure):
    """OffsetFetchResponse.topics[]"""

    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponsePartitions(Structure):
    """OffsetFetchResponse.groups[].topics[].partitions[]"""

    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponseTopics(Structure):
    """OffsetFetchResponse.groups[].topics[]"""

    name: str = ""  # up to v9
    topic_id: UUID = NO_TOPIC_ID  # v10+
    partitions: list[OffsetFetchResponsePartitions] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponseGroup(Structure):
    """OffsetFetchResponse.groups[]"""

    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = field(default_factory=list)
    error_code: int = 0


def _read_offset_fetch_response_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponsePartition)
        item.committed_leader_epoch = -1
        item.partition_index, item.committed_offset = _unpack_iq(buffer, at)
        at += 12
        item.metadata, at = read_nullable_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_offset_fetch_response_partition_v1_array(
    out: bytearray, items: list[OffsetFetchResponsePartition]
) -> None:
    for item in items:
        out += _pack_iq(item.partition_index, item.committed_offset)
        write_nullable_string(out, item.metadata)
        out += _pack_h(item.error_code)


def _read_offset_fetch_response_partition_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponsePartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.metadata, at = read_nullable_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_offset_fetch_response_partition_v5_array(
    out: bytearray, items: list[OffsetFetchResponsePartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_nullable_string(out, item.metadata)
        out += _pack_h(item.error_code)


def _read_offset_fetch_response_partition_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponsePartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.metadata, at = read_compact_nullable_string(buffer, at)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partition_v6_array(
    out: bytearray, items: list[OffsetFetchResponsePartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_compact_nullable_string(out, item.metadata)
        out += _pack_ht(item.error_code, 0)


def _read_offset_fetch_response_topic_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 16, budget)
        item.partitions, at = _read_offset_fetch_response_partition_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topic_v1_array(
    out: bytearray, items: list[OffsetFetchResponseTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_fetch_response_partition_v1_array(out, item.partitions)


def _read_offset_fetch_response_topic_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseTopic)
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 20, budget)
        item.partitions, at = _read_offset_fetch_response_partition_v5_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topic_v5_array(
    out: bytearray, items: list[OffsetFetchResponseTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_fetch_response_partition_v5_array(out, item.partitions)


def _read_offset_fetch_response_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 20, budget)
        item.partitions, at = _read_offset_fetch_response_partition_v6_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topic_v6_array(
    out: bytearray, items: list[OffsetFetchResponseTopic]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_offset_fetch_response_partition_v6_array(out, item.partitions)
        out.append(0)


def _read_offset_fetch_response_partitions_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponsePartitions], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponsePartitions)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.metadata, at = read_compact_nullable_string(buffer, at)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_partitions_v8_array(
    out: bytearray, items: list[OffsetFetchResponsePartitions]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_compact_nullable_string(out, item.metadata)
        out += _pack_ht(item.error_code, 0)


def _read_offset_fetch_response_topics_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseTopics], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseTopics)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 20, budget)
        item.partitions, at = _read_offset_fetch_response_partitions_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topics_v8_array(
    out: bytearray, items: list[OffsetFetchResponseTopics]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_offset_fetch_response_partitions_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_fetch_response_topics_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseTopics], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseTopics)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 20, budget)
        item.partitions, at = _read_offset_fetch_response_partitions_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_topics_v10_array(
    out: bytearray, items: list[OffsetFetchResponseTopics]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_offset_fetch_response_partitions_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_fetch_response_group_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseGroup], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseGroup)
        item.group_id, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.topics, at = _read_offset_fetch_response_topics_v8_array(buffer, at, count, budget)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_group_v8_array(
    out: bytearray, items: list[OffsetFetchResponseGroup]
) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_count(out, item.topics)
        _write_offset_fetch_response_topics_v8_array(out, item.topics)
        out += _pack_ht(item.error_code, 0)


def _read_offset_fetch_response_group_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetFetchResponseGroup], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetFetchResponseGroup)
        item.group_id, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 18, budget)
        item.topics, at = _read_offset_fetch_response_topics_v10_array(buffer, at, count, budget)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_fetch_response_group_v10_array(
    out: bytearray, items: list[OffsetFetchResponseGroup]
) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_count(out, item.topics)
        _write_offset_fetch_response_topics_v10_array(out, item.topics)
        out += _pack_ht(item.error_code, 0)


def _read_offset_fetch_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.throttle_time_ms = 0
    item.error_code = 0
    item.groups = []
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_fetch_response_topic_v1_array(buffer, at, count, budget)
    return item, at


def _write_offset_fetch_response_v1(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_offset_fetch_response_topic_v1_array(out, item.topics)


def _read_offset_fetch_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.throttle_time_ms = 0
    item.groups = []
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_fetch_response_topic_v1_array(buffer, at, count, budget)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_offset_fetch_response_v2(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_offset_fetch_response_topic_v1_array(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.groups = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_fetch_response_topic_v1_array(buffer, at, count, budget)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_offset_fetch_response_v3(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_offset_fetch_response_topic_v1_array(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.groups = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_fetch_response_topic_v5_array(buffer, at, count, budget)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_offset_fetch_response_v5(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_offset_fetch_response_topic_v5_array(out, item.topics)
    out += _pack_h(item.error_code)


def _read_offset_fetch_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.groups = []
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_offset_fetch_response_topic_v6_array(buffer, at, count, budget)
    item.error_code, tags = _unpack_ht(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_response_v6(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_offset_fetch_response_topic_v6_array(out, item.topics)
    out += _pack_ht(item.error_code, 0)


def _read_offset_fetch_response_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.topics = []
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.groups, at = _read_offset_fetch_response_group_v8_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_response_v8(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.groups)
    _write_offset_fetch_response_group_v8_array(out, item.groups)
    out.append(0)


def _read_offset_fetch_response_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetFetchResponse, int]:
    item = new(OffsetFetchResponse)
    item.topics = []
    item.error_code = 0
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.groups, at = _read_offset_fetch_response_group_v10_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_fetch_response_v10(out: bytearray, item: OffsetFetchResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.groups)
    _write_offset_fetch_response_group_v10_array(out, item.groups)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetFetchResponse(Message):
    """Versions 1 to 10, flexible from 6."""

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[Versions] = Versions(1, 10)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_offset_fetch_response_v1,
        2: _read_offset_fetch_response_v2,
        3: _read_offset_fetch_response_v3,
        4: _read_offset_fetch_response_v3,
        5: _read_offset_fetch_response_v5,
        6: _read_offset_fetch_response_v6,
        7: _read_offset_fetch_response_v6,
        8: _read_offset_fetch_response_v8,
        9: _read_offset_fetch_response_v8,
        10: _read_offset_fetch_response_v10,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_offset_fetch_response_v1,
        2: _write_offset_fetch_response_v2,
        3: _write_offset_fetch_response_v3,
        4: _write_offset_fetch_response_v3,
        5: _write_offset_fetch_response_v5,
        6: _write_offset_fetch_response_v6,
        7: _write_offset_fetch_response_v6,
        8: _write_offset_fetch_response_v8,
        9: _write_offset_fetch_response_v8,
        10: _write_offset_fetch_response_v10,
    }

    throttle_time_ms: int = 0  # v3+
    topics: list[OffsetFetchResponseTopic] = field(default_factory=list)  # up to v7
    error_code: int = 0  # v2–7
    groups: list[OffsetFetchResponseGroup] = field(default_factory=list)  # v8+
