"""Makes one log the copy of another one in the same broker, a few batches at a time (KIP-113).

The copy is written as a follower writes: the batches keep their bytes, and so their offsets, epochs and
producers. While it is filled the log goes on: it is appended to, truncated, and its start rises.

    log    3 ........ 40        copy  -                starts anew at 3
    log    3 ........ 60        copy  3 .... 20        the next batches from 20 on
    log    3 .... 18  (cut)     copy  3 ....... 25     cut as a follower of the log would cut it (X4)
    log         30 ... 60       copy  3 .... 20        starts anew at 30: retention has removed what it lacks

Invariant: after `agree` the copy is a prefix of the log, but for what lies below the log's start.
"""

from odradek.base.ids import NO_EPOCH
from odradek.replication.fetcher.truncation import cut_for
from odradek.storage import Log
from odradek.storage.positions import UNKNOWN_EPOCH_END


def agree(copy: Log, log: Log) -> bool:
    """Drop what the copy has and the log has not; returns whether anything was dropped.

    Called first, and whenever the log was truncated since. Then the copy may not be settled (X6).
    """
    truncations, start = copy.truncations, log.log_start_offset
    if not copy.log_start_offset <= start <= copy.end_offset:
        copy.truncate_fully_and_start_at(start)
    while copy.end_offset > copy.log_start_offset:
        epoch = copy.latest_epoch
        end = log.end_offset_for_epoch(epoch)
        if epoch == NO_EPOCH or end == UNKNOWN_EPOCH_END:
            copy.truncate_fully_and_start_at(start)
            break
        cut = cut_for(copy, epoch, end)
        copy.truncate_to(cut.offset)
        if cut.is_agreed:
            break
    return copy.truncations != truncations


def copy_some(copy: Log, log: Log, max_bytes: int) -> int:
    """Append the next batches of the log to the copy, one at least; returns how many bytes.

    0: the copy must begin within the first batch, and is not settled (X6).
    """
    read = log.read(copy.end_offset, max_bytes, log.end_position, at_least_one=True)
    records = read.held_records
    if copy.log_start_offset == copy.end_offset and copy.make_room_for(records):
        return 0
    return copy.append_as_follower(records).size_bytes
