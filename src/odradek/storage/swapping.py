"""Replaces segments of a log by their compacted successor (L5); no offset changes."""

from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.log_parts import LogParts


def swap_in(parts: LogParts, cleaned: CleanedSegment, truncations: int) -> bool:
    """Returns False and does nothing if one of the segments has changed.

    Likewise if the log's number of truncations is no longer `truncations`. Raises OSError.
    """
    replaced = parts.segments.closed_alike(cleaned.replaced)
    if replaced is None or truncations != parts.flushes.generation:
        return False
    parts.segments.replace(replaced, cleaned.size_bytes)
    parts.flushes.names_made += 1
    parts.relocate(replaced[-1].base_offset + 1)
    parts.save_transaction_sums()
    return True
