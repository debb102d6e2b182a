"""Generated from `schemas/create_topics.fields` by `odradek.wire.generator`: do not edit."""

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
    read_count,
    read_int32s,
    read_nullable_string,
    read_string,
    read_tag,
    read_tag_count,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_int32s,
    write_nullable_string,
    write_string,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 19 CreateTopics

request CreateTopicsRequest 2-7 flexible 5+
    topics: [CreatableTopic]
        name: string
        num_partitions: int32
        replication_factor: int16
        assignments: [CreatableReplicaAssignment]
            partition_index: int32
            broker_ids: [int32]
        configs: [CreatableTopicConfig]
            name: string
            value: string?
    timeout_ms: int32 = 60000
    validate_only: bool

response CreateTopicsResponse 2-7 flexible 5+
    throttle_time_ms: int32
    topics: [CreatableTopicResult]
        name: string
        topic_id: uuid @7+
        error_code: int16
        error_message: string?
        topic_config_error_code: int16 @5+ tag 0
        num_partitions: int32 @5+ = -1
        replication_factor: int16 @5+ = -1
        configs: [CreatableTopicConfigs]? @5+
            name: string
            value: string?
            read_only: bool
            config_source: int8 = -1
            is_sensitive: bool
"""


_unpack_obot: Final = Struct(">?b?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_io: Final = Struct(">i?").unpack_from
_unpack_iot: Final = Struct(">i?B").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_obot: Final = Struct(">?b?B").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_io: Final = Struct(">i?").pack
_pack_iot: Final = Struct(">i?B").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class CreatableReplicaAssignment(Structure):
    """CreateTopicsRequest.topics[].assignments[]"""

    partition_index: int = 0
    broker_ids: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class CreatableTopicConfig(Structure):
    """CreateTopicsRequest.topics[].configs[]"""

    name: str = ""
    value: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class CreatableTopic(Structure):
    """CreateTopicsRequest.topics[]"""

    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)


def _read_creatable_replica_assignment_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableReplicaAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableReplicaAssignment)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_count(buffer, at, 4, budget)
        item.broker_ids, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_creatable_replica_assignment_v2_array(
    out: bytearray, items: list[CreatableReplicaAssignment]
) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        write_count(out, item.broker_ids)
        write_int32s(out, item.broker_ids)


def _read_creatable_replica_assignment_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableReplicaAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableReplicaAssignment)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 4, budget)
        item.broker_ids, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_creatable_replica_assignment_v5_array(
    out: bytearray, items: list[CreatableReplicaAssignment]
) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        write_compact_count(out, item.broker_ids)
        write_int32s(out, item.broker_ids)
        out.append(0)


def _read_creatable_topic_config_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicConfig], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicConfig)
        item.name, at = read_string(buffer, at)
        item.value, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_creatable_topic_config_v2_array(out: bytearray, items: list[CreatableTopicConfig]) -> None:
    for item in items:
        write_string(out, item.name)
        write_nullable_string(out, item.value)


def _read_creatable_topic_config_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicConfig], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicConfig)
        item.name, at = read_compact_string(buffer, at)
        item.value, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_creatable_topic_config_v5_array(out: bytearray, items: list[CreatableTopicConfig]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_nullable_string(out, item.value)
        out.append(0)


def _read_creatable_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopic], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopic)
        item.name, at = read_string(buffer, at)
        item.num_partitions, item.replication_factor = _unpack_ih(buffer, at)
        at += 6
        count, at = read_count(buffer, at, 8, budget)
        item.assignments, at = _read_creatable_replica_assignment_v2_array(buffer, at, count, budget)
        count, at = read_count(buffer, at, 4, budget)
        item.configs, at = _read_creatable_topic_config_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_creatable_topic_v2_array(out: bytearray, items: list[CreatableTopic]) -> None:
    for item in items:
        write_string(out, item.name)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        write_count(out, item.assignments)
        _write_creatable_replica_assignment_v2_array(out, item.assignments)
        write_count(out, item.configs)
        _write_creatable_topic_config_v2_array(out, item.configs)


def _read_creatable_topic_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopic], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopic)
        item.name, at = read_compact_string(buffer, at)
        item.num_partitions, item.replication_factor = _unpack_ih(buffer, at)
        at += 6
        count, at = read_compact_count(buffer, at, 6, budget)
        item.assignments, at = _read_creatable_replica_assignment_v5_array(buffer, at, count, budget)
        count, at = read_compact_count(buffer, at, 3, budget)
        item.configs, at = _read_creatable_topic_config_v5_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_creatable_topic_v5_array(out: bytearray, items: list[CreatableTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        write_compact_count(out, item.assignments)
        _write_creatable_replica_assignment_v5_array(out, item.assignments)
        write_compact_count(out, item.configs)
        _write_creatable_topic_config_v5_array(out, item.configs)
        out.append(0)


def _read_create_topics_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateTopicsRequest, int]:
    item = new(CreateTopicsRequest)
    count, at = read_count(buffer, at, 16, budget)
    item.topics, at = _read_creatable_topic_v2_array(buffer, at, count, budget)
    item.timeout_ms, item.validate_only = _unpack_io(buffer, at)
    at += 5
    return item, at


def _write_create_topics_request_v2(out: bytearray, item: CreateTopicsRequest, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_creatable_topic_v2_array(out, item.topics)
    out += _pack_io(item.timeout_ms, item.validate_only)


def _read_create_topics_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateTopicsRequest, int]:
    item = new(CreateTopicsRequest)
    count, at = read_compact_count(buffer, at, 10, budget)
    item.topics, at = _read_creatable_topic_v5_array(buffer, at, count, budget)
    item.timeout_ms, item.validate_only, tags = _unpack_iot(buffer, at)
    at += 6
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_topics_request_v5(out: bytearray, item: CreateTopicsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.topics)
    _write_creatable_topic_v5_array(out, item.topics)
    out += _pack_iot(item.timeout_ms, item.validate_only, 0)


@dataclass(slots=True, eq=False, repr=False)
class CreateTopicsRequest(Request["CreateTopicsResponse"]):
    """Versions 2 to 7, flexible from 5."""

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[Versions] = Versions(2, 7)
    FLEXIBLE_FROM: ClassVar[int] = 5
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_create_topics_request_v2,
        3: _read_create_topics_request_v2,
        4: _read_create_topics_request_v2,
        5: _read_create_topics_request_v5,
        6: _read_create_topics_request_v5,
        7: _read_create_topics_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_create_topics_request_v2,
        3: _write_create_topics_request_v2,
        4: _write_create_topics_request_v2,
        5: _write_create_topics_request_v5,
        6: _write_create_topics_request_v5,
        7: _write_create_topics_request_v5,
    }

    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: int = 60000
    validate_only: bool = False


@dataclass(slots=True, eq=False, repr=False)
class CreatableTopicConfigs(Structure):
    """CreateTopicsResponse.topics[].configs[]"""

    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False


@dataclass(slots=True, eq=False, repr=False)
class CreatableTopicResult(Structure):
    """CreateTopicsResponse.topics[]"""

    name: str = ""
    topic_id: UUID = NO_TOPIC_ID  # v7+
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0  # v5+
    num_partitions: int = -1  # v5+
    replication_factor: int = -1  # v5+
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list)  # v5+


def _read_creatable_topic_configs_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicConfigs], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicConfigs)
        item.name, at = read_compact_string(buffer, at)
        item.value, at = read_compact_nullable_string(buffer, at)
        item.read_only, item.config_source, item.is_sensitive, tags = _unpack_obot(buffer, at)
        at += 4
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_creatable_topic_configs_v5_array(out: bytearray, items: list[CreatableTopicConfigs]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_nullable_string(out, item.value)
        out += _pack_obot(item.read_only, item.config_source, item.is_sensitive, 0)


def _read_creatable_topic_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicResult)
        item.topic_id = NO_TOPIC_ID
        item.topic_config_error_code = 0
        item.num_partitions = -1
        item.replication_factor = -1
        item.configs = []
        item.name, at = read_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_creatable_topic_result_v2_array(out: bytearray, items: list[CreatableTopicResult]) -> None:
    for item in items:
        write_string(out, item.name)
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)


def _read_creatable_topic_result_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicResult)
        item.topic_id = NO_TOPIC_ID
        item.topic_config_error_code = 0
        item.name, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.num_partitions, item.replication_factor = _unpack_ih(buffer, at)
        at += 6
        count, at = read_compact_nullable_count(buffer, at, 6, budget)
        if count < 0:
            item.configs = None
        else:
            item.configs, at = _read_creatable_topic_configs_v5_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    (item.topic_config_error_code,) = _unpack_h(buffer, at)
                    at += 2
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_creatable_topic_result_v5_array(out: bytearray, items: list[CreatableTopicResult]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        if item.configs is None:
            out.append(0)
        else:
            write_compact_count(out, item.configs)
            _write_creatable_topic_configs_v5_array(out, item.configs)
        tags = item.topic_config_error_code != 0
        out.append(tags)
        if tags:
            if item.topic_config_error_code != 0:
                value = bytearray()
                value += _pack_h(item.topic_config_error_code)
                write_tag(out, 0, value)


def _read_creatable_topic_result_v7_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[CreatableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(CreatableTopicResult)
        item.topic_config_error_code = 0
        item.name, at = read_compact_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.num_partitions, item.replication_factor = _unpack_ih(buffer, at)
        at += 6
        count, at = read_compact_nullable_count(buffer, at, 6, budget)
        if count < 0:
            item.configs = None
        else:
            item.configs, at = _read_creatable_topic_configs_v5_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    (item.topic_config_error_code,) = _unpack_h(buffer, at)
                    at += 2
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_creatable_topic_result_v7_array(out: bytearray, items: list[CreatableTopicResult]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_uuid(out, item.topic_id)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_ih(item.num_partitions, item.replication_factor)
        if item.configs is None:
            out.append(0)
        else:
            write_compact_count(out, item.configs)
            _write_creatable_topic_configs_v5_array(out, item.configs)
        tags = item.topic_config_error_code != 0
        out.append(tags)
        if tags:
            if item.topic_config_error_code != 0:
                value = bytearray()
                value += _pack_h(item.topic_config_error_code)
                write_tag(out, 0, value)


def _read_create_topics_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateTopicsResponse, int]:
    item = new(CreateTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_creatable_topic_result_v2_array(buffer, at, count, budget)
    return item, at


def _write_create_topics_response_v2(out: bytearray, item: CreateTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_creatable_topic_result_v2_array(out, item.topics)


def _read_create_topics_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateTopicsResponse, int]:
    item = new(CreateTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 12, budget)
    item.topics, at = _read_creatable_topic_result_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_topics_response_v5(out: bytearray, item: CreateTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_creatable_topic_result_v5_array(out, item.topics)
    out.append(0)


def _read_create_topics_response_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateTopicsResponse, int]:
    item = new(CreateTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 28, budget)
    item.topics, at = _read_creatable_topic_result_v7_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_topics_response_v7(out: bytearray, item: CreateTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_creatable_topic_result_v7_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class CreateTopicsResponse(Message):
    """Versions 2 to 7, flexible from 5."""

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[Versions] = Versions(2, 7)
    FLEXIBLE_FROM: ClassVar[int] = 5
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_create_topics_response_v2,
        3: _read_create_topics_response_v2,
        4: _read_create_topics_response_v2,
        5: _read_create_topics_response_v5,
        6: _read_create_topics_response_v5,
        7: _read_create_topics_response_v7,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_create_topics_response_v2,
        3: _write_create_topics_response_v2,
        4: _write_create_topics_response_v2,
        5: _write_create_topics_response_v5,
        6: _write_create_topics_response_v5,
        7: _write_create_topics_response_v7,
    }

    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)
