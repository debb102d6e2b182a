"""Generated from `schemas/allocate_producer_ids.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new, skip_tags
from odradek.wire.encoding import Payloads
from odradek.wire.message import Decoder, Encoder, Message, Request
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 67 AllocateProducerIds

request AllocateProducerIdsRequest 0 flexible 0+
    broker_id: int32
    broker_epoch: int64 = -1

response AllocateProducerIdsResponse 0 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    producer_id_start: int64
    producer_id_len: int32
"""


_unpack_ihqit: Final = Struct(">ihqiB").unpack_from
_unpack_iqt: Final = Struct(">iqB").unpack_from
_pack_ihqit: Final = Struct(">ihqiB").pack
_pack_iqt: Final = Struct(">iqB").pack


def _read_allocate_producer_ids_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AllocateProducerIdsRequest, int]:
    item = new(AllocateProducerIdsRequest)
    item.broker_id, item.broker_epoch, tags = _unpack_iqt(buffer, at)
    at += 13
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_allocate_producer_ids_request_v0(
    out: bytearray, item: AllocateProducerIdsRequest, payloads: Payloads
) -> None:
    out += _pack_iqt(item.broker_id, item.broker_epoch, 0)


@dataclass(slots=True, eq=False, repr=False)
class AllocateProducerIdsRequest(Request["AllocateProducerIdsResponse"]):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 67
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_allocate_producer_ids_request_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_allocate_producer_ids_request_v0}

    broker_id: int = 0
    broker_epoch: int = -1


def _read_allocate_producer_ids_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AllocateProducerIdsResponse, int]:
    item = new(AllocateProducerIdsResponse)
    item.throttle_time_ms, item.error_code, item.producer_id_start, item.producer_id_len, tags = (
        _unpack_ihqit(buffer, at)
    )
    at += 19
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_allocate_producer_ids_response_v0(
    out: bytearray, item: AllocateProducerIdsResponse, payloads: Payloads
) -> None:
    out += _pack_ihqit(
        item.throttle_time_ms, item.error_code, item.producer_id_start, item.producer_id_len, 0
    )


@dataclass(slots=True, eq=False, repr=False)
class AllocateProducerIdsResponse(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = 67
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_allocate_producer_ids_response_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_allocate_producer_ids_response_v0}

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id_start: int = 0
    producer_id_len: int = 0
