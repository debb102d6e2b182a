"""Writes offsets, leader epoch and, where the topic says so, append time into a validated batch.

Base offset and leader epoch lie outside the CRC, so that the usual append writes 16 bytes and is done:

    a producer's batch   base offset 0, deltas 0..99     assigned 1500  ->  offsets 1500..1599

Only LogAppendTime changes bytes that the CRC covers.
"""

from struct import Struct

from odradek.base.ids import LeaderEpoch, Offset
from odradek.records.header import LOG_APPEND_TIME_BIT, OVERHEAD_BYTES
from odradek.records.validation import ValidatedRecords

# Base offset, the length as it was, leader epoch: the front of a batch in one write.
_FRONT = Struct(">qii")


def assign_offsets(
    records: ValidatedRecords,
    first_offset: Offset,
    leader_epoch: LeaderEpoch,
    log_append_time_ms: int | None = None,
) -> None:
    """Give the batches, in place, dense offsets from `first_offset`, and `leader_epoch`.

    `log_append_time_ms`, where given, becomes the timestamp of every record, and the CRC is computed again.
    Bytes and headers agree afterwards.
    """
    position = 0
    offset = first_offset
    for header in records.headers:
        size_bytes = header.size_bytes
        header.base_offset = offset
        header.leader_epoch = leader_epoch
        if log_append_time_ms is None:
            _FRONT.pack_into(records.data, position, offset, size_bytes - OVERHEAD_BYTES, leader_epoch)
        else:
            header.attributes |= LOG_APPEND_TIME_BIT
            header.max_timestamp = log_append_time_ms
            header.seal_into(records.data, position)
        position += size_bytes
        offset += header.last_offset_delta + 1
