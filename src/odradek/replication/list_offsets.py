"""Finds offsets by timestamp, and by the special negative timestamps (L6, KIP-207, KIP-734).

Invariant: a reader never gets an offset that its isolation level does not let it read.

    -1 latest          the end for the reader's isolation level: LEO, HW or LSO
    -2 earliest        log start
    -3 max timestamp   the first record with the largest timestamp
    -4 earliest local  log start
    -5 latest tiered   -1: nothing is tiered
    t                  the first record whose timestamp is at least t
"""

from odradek.base.error_codes import ErrorCode
from odradek.base.offset_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from odradek.records.work import RecordSteps
from odradek.replication.fetch_request import Isolation
from odradek.replication.outcomes import ListedOffset
from odradek.replication.partition import Partition


def list_offset(partition: Partition, timestamp_ms: int, isolation: Isolation) -> RecordSteps[ListedOffset]:
    """Find the offset for `timestamp_ms`; raises LogError."""
    log = partition.log
    if timestamp_ms in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return ListedOffset(offset=start, leader_epoch=log.epoch_of(start))
    if timestamp_ms in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):  # nothing is tiered
        return ListedOffset()
    readable_end = partition.bound(isolation).offset
    leadership = partition.leadership
    # A new leader's HW may still be below the HW that readers got from the old leader (KIP-207). So may LSO,
    # while an older transaction is open; nothing waits for that.
    is_behind_epoch = (
        leadership is not None
        and isolation is not Isolation.LOG_END
        and leadership.epoch_start_offset > log.high_watermark.offset
    )
    if timestamp_ms == LATEST:
        if is_behind_epoch:
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        return ListedOffset(offset=readable_end, leader_epoch=partition.leader_epoch)
    if timestamp_ms == MAX_TIMESTAMP:
        found = yield from log.max_timestamp_offset()
    else:
        found = yield from log.offset_for_timestamp(timestamp_ms)
    if found is not None and found.offset < readable_end:
        return ListedOffset(ErrorCode.NONE, found.timestamp_ms, found.offset, found.leader_epoch)
    return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE if is_behind_epoch else ErrorCode.NONE)
