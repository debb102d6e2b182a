"""Generated from `schemas/stop_replica.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, read_compact_count, read_compact_string, skip_tags
from odradek.wire.encoding import Payloads, write_compact_count, write_compact_string
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 5 StopReplica

request StopReplicaRequest 4 flexible 2+
    controller_id: int32
    is_k_raft_controller: bool
    controller_epoch: int32
    broker_epoch: int64 = -1
    topic_states: [StopReplicaTopicState]
        topic_name: string
        partition_states: [StopReplicaPartitionState]
            partition_index: int32
            leader_epoch: int32 = -1
            delete_partition: bool

response StopReplicaResponse 4 flexible 2+
    error_code: int16
    partition_errors: [StopReplicaPartitionError]
        topic_name: string
        partition_index: int32
        error_code: int16
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_ioiq: Final = Struct(">i?iq").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_iiot: Final = Struct(">ii?B").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_ioiq: Final = Struct(">i?iq").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_iiot: Final = Struct(">ii?B").pack


@dataclass(slots=True, eq=False, repr=False)
class StopReplicaPartitionState(Structure):
    """StopReplicaRequest.topic_states[].partition_states[]"""

    partition_index: int = 0
    leader_epoch: int = -1
    delete_partition: bool = False


@dataclass(slots=True, eq=False, repr=False)
class StopReplicaTopicState(Structure):
    """StopReplicaRequest.topic_states[]"""

    topic_name: str = ""
    partition_states: list[StopReplicaPartitionState] = field(default_factory=list)


def _read_stop_replica_partition_state_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[StopReplicaPartitionState], int]:
    items = []
    for _ in range(elements):
        item = new(StopReplicaPartitionState)
        item.partition_index, item.leader_epoch, item.delete_partition, tags = _unpack_iiot(buffer, at)
        at += 10
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_stop_replica_partition_state_v4_array(
    out: bytearray, items: list[StopReplicaPartitionState]
) -> None:
    for item in items:
        out += _pack_iiot(item.partition_index, item.leader_epoch, item.delete_partition, 0)


def _read_stop_replica_topic_state_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[StopReplicaTopicState], int]:
    items = []
    for _ in range(elements):
        item = new(StopReplicaTopicState)
        item.topic_name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 10, budget)
        item.partition_states, at = _read_stop_replica_partition_state_v4_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_stop_replica_topic_state_v4_array(out: bytearray, items: list[StopReplicaTopicState]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        write_compact_count(out, item.partition_states)
        _write_stop_replica_partition_state_v4_array(out, item.partition_states)
        out.append(0)


def _read_stop_replica_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[StopReplicaRequest, int]:
    item = new(StopReplicaRequest)
    item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch = _unpack_ioiq(
        buffer, at
    )
    at += 17
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topic_states, at = _read_stop_replica_topic_state_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_stop_replica_request_v4(out: bytearray, item: StopReplicaRequest, payloads: Payloads) -> None:
    out += _pack_ioiq(item.controller_id, item.is_k_raft_controller, item.controller_epoch, item.broker_epoch)
    write_compact_count(out, item.topic_states)
    _write_stop_replica_topic_state_v4_array(out, item.topic_states)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class StopReplicaRequest(Request["StopReplicaResponse"]):
    """Version 4, flexible."""

    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[Versions] = Versions(4, 4)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {4: _read_stop_replica_request_v4}
    ENCODERS: ClassVar[dict[int, Encoder]] = {4: _write_stop_replica_request_v4}

    controller_id: int = 0
    is_k_raft_controller: bool = False
    controller_epoch: int = 0
    broker_epoch: int = -1
    topic_states: list[StopReplicaTopicState] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class StopReplicaPartitionError(Structure):
    """StopReplicaResponse.partition_errors[]"""

    topic_name: str = ""
    partition_index: int = 0
    error_code: int = 0


def _read_stop_replica_partition_error_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[StopReplicaPartitionError], int]:
    items = []
    for _ in range(elements):
        item = new(StopReplicaPartitionError)
        item.topic_name, at = read_compact_string(buffer, at)
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_stop_replica_partition_error_v4_array(
    out: bytearray, items: list[StopReplicaPartitionError]
) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        out += _pack_iht(item.partition_index, item.error_code, 0)


def _read_stop_replica_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[StopReplicaResponse, int]:
    item = new(StopReplicaResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 8, budget)
    item.partition_errors, at = _read_stop_replica_partition_error_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_stop_replica_response_v4(out: bytearray, item: StopReplicaResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.partition_errors)
    _write_stop_replica_partition_error_v4_array(out, item.partition_errors)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class StopReplicaResponse(Message):
    """Version 4, flexible."""

    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[Versions] = Versions(4, 4)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {4: _read_stop_replica_response_v4}
    ENCODERS: ClassVar[dict[int, Encoder]] = {4: _write_stop_replica_response_v4}

    error_code: int = 0
    partition_errors: list[StopReplicaPartitionError] = field(default_factory=list)
