"""Describes what a compacted log waits for before it is cleaned, for `/describe/compaction`."""

from itertools import pairwise

from odradek.storage.compaction.selection import Cleanable
from odradek.storage.log import Log


def waits_for(log: Log, part: Cleanable) -> str:
    """The first condition that is still open before the log is cleaned; "a cleaner" when there is none."""
    if part.is_due(log.config):
        return "a cleaner"
    if part.dirty_bytes == 0:
        return _segment_wait(log, part)
    least = log.config.min_cleanable_dirty_ratio
    ratio = part.dirty_ratio
    return f"more dirty records: {ratio:.2f} of what may be cleaned is dirty, {least:.2f} is not passed"


def _segment_wait(log: Log, part: Cleanable) -> str:
    """Why no further segment may be cleaned."""
    count = len(part.segments)
    following = next((later for _, later in list(pairwise(log.segments))[count:]), None)
    if following is None:
        return f"the active segment, from offset {part.end_offset} on, to be rolled"
    if following.base_offset > log.last_stable.offset:
        return f"the transaction to end that is open at offset {log.last_stable.offset}"
    if following.base_offset > log.flushed_offset:
        return f"the log to be flushed beyond offset {log.flushed_offset}"
    return f"records from offset {part.end_offset} on to be older than min.compaction.lag.ms"
