"""Generated from `schemas/controlled_shutdown.fields` by `odradek.wire.generator`: do not edit."""

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
api 7 ControlledShutdown

request ControlledShutdownRequest 3 flexible 3+
    broker_id: int32
    broker_epoch: int64 = -1

response ControlledShutdownResponse 3 flexible 3+
    error_code: int16
    remaining_partitions: [RemainingPartition]
        topic_name: string
        partition_index: int32
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_iqt: Final = Struct(">iqB").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_it: Final = Struct(">iB").pack
_pack_iqt: Final = Struct(">iqB").pack


def _read_controlled_shutdown_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ControlledShutdownRequest, int]:
    item = new(ControlledShutdownRequest)
    item.broker_id, item.broker_epoch, tags = _unpack_iqt(buffer, at)
    at += 13
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_controlled_shutdown_request_v3(
    out: bytearray, item: ControlledShutdownRequest, payloads: Payloads
) -> None:
    out += _pack_iqt(item.broker_id, item.broker_epoch, 0)


@dataclass(slots=True, eq=False, repr=False)
class ControlledShutdownRequest(Request["ControlledShutdownResponse"]):
    """Version 3, flexible."""

    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[Versions] = Versions(3, 3)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {3: _read_controlled_shutdown_request_v3}
    ENCODERS: ClassVar[dict[int, Encoder]] = {3: _write_controlled_shutdown_request_v3}

    broker_id: int = 0
    broker_epoch: int = -1


@dataclass(slots=True, eq=False, repr=False)
class RemainingPartition(Structure):
    """ControlledShutdownResponse.remaining_partitions[]"""

    topic_name: str = ""
    partition_index: int = 0


def _read_remaining_partition_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[RemainingPartition], int]:
    items = []
    for _ in range(elements):
        item = new(RemainingPartition)
        item.topic_name, at = read_compact_string(buffer, at)
        item.partition_index, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_remaining_partition_v3_array(out: bytearray, items: list[RemainingPartition]) -> None:
    for item in items:
        write_compact_string(out, item.topic_name)
        out += _pack_it(item.partition_index, 0)


def _read_controlled_shutdown_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ControlledShutdownResponse, int]:
    item = new(ControlledShutdownResponse)
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_compact_count(buffer, at, 6, budget)
    item.remaining_partitions, at = _read_remaining_partition_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_controlled_shutdown_response_v3(
    out: bytearray, item: ControlledShutdownResponse, payloads: Payloads
) -> None:
    out += _pack_h(item.error_code)
    write_compact_count(out, item.remaining_partitions)
    _write_remaining_partition_v3_array(out, item.remaining_partitions)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ControlledShutdownResponse(Message):
    """Version 3, flexible."""

    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[Versions] = Versions(3, 3)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {3: _read_controlled_shutdown_response_v3}
    ENCODERS: ClassVar[dict[int, Encoder]] = {3: _write_controlled_shutdown_response_v3}

    error_code: int = 0
    remaining_partitions: list[RemainingPartition] = field(default_factory=list)
