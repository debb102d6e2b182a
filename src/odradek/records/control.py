"""Control batches: records that a broker writes for the log itself, here the markers that end transactions.

One control record to a batch, without codec. Key: version and type, 2 bytes each; the value of an end marker:
version (2 bytes) and the coordinator's epoch (4). Every reader skips a type that it does not know.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord
from odradek.base.ids import NO_EPOCH, LeaderEpoch, ProducerId
from odradek.records.builder import BatchBuilder
from odradek.records.framing import Record, iter_records
from odradek.records.header import read_header

_KEY = Struct(">hh")
_END_MARKER = Struct(">hi")
_VERSION = 0

# Markers are a few dozen bytes; a control batch that takes more than this is not read.
_CONTROL_BYTES_MAX = 64 << 10


class ControlType(IntEnum):
    """The kinds of control records that a log may hold."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTxnMarker(NamedTuple):
    """How a transaction ended, and in which epoch of its coordinator that was decided."""

    committed: bool
    coordinator_epoch: int


def build_marker(
    marker: EndTxnMarker,
    *,
    producer_id: ProducerId,
    producer_epoch: int,
    timestamp_ms: int,
    leader_epoch: LeaderEpoch = NO_EPOCH,
) -> bytearray:
    """The batch, of one offset, that ends the producer's transaction in a partition."""
    builder = BatchBuilder(
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    builder.append(
        timestamp_ms,
        _KEY.pack(_VERSION, kind),
        _END_MARKER.pack(_VERSION, marker.coordinator_epoch),
    )
    return builder.build()


def read_marker(batch: Buffer, position: int = 0) -> EndTxnMarker | None:
    """The marker in the batch at `position`; None when it is no control batch or one of another kind.

    InvalidRecord for a control batch whose record is cut short.
    """
    header = read_header(batch, position)
    if not header.is_control:
        return None
    # Compaction may have left a control batch without its record.
    record = next(iter_records(batch, header, position, bytes_max=_CONTROL_BYTES_MAX), None)
    return None if record is None else parse_marker(record)


def parse_marker(record: Record) -> EndTxnMarker | None:
    """The marker in a record of a control batch; None for another kind of control record."""
    kind = control_type(record)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = record.value or b""
    if len(value) < _END_MARKER.size:
        raise InvalidRecord(f"the marker at offset {record.offset} has a value of {len(value)} bytes")
    _, coordinator_epoch = _END_MARKER.unpack_from(value)
    return EndTxnMarker(kind == ControlType.COMMIT, coordinator_epoch)


def control_type(record: Record) -> int:
    """The number of the record's kind: a `ControlType`, or one that is not known here."""
    key = record.key or b""
    if len(key) < _KEY.size:
        raise InvalidRecord(f"the control record at offset {record.offset} has a key of {len(key)} bytes")
    kind: int = _KEY.unpack_from(key)[1]
    return kind


def is_abort_marker(batch: Buffer) -> bool:
    """Whether `batch` is the marker of an aborted transaction."""
    marker = read_marker(batch)
    return marker is not None and not marker.committed
