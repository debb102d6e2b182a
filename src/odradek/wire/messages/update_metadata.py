"""Generated from `schemas/update_metadata.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_nullable_bytes,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_tag,
    read_tag_count,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 6 UpdateMetadata

request UpdateMetadataRequest 8 flexible 6+
    controller_id: int32
    is_k_raft_controller: bool
    type: int8 tag 0
    controller_epoch: int32
    broker_epoch: int64 = -1
    topic_states: [UpdateMetadataTopicState]
        topic_name: string
        topic_id: uuid
        partition_states: [UpdateMetadataPartitionState]
            partition_index: int32
            controller_epoch: int32
            leader: int32
            leader_epoch: int32
            isr: [int32]
            zk_version: int32
            replicas: [int32]
            offline_replicas: [int32]
            eligible_leader_replicas: [int32] tag 10000
            last_known_leader: int32 tag 10001 = -1
            unclean_epoch: int32 tag 10002 = -1
    live_brokers: [UpdateMetadataBroker]
        id: int32
        endpoints: [UpdateMetadataEndpoint]
            port: int32
            host: string
            listener: string
            security_protocol: int16
        rack: string?
        epoch: int64 tag 10000 = -1
    settings: [UpdateMetadataSettings] tag 10000
        resource_type: int8
        resource_name: string
        overrides: bytes?

response UpdateMetadataResponse 8 flexible 6+
    error_code: int16
"""


_unpack_b: Final = Struct(">b").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ioiq: Final = Struct(">i?iq").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_pack_b: Final = Struct(">b").pack
_pack_ht: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_ioiq: Final = Struct(">i?iq").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_q: Final = Struct(">q").pack


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataPartitionState(Structure):
    """UpdateMetadataRequest.topic_states[].partition_states[]"""

    partition_index: int = 0
    controller_epoch: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: list[int] = field(default_factory=list)
    zk_version: int = 0
    replicas: list[int] = field(default_factory=list)
    offline_replicas: list[int] = field(default_factory=list)
    eligible_leader_replicas: list[int] = field(default_factory=list)
    last_known_leader: int = -1
    unclean_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataTopicState(Structure):
    """UpdateMetadataRequest.topic_states[]"""

    topic_name: str = ""
    topic_id: UUID = NO_TOPIC_ID
    partition_states: list[UpdateMetadataPartitionState] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataEndpoint(Structure):
    """UpdateMetadataRequest.live_brokers[].endpoints[]"""

    port: int = 0
    host: str = ""
    listener: str = ""
    security_protocol: int = 0


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataBroker(Structure):
    """UpdateMetadataRequest.live_brokers[]"""

    id: int = 0
    endpoints: list[UpdateMetadataEndpoint] = field(default_factory=list)
    rack: str | None = ""
    epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataSettings(Structure):
    """UpdateMetadataRequest.settings[]"""

    resource_type: int = 0
    resource_name: str = ""
    overrides: bytes | None = b""


def _read_update_metadata_partition_state_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdateMetadataPartitionState], int]:
    items = []
    for _ in range(elements):
        item = new(UpdateMetadataPartitionState)
        item.eligible_leader_replicas = []
        item.last_known_leader = -1
        item.unclean_epoch = -1
        item.partition_index, item.controller_epoch, item.leader, item.leader_epoch = _unpack_iiii(buffer, at)
        at += 16
        count, at = read_compact_count(buffer, at, 4, budget)
        item.isr, at = read_int32s(buffer, at, count)
        (item.zk_version,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 4, budget)
        item.replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.offline_replicas, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 10000:
                    count, at = read_compact_count(buffer, at, 4, budget)
                    item.eligible_leader_replicas, at = read_int32s(buffer, at, count)
                elif tag == 10001:
                    (item.last_known_leader,) = _unpack_i(buffer, at)
                    at += 4
                elif tag == 10002:
                    (item.unclean_epoch,) = _unpack_i(buffer, at)
                    at += 4
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_update_metadata_partition_state_v8_array(
    out: bytearray, items: list[UpdateMetadataPartitionState]
) -> None:
    for item in items:
        out += _pack_iiii(item.partition_index, item.controller_epoch, item.leader, item.leader_epoch)
        write_compact_count(out, item.isr)
        write_int32s(out, item.isr)
        out += _pack_i(item.zk_version)
        write_compact_count(out, item.replicas)
        write_int32s(out, item.replicas)
        write_compact_count(out, item.offline_replicas)
        write_int32s(out, item.offline_replicas)
        tags = (
            (len(item.eligible_leader_replicas) > 0)
            + (item.last_known_leader != -1)
            + (item.unclean_epoch != -1)
        )
        out.append(tags)
        if tags:
            if len(item.eligible_leader_replicas) > 0:
                value = bytearray()
                write_compact_count(value, item.eligible_leader_replicas)
                write_int32s(value, item.eligible_leader_replicas)
                write_tag(out, 10000, value)
            if item.last_known_leader != -1:
                value = bytearray()
                value += _pack_i(item.last_known_leader)
                write_tag(out, 10001, value)
            if item.unclean_epoch != -1:
                value = bytearray()
                value += _pack_i(item.unclean_epoch)
                write_tag(out, 10002, value)


def _read_update_metadata_topic_state_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdateMetadataTopicState], int]:
    items = []
    for _ in range(elements):
        item = new(UpdateMetadataTopicState)
        item.topic_name, at = read_compact_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 24, budget)
        item.partition_states, at = _read_update_metadata_partition_state_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_update_metadata_topic_state_v8_array(
    out: bytearray, items: list[UpdateMetadataTopicState]
) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_states)
        _write_update_metadata_partition_state_v8_array(out, item.partition_states)
        out.append(0)


def _read_update_metadata_endpoint_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdateMetadataEndpoint], int]:
    items = []
    for _ in range(elements):
        item = new(UpdateMetadataEndpoint)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        item.listener, at = read_compact_string(buffer, at)
        item.security_protocol, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_update_metadata_endpoint_v8_array(out: bytearray, items: list[UpdateMetadataEndpoint]) -> None:
    for item in items:
        out += _pack_i(item.port)
        write_compact_string(out, item.host)
        write_compact_string(out, item.listener)
        out += _pack_ht(item.security_protocol, 0)


def _read_update_metadata_broker_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdateMetadataBroker], int]:
    items = []
    for _ in range(elements):
        item = new(UpdateMetadataBroker)
        item.epoch = -1
        (item.id,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 9, budget)
        item.endpoints, at = _read_update_metadata_endpoint_v8_array(buffer, at, count, budget)
        item.rack, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 10000:
                    (item.epoch,) = _unpack_q(buffer, at)
                    at += 8
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_update_metadata_broker_v8_array(out: bytearray, items: list[UpdateMetadataBroker]) -> None:
    for item in items:
        out += _pack_i(item.id)
        write_compact_count(out, item.endpoints)
        _write_update_metadata_endpoint_v8_array(out, item.endpoints)
        write_compact_nullable_string(out, item.rack)
        tags = item.epoch != -1
        out.append(tags)
        if tags:
            if item.epoch != -1:
                value = bytearray()
                value += _pack_q(item.epoch)
                write_tag(out, 10000, value)


def _read_update_metadata_settings_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[UpdateMetadataSettings], int]:
    items = []
    for _ in range(elements):
        item = new(UpdateMetadataSettings)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        item.overrides, at = read_compact_nullable_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_update_metadata_settings_v8_array(out: bytearray, items: list[UpdateMetadataSettings]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        write_compact_nullable_bytes(out, item.overrides)
        out.append(0)


def _read_update_metadata_request_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateMetadataRequest, int]:
    item = new(UpdateMetadataRequest)
    item.type = 0
    item.settings = []
    item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch = _unpack_ioiq(
        buffer, at
    )
    at += 17
    count, at = read_compact_count(buffer, at, 19, budget)
    item.topic_states, at = _read_update_metadata_topic_state_v8_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 7, budget)
    item.live_brokers, at = _read_update_metadata_broker_v8_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.type,) = _unpack_b(buffer, at)
                at += 1
            elif tag == 10000:
                count, at = read_compact_count(buffer, at, 4, budget)
                item.settings, at = _read_update_metadata_settings_v8_array(buffer, at, count, budget)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_update_metadata_request_v8(
    out: bytearray, item: UpdateMetadataRequest, payloads: Payloads
) -> None:
    out += _pack_ioiq(item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch)
    write_compact_count(out, item.topic_states)
    _write_update_metadata_topic_state_v8_array(out, item.topic_states)
    write_compact_count(out, item.live_brokers)
    _write_update_metadata_broker_v8_array(out, item.live_brokers)
    tags = (item.type != 0) + (len(item.settings) > 0)
    out.append(tags)
    if tags:
        if item.type != 0:
            value = bytearray()
            value += _pack_b(item.type)
            write_tag(out, 0, value)
        if len(item.settings) > 0:
            value = bytearray()
            write_compact_count(value, item.settings)
            _write_update_metadata_settings_v8_array(value, item.settings)
            write_tag(out, 10000, value)


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataRequest(Request["UpdateMetadataResponse"]):
    """Version 8, flexible."""

    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[Versions] = Versions(8, 8)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {8: _read_update_metadata_request_v8}
    ENCODERS: ClassVar[dict[int, Encoder]] = {8: _write_update_metadata_request_v8}

    controller_id: int = 0
    is_k_raft_controller: bool = False
    type: int = 0
    controller_epoch: int = 0
    broker_epoch: int = -1
    topic_states: list[UpdateMetadataTopicState] = field(default_factory=list)
    live_brokers: list[UpdateMetadataBroker] = field(default_factory=list)
    settings: list[UpdateMetadataSettings] = field(default_factory=list)


def _read_update_metadata_response_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[UpdateMetadataResponse, int]:
    item = new(UpdateMetadataResponse)
    item.error_code, tags = _unpack_ht(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_update_metadata_response_v8(
    out: bytearray, item: UpdateMetadataResponse, payloads: Payloads
) -> None:
    out += _pack_ht(item.error_code, 0)


@dataclass(slots=True, eq=False, repr=False)
class UpdateMetadataResponse(Message):
    """Version 8, flexible."""

    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[Versions] = Versions(8, 8)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {8: _read_update_metadata_response_v8}
    ENCODERS: ClassVar[dict[int, Encoder]] = {8: _write_update_metadata_response_v8}

    error_code: int = 0
