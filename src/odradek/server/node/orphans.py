"""What clients sent with acks=0 and did not stay for: its batches are to be checked, its connection is gone.

A client may close at once and mean it, so the work goes on; but a connection has one request at work, and
nothing else would bound what those that are gone have left behind.

    8 MiB, its connection is lost     kept: 8 of 16 MiB
    another 9 MiB                     abandoned, as if it had been lost on its way
    the first is appended             0 of 16 MiB
"""

from typing import Final

ORPHANED_BYTES_MAX: Final = 16 << 20
"""Of batches that are not checked yet and whose connections are gone, over all of them."""


class Orphans:
    """The requests whose connections are gone, as a number of bytes."""

    def __init__(self) -> None:
        self.size_bytes = 0
        """At most ORPHANED_BYTES_MAX."""

    def adopt(self, size_bytes: int) -> bool:
        """Whether the work on so many bytes may go on; each such call needs one of `release`."""
        if self.size_bytes + size_bytes > ORPHANED_BYTES_MAX:
            return False
        self.size_bytes += size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """They are checked."""
        self.size_bytes -= size_bytes
        assert self.size_bytes >= 0, "released more than was adopted"
