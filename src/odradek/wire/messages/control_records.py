"""Generated from `schemas/control_records.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import ElementBudget, new
from odradek.wire.encoding import Payloads
from odradek.wire.message import Decoder, Encoder, Message
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records ControlRecords

record ControlRecordKey 0
    type: int16

record EndTxnMarker 0
    coordinator_epoch: int32
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


def _read_control_record_key_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ControlRecordKey, int]:
    item = new(ControlRecordKey)
    (item.type,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_control_record_key_v0(out: bytearray, item: ControlRecordKey, payloads: Payloads) -> None:
    out += _pack_h(item.type)


@dataclass(slots=True, eq=False, repr=False)
class ControlRecordKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_control_record_key_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_control_record_key_v0}

    type: int = 0


def _read_end_txn_marker_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[EndTxnMarker, int]:
    item = new(EndTxnMarker)
    (item.coordinator_epoch,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_end_txn_marker_v0(out: bytearray, item: EndTxnMarker, payloads: Payloads) -> None:
    out += _pack_i(item.coordinator_epoch)


@dataclass(slots=True, eq=False, repr=False)
class EndTxnMarker(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_end_txn_marker_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_end_txn_marker_v0}

    coordinator_epoch: int = 0
