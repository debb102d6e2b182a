"""Produce requests with acks=0 whose batches are still to be checked, but whose connections are closed.

A client may close right after sending, and expects its records to be appended, so the checks continue. An
open connection has only one request at work; this bounds the requests of closed connections.

    8 MiB, its connection is lost     kept: 8 of 16 MiB
    another 9 MiB                     abandoned, as if the network had lost it
    the first is appended             0 of 16 MiB
"""

from typing import Final

ORPHANED_BYTES_MAX: Final = 16 << 20
"""The most bytes of unchecked batches of all closed connections together."""


class Orphans:
    """Counts the bytes of requests whose connections are closed."""

    def __init__(self) -> None:
        self.size_bytes = 0
        """At most ORPHANED_BYTES_MAX."""

    def adopt(self, size_bytes: int) -> bool:
        """Whether the checks of this many bytes may continue; if so, the caller must call `release` later."""
        if self.size_bytes + size_bytes > ORPHANED_BYTES_MAX:
            return False
        self.size_bytes += size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """These bytes are checked."""
        self.size_bytes -= size_bytes
        assert self.size_bytes >= 0, "released more than was adopted"
