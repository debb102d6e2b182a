"""Timestamps that stand for a place in a log where its offset is asked for by time (ListOffsets; L6)."""

from typing import Final

LATEST: Final = -1
"""The end of what the reader may read."""
EARLIEST: Final = -2
"""The log start."""
MAX_TIMESTAMP: Final = -3
"""The record with the largest timestamp (KIP-734)."""
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""Of logs with parts on another storage."""
