"""Puts what compaction made of some segments in their place (L5); no offset changes by that."""

from typing import TYPE_CHECKING

from odradek.storage.log_parts import LogParts

if TYPE_CHECKING:
    from odradek.storage.compaction.job import CleanedSegment


def swap_in(parts: LogParts, cleaned: "CleanedSegment", truncations: int) -> bool:
    """Returns False, with nothing done, when one of the segments is no longer what it was.

    Or when the log has been truncated since there had been `truncations`. Raises OSError.
    """
    replaced = parts.segments.closed_alike(cleaned.replaced)
    if replaced is None or truncations != parts.flushes.generation:
        return False
    parts.segments.replace(replaced, cleaned.size_bytes)
    parts.flushes.names_made += 1
    parts.relocate(replaced[-1].base_offset + 1)
    parts.save_transaction_sums()
    return True
