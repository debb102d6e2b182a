"""Generated from `schemas/leader_and_isr.fields` by `odradek.wire.generator`: do not edit."""

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
    write_compact_string,
    write_int32s,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 4 LeaderAndIsr

request LeaderAndIsrRequest 7 flexible 4+
    controller_id: int32
    is_k_raft_controller: bool
    controller_epoch: int32
    broker_epoch: int64 = -1
    type: int8
    topic_states: [LeaderAndIsrTopicState]
        topic_name: string
        topic_id: uuid
        partition_states: [LeaderAndIsrPartitionState]
            partition_index: int32
            controller_epoch: int32
            leader: int32
            leader_epoch: int32
            isr: [int32]
            partition_epoch: int32
            replicas: [int32]
            adding_replicas: [int32]
            removing_replicas: [int32]
            is_new: bool
            leader_recovery_state: int8
            eligible_leader_replicas: [int32] tag 10000
            last_known_leader: int32 tag 10001 = -1
            unclean_epoch: int32 tag 10002 = -1
    live_leaders: [LeaderAndIsrLiveLeader]
        broker_id: int32
        host_name: string
        port: int32

response LeaderAndIsrResponse 7 flexible 4+
    error_code: int16
    topics: [LeaderAndIsrTopicError]
        topic_id: uuid
        partition_errors: [LeaderAndIsrPartitionError]
            partition_index: int32
            error_code: int16
            leader_epoch: int32 tag 10000 = -1
            last_epoch: int32 tag 10001 = -1
            log_end_offset: int64 tag 10002 = -1
"""


_unpack_obt: Final = Struct(">?bB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ioiqb: Final = Struct(">i?iqb").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_pack_ob: Final = Struct(">?b").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ioiqb: Final = Struct(">i?iqb").pack
_pack_it: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_q: Final = Struct(">q").pack


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrPartitionState(Structure):
    """LeaderAndIsrRequest.topic_states[].partition_states[]"""

    partition_index: int = 0
    controller_epoch: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: list[int] = field(default_factory=list)
    partition_epoch: int = 0
    replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    is_new: bool = False
    leader_recovery_state: int = 0
    eligible_leader_replicas: list[int] = field(default_factory=list)
    last_known_leader: int = -1
    unclean_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrTopicState(Structure):
    """LeaderAndIsrRequest.topic_states[]"""

    topic_name: str = ""
    topic_id: UUID = NO_TOPIC_ID
    partition_states: list[LeaderAndIsrPartitionState] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrLiveLeader(Structure):
    """LeaderAndIsrRequest.live_leaders[]"""

    broker_id: int = 0
    host_name: str = ""
    port: int = 0


def _read_leader_and_isr_partition_state_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[LeaderAndIsrPartitionState], int]:
    items = []
    for _ in range(elements):
        item = new(LeaderAndIsrPartitionState)
        item.eligible_leader_replicas = []
        item.last_known_leader = -1
        item.unclean_epoch = -1
        item.partition_index, item.controller_epoch, item.leader, item.leader_epoch = _unpack_iiii(buffer, at)
        at += 16
        count, at = read_compact_count(buffer, at, 4, budget)
        item.isr, at = read_int32s(buffer, at, count)
        (item.partition_epoch,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 4, budget)
        item.replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.adding_replicas, at = read_int32s(buffer, at, count)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.removing_replicas, at = read_int32s(buffer, at, count)
        item.is_new, item.leader_recovery_state, tags = _unpack_obt(buffer, at)
        at += 3
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


def _write_leader_and_isr_partition_state_v7_array(
    out: bytearray, items: list[LeaderAndIsrPartitionState]
) -> None:
    for item in items:
        out += _pack_iiii(item.partition_index, item.controller_epoch, item.leader, item.leader_epoch)
        write_compact_count(out, item.isr)
        write_int32s(out, item.isr)
        out += _pack_i(item.partition_epoch)
        write_compact_count(out, item.replicas)
        write_int32s(out, item.replicas)
        write_compact_count(out, item.adding_replicas)
        write_int32s(out, item.adding_replicas)
        write_compact_count(out, item.removing_replicas)
        write_int32s(out, item.removing_replicas)
        out += _pack_ob(item.is_new, item.leader_recovery_state)
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


def _read_leader_and_isr_topic_state_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[LeaderAndIsrTopicState], int]:
    items = []
    for _ in range(elements):
        item = new(LeaderAndIsrTopicState)
        item.topic_name, at = read_compact_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 27, budget)
        item.partition_states, at = _read_leader_and_isr_partition_state_v7_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_leader_and_isr_topic_state_v7_array(out: bytearray, items: list[LeaderAndIsrTopicState]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_states)
        _write_leader_and_isr_partition_state_v7_array(out, item.partition_states)
        out.append(0)


def _read_leader_and_isr_live_leader_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[LeaderAndIsrLiveLeader], int]:
    items = []
    for _ in range(elements):
        item = new(LeaderAndIsrLiveLeader)
        (item.broker_id,) = _unpack_i(buffer, at)
        at += 4
        item.host_name, at = read_compact_string(buffer, at)
        item.port, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_leader_and_isr_live_leader_v7_array(out: bytearray, items: list[LeaderAndIsrLiveLeader]) -> None:
    for item in items:
        out += _pack_i(item.broker_id)
        write_compact_string(out, item.host_name)
        out += _pack_it(item.port, 0)


def _read_leader_and_isr_request_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaderAndIsrRequest, int]:
    item = new(LeaderAndIsrRequest)
    item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch, item.type = (
        _unpack_ioiqb(buffer, at)
    )
    at += 18
    count, at = read_compact_count(buffer, at, 19, budget)
    item.topic_states, at = _read_leader_and_isr_topic_state_v7_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 10, budget)
    item.live_leaders, at = _read_leader_and_isr_live_leader_v7_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leader_and_isr_request_v7(out: bytearray, item: LeaderAndIsrRequest, payloads: Payloads) -> None:
    out += _pack_ioiqb(
        item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch, item.type
    )
    write_compact_count(out, item.topic_states)
    _write_leader_and_isr_topic_state_v7_array(out, item.topic_states)
    write_compact_count(out, item.live_leaders)
    _write_leader_and_isr_live_leader_v7_array(out, item.live_leaders)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrRequest(Request["LeaderAndIsrResponse"]):
    """Version 7, flexible."""

    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[Versions] = Versions(7, 7)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {7: _read_leader_and_isr_request_v7}
    ENCODERS: ClassVar[dict[int, Encoder]] = {7: _write_leader_and_isr_request_v7}

    controller_id: int = 0
    is_k_raft_controller: bool = False
    controller_epoch: int = 0
    broker_epoch: int = -1
    type: int = 0
    topic_states: list[LeaderAndIsrTopicState] = field(default_factory=list)
    live_leaders: list[LeaderAndIsrLiveLeader] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrPartitionError(Structure):
    """LeaderAndIsrResponse.topics[].partition_errors[]"""

    partition_index: int = 0
    error_code: int = 0
    leader_epoch: int = -1
    last_epoch: int = -1
    log_end_offset: int = -1


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrTopicError(Structure):
    """LeaderAndIsrResponse.topics[]"""

    topic_id: UUID = NO_TOPIC_ID
    partition_errors: list[LeaderAndIsrPartitionError] = field(default_factory=list)


def _read_leader_and_isr_partition_error_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[LeaderAndIsrPartitionError], int]:
    items = []
    for _ in range(elements):
        item = new(LeaderAndIsrPartitionError)
        item.leader_epoch = -1
        item.last_epoch = -1
        item.log_end_offset = -1
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 10000:
                    (item.leader_epoch,) = _unpack_i(buffer, at)
                    at += 4
                elif tag == 10001:
                    (item.last_epoch,) = _unpack_i(buffer, at)
                    at += 4
                elif tag == 10002:
                    (item.log_end_offset,) = _unpack_q(buffer, at)
                    at += 8
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_leader_and_isr_partition_error_v7_array(
    out: bytearray, items: list[LeaderAndIsrPartitionError]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        tags = (item.leader_epoch != -1) + (item.last_epoch != -1) + (item.log_end_offset != -1)
        out.append(tags)
        if tags:
            if item.leader_epoch != -1:
                value = bytearray()
                value += _pack_i(item.leader_epoch)
                write_tag(out, 10000, value)
            if item.last_epoch != -1:
                value = bytearray()
                value += _pack_i(item.last_epoch)
                write_tag(out, 10001, value)
            if item.log_end_offset != -1:
                value = bytearray()
                value += _pack_q(item.log_end_offset)
                write_tag(out, 10002, value)


def _read_leader_and_isr_topic_error_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[LeaderAndIsrTopicError], int]:
    items = []
    for _ in range(elements):
        item = new(LeaderAndIsrTopicError)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partition_errors, at = _read_leader_and_isr_partition_error_v7_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_leader_and_isr_topic_error_v7_array(out: bytearray, items: list[LeaderAndIsrTopicError]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partition_errors)
        _write_leader_and_isr_partition_error_v7_array(out, item.partition_errors)
        out.append(0)


def _read_leader_and_isr_response_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaderAndIsrResponse, int]:
    item = new(LeaderAndIsrResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_leader_and_isr_topic_error_v7_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leader_and_isr_response_v7(out: bytearray, item: LeaderAndIsrResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.topics)
    _write_leader_and_isr_topic_error_v7_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class LeaderAndIsrResponse(Message):
    """Version 7, flexible."""

    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[Versions] = Versions(7, 7)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {7: _read_leader_and_isr_response_v7}
    ENCODERS: ClassVar[dict[int, Encoder]] = {7: _write_leader_and_isr_response_v7}

    error_code: int = 0
    topics: list[LeaderAndIsrTopicError] = field(default_factory=list)
