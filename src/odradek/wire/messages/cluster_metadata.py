"""Generated from `schemas/cluster_metadata.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_tag,
    read_tag_count,
    read_uuid,
    read_uuids,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_tag,
    write_uuid,
    write_uuids,
)
from odradek.wire.message import Decoder, Encoder, Message
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
records ClusterMetadata

record TopicRecord 0 flexible 0+
    name: string
    topic_id: uuid

record PartitionRecord 0-2 flexible 0+
    partition_id: int32 = -1
    topic_id: uuid
    replicas: [int32]
    isr: [int32]
    removing_replicas: [int32]
    adding_replicas: [int32]
    leader: int32 = -1
    leader_recovery_state: int8 tag 0
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: [uuid] @1+
    eligible_leader_replicas: [int32]? @2+ tag 1 = null
    last_known_elr: [int32]? @2+ tag 2 = null

record PartitionChangeRecord 0-2 flexible 0+
    partition_id: int32 = -1
    topic_id: uuid
    isr: [int32]? tag 0 = null
    leader: int32 tag 1 = -2
    replicas: [int32]? tag 2 = null
    removing_replicas: [int32]? tag 3 = null
    adding_replicas: [int32]? tag 4 = null
    leader_recovery_state: int8 tag 5 = -1
    eligible_leader_replicas: [int32]? @2+ tag 6 = null
    last_known_elr: [int32]? @2+ tag 7 = null
    directories: [uuid]? @1+ tag 8 = null

record ConfigRecord 0 flexible 0+
    resource_type: int8
    resource_name: string
    name: string
    value: string?

record RemoveTopicRecord 0 flexible 0+
    topic_id: uuid

record ProducerIdsRecord 0 flexible 0+
    broker_id: int32
    broker_epoch: int64
    next_producer_id: int64
"""


_unpack_b: Final = Struct(">b").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiit: Final = Struct(">iiiB").unpack_from
_unpack_iqqt: Final = Struct(">iqqB").unpack_from
_pack_b: Final = Struct(">b").pack
_pack_i: Final = Struct(">i").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iqqt: Final = Struct(">iqqB").pack


def _read_topic_record_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[TopicRecord, int]:
    item = new(TopicRecord)
    item.name, at = read_compact_string(buffer, at)
    item.topic_id, at = read_uuid(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_topic_record_v0(out: bytearray, item: TopicRecord, payloads: Payloads) -> None:
    write_compact_string(out, item.name)
    write_uuid(out, item.topic_id)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class TopicRecord(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_topic_record_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_topic_record_v0}

    name: str = ""
    topic_id: UUID = NO_TOPIC_ID


def _read_partition_record_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[PartitionRecord, int]:
    item = new(PartitionRecord)
    item.leader_recovery_state = 0
    item.directories = []
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.isr, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.removing_replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.adding_replicas, at = read_int32s(buffer, at, count)
    item.leader, item.leader_epoch, item.partition_epoch, tags = _unpack_iiit(buffer, at)
    at += 13
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_record_v0(out: bytearray, item: PartitionRecord, payloads: Payloads) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    write_compact_count(out, item.replicas)
    write_int32s(out, item.replicas)
    write_compact_count(out, item.isr)
    write_int32s(out, item.isr)
    write_compact_count(out, item.removing_replicas)
    write_int32s(out, item.removing_replicas)
    write_compact_count(out, item.adding_replicas)
    write_int32s(out, item.adding_replicas)
    out += _pack_iii(item.leader, item.leader_epoch, item.partition_epoch)
    tags = item.leader_recovery_state != 0
    out.append(tags)
    if tags:
        if item.leader_recovery_state != 0:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 0, value)


def _read_partition_record_v1(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[PartitionRecord, int]:
    item = new(PartitionRecord)
    item.leader_recovery_state = 0
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.isr, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.removing_replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.adding_replicas, at = read_int32s(buffer, at, count)
    item.leader, item.leader_epoch, item.partition_epoch = _unpack_iii(buffer, at)
    at += 12
    count, at = read_compact_count(buffer, at, 16, budget)
    item.directories, at = read_uuids(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_record_v1(out: bytearray, item: PartitionRecord, payloads: Payloads) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    write_compact_count(out, item.replicas)
    write_int32s(out, item.replicas)
    write_compact_count(out, item.isr)
    write_int32s(out, item.isr)
    write_compact_count(out, item.removing_replicas)
    write_int32s(out, item.removing_replicas)
    write_compact_count(out, item.adding_replicas)
    write_int32s(out, item.adding_replicas)
    out += _pack_iii(item.leader, item.leader_epoch, item.partition_epoch)
    write_compact_count(out, item.directories)
    write_uuids(out, item.directories)
    tags = item.leader_recovery_state != 0
    out.append(tags)
    if tags:
        if item.leader_recovery_state != 0:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 0, value)


def _read_partition_record_v2(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[PartitionRecord, int]:
    item = new(PartitionRecord)
    item.leader_recovery_state = 0
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.isr, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.removing_replicas, at = read_int32s(buffer, at, count)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.adding_replicas, at = read_int32s(buffer, at, count)
    item.leader, item.leader_epoch, item.partition_epoch = _unpack_iii(buffer, at)
    at += 12
    count, at = read_compact_count(buffer, at, 16, budget)
    item.directories, at = read_uuids(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            elif tag == 1:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.eligible_leader_replicas = None
                else:
                    item.eligible_leader_replicas, at = read_int32s(buffer, at, count)
            elif tag == 2:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.last_known_elr = None
                else:
                    item.last_known_elr, at = read_int32s(buffer, at, count)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_record_v2(out: bytearray, item: PartitionRecord, payloads: Payloads) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    write_compact_count(out, item.replicas)
    write_int32s(out, item.replicas)
    write_compact_count(out, item.isr)
    write_int32s(out, item.isr)
    write_compact_count(out, item.removing_replicas)
    write_int32s(out, item.removing_replicas)
    write_compact_count(out, item.adding_replicas)
    write_int32s(out, item.adding_replicas)
    out += _pack_iii(item.leader, item.leader_epoch, item.partition_epoch)
    write_compact_count(out, item.directories)
    write_uuids(out, item.directories)
    tags = (
        (item.leader_recovery_state != 0)
        + (item.eligible_leader_replicas is not None)
        + (item.last_known_elr is not None)
    )
    out.append(tags)
    if tags:
        if item.leader_recovery_state != 0:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 0, value)
        if item.eligible_leader_replicas is not None:
            value = bytearray()
            if item.eligible_leader_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.eligible_leader_replicas)
                write_int32s(value, item.eligible_leader_replicas)
            write_tag(out, 1, value)
        if item.last_known_elr is not None:
            value = bytearray()
            if item.last_known_elr is None:
                value.append(0)
            else:
                write_compact_count(value, item.last_known_elr)
                write_int32s(value, item.last_known_elr)
            write_tag(out, 2, value)


@dataclass(slots=True, eq=False, repr=False)
class PartitionRecord(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_partition_record_v0,
        1: _read_partition_record_v1,
        2: _read_partition_record_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_partition_record_v0,
        1: _write_partition_record_v1,
        2: _write_partition_record_v2,
    }

    partition_id: int = -1
    topic_id: UUID = NO_TOPIC_ID
    replicas: list[int] = field(default_factory=list)
    isr: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: list[UUID] = field(default_factory=list)  # v1+
    eligible_leader_replicas: list[int] | None = None  # v2+
    last_known_elr: list[int] | None = None  # v2+


def _read_partition_change_record_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[PartitionChangeRecord, int]:
    item = new(PartitionChangeRecord)
    item.isr = None
    item.leader = -2
    item.replicas = None
    item.removing_replicas = None
    item.adding_replicas = None
    item.leader_recovery_state = -1
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    item.directories = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.isr = None
                else:
                    item.isr, at = read_int32s(buffer, at, count)
            elif tag == 1:
                (item.leader,) = _unpack_i(buffer, at)
                at += 4
            elif tag == 2:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.replicas = None
                else:
                    item.replicas, at = read_int32s(buffer, at, count)
            elif tag == 3:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.removing_replicas = None
                else:
                    item.removing_replicas, at = read_int32s(buffer, at, count)
            elif tag == 4:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.adding_replicas = None
                else:
                    item.adding_replicas, at = read_int32s(buffer, at, count)
            elif tag == 5:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_change_record_v0(
    out: bytearray, item: PartitionChangeRecord, payloads: Payloads
) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    tags = (
        (item.isr is not None)
        + (item.leader != -2)
        + (item.replicas is not None)
        + (item.removing_replicas is not None)
        + (item.adding_replicas is not None)
        + (item.leader_recovery_state != -1)
    )
    out.append(tags)
    if tags:
        if item.isr is not None:
            value = bytearray()
            if item.isr is None:
                value.append(0)
            else:
                write_compact_count(value, item.isr)
                write_int32s(value, item.isr)
            write_tag(out, 0, value)
        if item.leader != -2:
            value = bytearray()
            value += _pack_i(item.leader)
            write_tag(out, 1, value)
        if item.replicas is not None:
            value = bytearray()
            if item.replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.replicas)
                write_int32s(value, item.replicas)
            write_tag(out, 2, value)
        if item.removing_replicas is not None:
            value = bytearray()
            if item.removing_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.removing_replicas)
                write_int32s(value, item.removing_replicas)
            write_tag(out, 3, value)
        if item.adding_replicas is not None:
            value = bytearray()
            if item.adding_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.adding_replicas)
                write_int32s(value, item.adding_replicas)
            write_tag(out, 4, value)
        if item.leader_recovery_state != -1:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 5, value)


def _read_partition_change_record_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[PartitionChangeRecord, int]:
    item = new(PartitionChangeRecord)
    item.isr = None
    item.leader = -2
    item.replicas = None
    item.removing_replicas = None
    item.adding_replicas = None
    item.leader_recovery_state = -1
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    item.directories = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.isr = None
                else:
                    item.isr, at = read_int32s(buffer, at, count)
            elif tag == 1:
                (item.leader,) = _unpack_i(buffer, at)
                at += 4
            elif tag == 2:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.replicas = None
                else:
                    item.replicas, at = read_int32s(buffer, at, count)
            elif tag == 3:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.removing_replicas = None
                else:
                    item.removing_replicas, at = read_int32s(buffer, at, count)
            elif tag == 4:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.adding_replicas = None
                else:
                    item.adding_replicas, at = read_int32s(buffer, at, count)
            elif tag == 5:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            elif tag == 8:
                count, at = read_compact_nullable_count(buffer, at, 16, budget)
                if count < 0:
                    item.directories = None
                else:
                    item.directories, at = read_uuids(buffer, at, count)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_change_record_v1(
    out: bytearray, item: PartitionChangeRecord, payloads: Payloads
) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    tags = (
        (item.isr is not None)
        + (item.leader != -2)
        + (item.replicas is not None)
        + (item.removing_replicas is not None)
        + (item.adding_replicas is not None)
        + (item.leader_recovery_state != -1)
        + (item.directories is not None)
    )
    out.append(tags)
    if tags:
        if item.isr is not None:
            value = bytearray()
            if item.isr is None:
                value.append(0)
            else:
                write_compact_count(value, item.isr)
                write_int32s(value, item.isr)
            write_tag(out, 0, value)
        if item.leader != -2:
            value = bytearray()
            value += _pack_i(item.leader)
            write_tag(out, 1, value)
        if item.replicas is not None:
            value = bytearray()
            if item.replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.replicas)
                write_int32s(value, item.replicas)
            write_tag(out, 2, value)
        if item.removing_replicas is not None:
            value = bytearray()
            if item.removing_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.removing_replicas)
                write_int32s(value, item.removing_replicas)
            write_tag(out, 3, value)
        if item.adding_replicas is not None:
            value = bytearray()
            if item.adding_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.adding_replicas)
                write_int32s(value, item.adding_replicas)
            write_tag(out, 4, value)
        if item.leader_recovery_state != -1:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 5, value)
        if item.directories is not None:
            value = bytearray()
            if item.directories is None:
                value.append(0)
            else:
                write_compact_count(value, item.directories)
                write_uuids(value, item.directories)
            write_tag(out, 8, value)


def _read_partition_change_record_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[PartitionChangeRecord, int]:
    item = new(PartitionChangeRecord)
    item.isr = None
    item.leader = -2
    item.replicas = None
    item.removing_replicas = None
    item.adding_replicas = None
    item.leader_recovery_state = -1
    item.eligible_leader_replicas = None
    item.last_known_elr = None
    item.directories = None
    (item.partition_id,) = _unpack_i(buffer, at)
    at += 4
    item.topic_id, at = read_uuid(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.isr = None
                else:
                    item.isr, at = read_int32s(buffer, at, count)
            elif tag == 1:
                (item.leader,) = _unpack_i(buffer, at)
                at += 4
            elif tag == 2:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.replicas = None
                else:
                    item.replicas, at = read_int32s(buffer, at, count)
            elif tag == 3:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.removing_replicas = None
                else:
                    item.removing_replicas, at = read_int32s(buffer, at, count)
            elif tag == 4:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.adding_replicas = None
                else:
                    item.adding_replicas, at = read_int32s(buffer, at, count)
            elif tag == 5:
                (item.leader_recovery_state,) = _unpack_b(buffer, at)
                at += 1
            elif tag == 6:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.eligible_leader_replicas = None
                else:
                    item.eligible_leader_replicas, at = read_int32s(buffer, at, count)
            elif tag == 7:
                count, at = read_compact_nullable_count(buffer, at, 4, budget)
                if count < 0:
                    item.last_known_elr = None
                else:
                    item.last_known_elr, at = read_int32s(buffer, at, count)
            elif tag == 8:
                count, at = read_compact_nullable_count(buffer, at, 16, budget)
                if count < 0:
                    item.directories = None
                else:
                    item.directories, at = read_uuids(buffer, at, count)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_partition_change_record_v2(
    out: bytearray, item: PartitionChangeRecord, payloads: Payloads
) -> None:
    out += _pack_i(item.partition_id)
    write_uuid(out, item.topic_id)
    tags = (
        (item.isr is not None)
        + (item.leader != -2)
        + (item.replicas is not None)
        + (item.removing_replicas is not None)
        + (item.adding_replicas is not None)
        + (item.leader_recovery_state != -1)
        + (item.eligible_leader_replicas is not None)
        + (item.last_known_elr is not None)
        + (item.directories is not None)
    )
    out.append(tags)
    if tags:
        if item.isr is not None:
            value = bytearray()
            if item.isr is None:
                value.append(0)
            else:
                write_compact_count(value, item.isr)
                write_int32s(value, item.isr)
            write_tag(out, 0, value)
        if item.leader != -2:
            value = bytearray()
            value += _pack_i(item.leader)
            write_tag(out, 1, value)
        if item.replicas is not None:
            value = bytearray()
            if item.replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.replicas)
                write_int32s(value, item.replicas)
            write_tag(out, 2, value)
        if item.removing_replicas is not None:
            value = bytearray()
            if item.removing_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.removing_replicas)
                write_int32s(value, item.removing_replicas)
            write_tag(out, 3, value)
        if item.adding_replicas is not None:
            value = bytearray()
            if item.adding_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.adding_replicas)
                write_int32s(value, item.adding_replicas)
            write_tag(out, 4, value)
        if item.leader_recovery_state != -1:
            value = bytearray()
            value += _pack_b(item.leader_recovery_state)
            write_tag(out, 5, value)
        if item.eligible_leader_replicas is not None:
            value = bytearray()
            if item.eligible_leader_replicas is None:
                value.append(0)
            else:
                write_compact_count(value, item.eligible_leader_replicas)
                write_int32s(value, item.eligible_leader_replicas)
            write_tag(out, 6, value)
        if item.last_known_elr is not None:
            value = bytearray()
            if item.last_known_elr is None:
                value.append(0)
            else:
                write_compact_count(value, item.last_known_elr)
                write_int32s(value, item.last_known_elr)
            write_tag(out, 7, value)
        if item.directories is not None:
            value = bytearray()
            if item.directories is None:
                value.append(0)
            else:
                write_compact_count(value, item.directories)
                write_uuids(value, item.directories)
            write_tag(out, 8, value)


@dataclass(slots=True, eq=False, repr=False)
class PartitionChangeRecord(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_partition_change_record_v0,
        1: _read_partition_change_record_v1,
        2: _read_partition_change_record_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_partition_change_record_v0,
        1: _write_partition_change_record_v1,
        2: _write_partition_change_record_v2,
    }

    partition_id: int = -1
    topic_id: UUID = NO_TOPIC_ID
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    eligible_leader_replicas: list[int] | None = None  # v2+
    last_known_elr: list[int] | None = None  # v2+
    directories: list[UUID] | None = None  # v1+


def _read_config_record_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[ConfigRecord, int]:
    item = new(ConfigRecord)
    (item.resource_type,) = _unpack_b(buffer, at)
    at += 1
    item.resource_name, at = read_compact_string(buffer, at)
    item.name, at = read_compact_string(buffer, at)
    item.value, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_config_record_v0(out: bytearray, item: ConfigRecord, payloads: Payloads) -> None:
    out += _pack_b(item.resource_type)
    write_compact_string(out, item.resource_name)
    write_compact_string(out, item.name)
    write_compact_nullable_string(out, item.value)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ConfigRecord(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_config_record_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_config_record_v0}

    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""


def _read_remove_topic_record_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[RemoveTopicRecord, int]:
    item = new(RemoveTopicRecord)
    item.topic_id, at = read_uuid(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_remove_topic_record_v0(out: bytearray, item: RemoveTopicRecord, payloads: Payloads) -> None:
    write_uuid(out, item.topic_id)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class RemoveTopicRecord(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_remove_topic_record_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_remove_topic_record_v0}

    topic_id: UUID = NO_TOPIC_ID


def _read_producer_ids_record_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ProducerIdsRecord, int]:
    item = new(ProducerIdsRecord)
    item.broker_id, item.broker_epoch, item.next_producer_id, tags = _unpack_iqqt(buffer, at)
    at += 21
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_producer_ids_record_v0(out: bytearray, item: ProducerIdsRecord, payloads: Payloads) -> None:
    out += _pack_iqqt(item.broker_id, item.broker_epoch, item.next_producer_id, 0)


@dataclass(slots=True, eq=False, repr=False)
class ProducerIdsRecord(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_producer_ids_record_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_producer_ids_record_v0}

    broker_id: int = 0
    broker_epoch: int = 0
    next_producer_id: int = 0
