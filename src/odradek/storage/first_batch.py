"""Begins a follower's log at a batch that begins below the log start (X2).

    leader   batches 0-4 5-9 10-14, log start 7      its records below 7 were deleted (DeleteRecords)
    follower empty, log start 7, LEO 7, segment 7    fetches 7, and gets the batch 5-9
    makes room: log start 7, LEO 7, segment 5        on disk before the append (X6)
    appends:    log start 7, LEO 10, segment 5       the same bytes as the leader's, from that batch on

Kafka's follower does the same (its UnexpectedAppendOffsetException). Only a log without readable records can
begin anew. The log start stays where it is, so readers never see the records that were deleted.
"""

from odradek.base.buffers import Buffer
from odradek.base.ids import Offset
from odradek.records.header import check_crc, iter_headers
from odradek.storage.log_parts import LogParts
from odradek.storage.truncation import empty


def least_base(parts: LogParts, batches: Buffer) -> Offset:
    """Returns the offset at or above which a leader's first batch may begin.

    It is LEO. In a log without records it is the base of the first batch, if that batch holds LEO. Raises
    CorruptRecord if its CRC fails (X5).
    """
    offsets = parts.offsets
    end = offsets.end
    if offsets.log_start == end:
        for position, header in iter_headers(batches):
            if 0 <= header.base_offset < end <= header.last_offset:
                check_crc(batches, header, position)
                return header.base_offset
            break
    return end


def has_room(parts: LogParts, base_offset: Offset) -> bool:
    """Whether a batch that begins at `base_offset` can be appended as it is."""
    segments = parts.segments
    is_bare = len(segments) == 1 and segments.active.size_bytes == 0
    return base_offset >= parts.offsets.end or (is_bare and segments.active.base_offset <= base_offset)


def make_room(parts: LogParts, base_offset: Offset) -> None:
    """Let the log, which has no readable records, begin at `base_offset`; log start and LEO stay."""
    empty(parts, base_offset, parts.offsets.end)
