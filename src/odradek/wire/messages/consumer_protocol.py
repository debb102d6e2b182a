"""Generated from `schemas/consumer_protocol.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_count,
    read_int32s,
    read_nullable_bytes,
    read_nullable_string,
    read_string,
    read_strings,
)
from odradek.wire.encoding import (
    Payloads,
    write_count,
    write_int32s,
    write_nullable_bytes,
    write_nullable_string,
    write_string,
    write_strings,
)
from odradek.wire.message import Decoder, Encoder, Message, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records ConsumerProtocol

record ConsumerProtocolSubscription 0-3
    topics: [string]
    user_data: bytes? = null
    owned_partitions: [TopicPartition] @1+
        topic: string
        partitions: [int32]
    generation_id: int32 @2+ = -1
    rack_id: string? @3+ = null

record ConsumerProtocolAssignment 0-3
    assigned_partitions: [TopicPartition]
    user_data: bytes? = null
"""


_unpack_i: Final = Struct(">i").unpack_from
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class TopicPartition(Structure):
    """ConsumerProtocolSubscription.owned_partitions[]"""

    topic: str = ""
    partitions: list[int] = field(default_factory=list)


def _read_topic_partition_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartition], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartition)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_topic_partition_v1_array(out: bytearray, items: list[TopicPartition]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_consumer_protocol_subscription_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerProtocolSubscription, int]:
    item = new(ConsumerProtocolSubscription)
    item.owned_partitions = []
    item.generation_id = -1
    item.rack_id = None
    count, at = read_count(buffer, at, 2, budget)
    item.topics, at = read_strings(buffer, at, count)
    item.user_data, at = read_nullable_bytes(buffer, at)
    return item, at


def _write_consumer_protocol_subscription_v0(
    out: bytearray, item: ConsumerProtocolSubscription, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    write_strings(out, item.topics)
    write_nullable_bytes(out, item.user_data)


def _read_consumer_protocol_subscription_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerProtocolSubscription, int]:
    item = new(ConsumerProtocolSubscription)
    item.generation_id = -1
    item.rack_id = None
    count, at = read_count(buffer, at, 2, budget)
    item.topics, at = read_strings(buffer, at, count)
    item.user_data, at = read_nullable_bytes(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.owned_partitions, at = _read_topic_partition_v1_array(buffer, at, count, budget)
    return item, at


def _write_consumer_protocol_subscription_v1(
    out: bytearray, item: ConsumerProtocolSubscription, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    write_strings(out, item.topics)
    write_nullable_bytes(out, item.user_data)
    write_count(out, item.owned_partitions)
    _write_topic_partition_v1_array(out, item.owned_partitions)


def _read_consumer_protocol_subscription_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerProtocolSubscription, int]:
    item = new(ConsumerProtocolSubscription)
    item.rack_id = None
    count, at = read_count(buffer, at, 2, budget)
    item.topics, at = read_strings(buffer, at, count)
    item.user_data, at = read_nullable_bytes(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.owned_partitions, at = _read_topic_partition_v1_array(buffer, at, count, budget)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_consumer_protocol_subscription_v2(
    out: bytearray, item: ConsumerProtocolSubscription, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    write_strings(out, item.topics)
    write_nullable_bytes(out, item.user_data)
    write_count(out, item.owned_partitions)
    _write_topic_partition_v1_array(out, item.owned_partitions)
    out += _pack_i(item.generation_id)


def _read_consumer_protocol_subscription_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerProtocolSubscription, int]:
    item = new(ConsumerProtocolSubscription)
    count, at = read_count(buffer, at, 2, budget)
    item.topics, at = read_strings(buffer, at, count)
    item.user_data, at = read_nullable_bytes(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.owned_partitions, at = _read_topic_partition_v1_array(buffer, at, count, budget)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.rack_id, at = read_nullable_string(buffer, at)
    return item, at


def _write_consumer_protocol_subscription_v3(
    out: bytearray, item: ConsumerProtocolSubscription, payloads: Payloads
) -> None:
    write_count(out, item.topics)
    write_strings(out, item.topics)
    write_nullable_bytes(out, item.user_data)
    write_count(out, item.owned_partitions)
    _write_topic_partition_v1_array(out, item.owned_partitions)
    out += _pack_i(item.generation_id)
    write_nullable_string(out, item.rack_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerProtocolSubscription(Message):
    """Versions 0 to 3."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_consumer_protocol_subscription_v0,
        1: _read_consumer_protocol_subscription_v1,
        2: _read_consumer_protocol_subscription_v2,
        3: _read_consumer_protocol_subscription_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_consumer_protocol_subscription_v0,
        1: _write_consumer_protocol_subscription_v1,
        2: _write_consumer_protocol_subscription_v2,
        3: _write_consumer_protocol_subscription_v3,
    }

    topics: list[str] = field(default_factory=list)
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = field(default_factory=list)  # v1+
    generation_id: int = -1  # v2+
    rack_id: str | None = None  # v3+


def _read_consumer_protocol_assignment_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerProtocolAssignment, int]:
    item = new(ConsumerProtocolAssignment)
    count, at = read_count(buffer, at, 6, budget)
    item.assigned_partitions, at = _read_topic_partition_v1_array(buffer, at, count, budget)
    item.user_data, at = read_nullable_bytes(buffer, at)
    return item, at


def _write_consumer_protocol_assignment_v0(
    out: bytearray, item: ConsumerProtocolAssignment, payloads: Payloads
) -> None:
    write_count(out, item.assigned_partitions)
    _write_topic_partition_v1_array(out, item.assigned_partitions)
    write_nullable_bytes(out, item.user_data)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerProtocolAssignment(Message):
    """Versions 0 to 3."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_consumer_protocol_assignment_v0,
        1: _read_consumer_protocol_assignment_v0,
        2: _read_consumer_protocol_assignment_v0,
        3: _read_consumer_protocol_assignment_v0,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_consumer_protocol_assignment_v0,
        1: _write_consumer_protocol_assignment_v0,
        2: _write_consumer_protocol_assignment_v0,
        3: _write_consumer_protocol_assignment_v0,
    }

    assigned_partitions: list[TopicPartition] = field(default_factory=list)
    user_data: bytes | None = None
