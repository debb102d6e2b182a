"""Generated from `schemas/sticky_assignor.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, read_count, read_int32s, read_string
from odradek.wire.encoding import Payloads, write_count, write_int32s, write_string
from odradek.wire.message import Decoder, Encoder, Message, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records StickyAssignor

record StickyAssignorUserData 0-1
    previous_assignment: [TopicPartitions]
        topic: string
        partitions: [int32]
    generation: int32 @1+ = -1
"""


_unpack_i: Final = Struct(">i").unpack_from
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class TopicPartitions(Structure):
    """StickyAssignorUserData.previous_assignment[]"""

    topic: str = ""
    partitions: list[int] = field(default_factory=list)


def _read_topic_partitions_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        items.append(item)
    return items, at


def _write_topic_partitions_v0_array(out: bytearray, items: list[TopicPartitions]) -> None:
    for item in items:
        write_string(out, item.topic)
        write_count(out, item.partitions)
        write_int32s(out, item.partitions)


def _read_sticky_assignor_user_data_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[StickyAssignorUserData, int]:
    item = new(StickyAssignorUserData)
    item.generation = -1
    count, at = read_count(buffer, at, 6, budget)
    item.previous_assignment, at = _read_topic_partitions_v0_array(buffer, at, count, budget)
    return item, at


def _write_sticky_assignor_user_data_v0(
    out: bytearray, item: StickyAssignorUserData, payloads: Payloads
) -> None:
    write_count(out, item.previous_assignment)
    _write_topic_partitions_v0_array(out, item.previous_assignment)


def _read_sticky_assignor_user_data_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[StickyAssignorUserData, int]:
    item = new(StickyAssignorUserData)
    count, at = read_count(buffer, at, 6, budget)
    item.previous_assignment, at = _read_topic_partitions_v0_array(buffer, at, count, budget)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_sticky_assignor_user_data_v1(
    out: bytearray, item: StickyAssignorUserData, payloads: Payloads
) -> None:
    write_count(out, item.previous_assignment)
    _write_topic_partitions_v0_array(out, item.previous_assignment)
    out += _pack_i(item.generation)


@dataclass(slots=True, eq=False, repr=False)
class StickyAssignorUserData(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sticky_assignor_user_data_v0,
        1: _read_sticky_assignor_user_data_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sticky_assignor_user_data_v0,
        1: _write_sticky_assignor_user_data_v1,
    }

    previous_assignment: list[TopicPartitions] = field(default_factory=list)
    generation: int = -1  # v1+
