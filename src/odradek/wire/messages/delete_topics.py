"""Generated from `schemas/delete_topics.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
    read_count,
    read_string,
    read_strings,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_count,
    write_string,
    write_strings,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 20 DeleteTopics

request DeleteTopicsRequest 1-6 flexible 4+
    topic_names: [string] @0-5
    topics: [DeleteTopicState] @6+
        name: string? = null
        topic_id: uuid
    timeout_ms: int32

response DeleteTopicsResponse 1-6 flexible 4+
    throttle_time_ms: int32
    responses: [DeletableTopicResult]
        name: string?6+
        topic_id: uuid @6+
        error_code: int16
        error_message: string? @5+ = null
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_ht: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack


@dataclass(slots=True, eq=False, repr=False)
class DeleteTopicState(Structure):
    """DeleteTopicsRequest.topics[]"""

    name: str | None = None
    topic_id: UUID = NO_TOPIC_ID


def _read_delete_topic_state_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteTopicState], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteTopicState)
        item.name, at = read_compact_nullable_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_topic_state_v6_array(out: bytearray, items: list[DeleteTopicState]) -> None:
    for item in items:
        write_compact_nullable_string(out, item.name)
        write_uuid(out, item.topic_id)
        out.append(0)


def _read_delete_topics_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsRequest, int]:
    item = new(DeleteTopicsRequest)
    item.topics = []
    count, at = read_count(buffer, at, 2, budget)
    item.topic_names, at = read_strings(buffer, at, count)
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_delete_topics_request_v1(out: bytearray, item: DeleteTopicsRequest, payloads: Payloads) -> None:
    write_count(out, item.topic_names)
    write_strings(out, item.topic_names)
    out += _pack_i(item.timeout_ms)


def _read_delete_topics_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsRequest, int]:
    item = new(DeleteTopicsRequest)
    item.topics = []
    count, at = read_compact_count(buffer, at, 1, budget)
    item.topic_names, at = read_compact_strings(buffer, at, count)
    item.timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_topics_request_v4(out: bytearray, item: DeleteTopicsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.topic_names)
    write_compact_strings(out, item.topic_names)
    out += _pack_it(item.timeout_ms, 0)


def _read_delete_topics_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsRequest, int]:
    item = new(DeleteTopicsRequest)
    item.topic_names = []
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_delete_topic_state_v6_array(buffer, at, count, budget)
    item.timeout_ms, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_topics_request_v6(out: bytearray, item: DeleteTopicsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.topics)
    _write_delete_topic_state_v6_array(out, item.topics)
    out += _pack_it(item.timeout_ms, 0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteTopicsRequest(Request["DeleteTopicsResponse"]):
    """Versions 1 to 6, flexible from 4."""

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[Versions] = Versions(1, 6)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_delete_topics_request_v1,
        2: _read_delete_topics_request_v1,
        3: _read_delete_topics_request_v1,
        4: _read_delete_topics_request_v4,
        5: _read_delete_topics_request_v4,
        6: _read_delete_topics_request_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_delete_topics_request_v1,
        2: _write_delete_topics_request_v1,
        3: _write_delete_topics_request_v1,
        4: _write_delete_topics_request_v4,
        5: _write_delete_topics_request_v4,
        6: _write_delete_topics_request_v6,
    }

    topic_names: list[str] = field(default_factory=list)  # up to v5
    topics: list[DeleteTopicState] = field(default_factory=list)  # v6+
    timeout_ms: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DeletableTopicResult(Structure):
    """DeleteTopicsResponse.responses[]"""

    name: str | None = ""
    topic_id: UUID = NO_TOPIC_ID  # v6+
    error_code: int = 0
    error_message: str | None = None  # v5+


def _read_deletable_topic_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableTopicResult)
        item.topic_id = NO_TOPIC_ID
        item.error_message = None
        item.name, at = read_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_deletable_topic_result_v1_array(out: bytearray, items: list[DeletableTopicResult]) -> None:
    for item in items:
        assert item.name is not None
        write_string(out, item.name)
        out += _pack_h(item.error_code)


def _read_deletable_topic_result_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableTopicResult)
        item.topic_id = NO_TOPIC_ID
        item.error_message = None
        item.name, at = read_compact_string(buffer, at)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_deletable_topic_result_v4_array(out: bytearray, items: list[DeletableTopicResult]) -> None:
    for item in items:
        assert item.name is not None
        write_compact_string(out, item.name)
        out += _pack_ht(item.error_code, 0)


def _read_deletable_topic_result_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableTopicResult)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_deletable_topic_result_v5_array(out: bytearray, items: list[DeletableTopicResult]) -> None:
    for item in items:
        assert item.name is not None
        write_compact_string(out, item.name)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_deletable_topic_result_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableTopicResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableTopicResult)
        item.name, at = read_compact_nullable_string(buffer, at)
        item.topic_id, at = read_uuid(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_deletable_topic_result_v6_array(out: bytearray, items: list[DeletableTopicResult]) -> None:
    for item in items:
        write_compact_nullable_string(out, item.name)
        write_uuid(out, item.topic_id)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_delete_topics_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsResponse, int]:
    item = new(DeleteTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 4, budget)
    item.responses, at = _read_deletable_topic_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_delete_topics_response_v1(out: bytearray, item: DeleteTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.responses)
    _write_deletable_topic_result_v1_array(out, item.responses)


def _read_delete_topics_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsResponse, int]:
    item = new(DeleteTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 4, budget)
    item.responses, at = _read_deletable_topic_result_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_topics_response_v4(out: bytearray, item: DeleteTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.responses)
    _write_deletable_topic_result_v4_array(out, item.responses)
    out.append(0)


def _read_delete_topics_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsResponse, int]:
    item = new(DeleteTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.responses, at = _read_deletable_topic_result_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_topics_response_v5(out: bytearray, item: DeleteTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.responses)
    _write_deletable_topic_result_v5_array(out, item.responses)
    out.append(0)


def _read_delete_topics_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteTopicsResponse, int]:
    item = new(DeleteTopicsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 21, budget)
    item.responses, at = _read_deletable_topic_result_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_topics_response_v6(out: bytearray, item: DeleteTopicsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.responses)
    _write_deletable_topic_result_v6_array(out, item.responses)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteTopicsResponse(Message):
    """Versions 1 to 6, flexible from 4."""

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[Versions] = Versions(1, 6)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_delete_topics_response_v1,
        2: _read_delete_topics_response_v1,
        3: _read_delete_topics_response_v1,
        4: _read_delete_topics_response_v4,
        5: _read_delete_topics_response_v5,
        6: _read_delete_topics_response_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_delete_topics_response_v1,
        2: _write_delete_topics_response_v1,
        3: _write_delete_topics_response_v1,
        4: _write_delete_topics_response_v4,
        5: _write_delete_topics_response_v5,
        6: _write_delete_topics_response_v6,
    }

    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)
