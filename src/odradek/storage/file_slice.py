"""A part of a file that is read when it is sent, even if the file was renamed or removed since.

A fetch of 50 MB is answered with slices: the answer holds a descriptor, not 50 MB. Events that may occur
before the last byte is sent:

    the segment is deleted, or replaced     the descriptor keeps the old content, and its space on disk
    by its compacted successor
    the log is appended to                  after the slice: no effect
    the log is truncated                    bytes that were cut off are gone, also when others were written in
                                            their place: the sender of the slice has to give up

Consumers never meet the last case, since they read below HW, which is never truncated; a follower may, when
its leader loses an election.
"""

from typing import Final

from odradek.base.stored_bytes import StoredBytes
from odradek.storage.files import PinnedFile

SLICE_BYTES_MIN: Final = 4096
"""The least size of a slice; the codec copies smaller parts."""


class FileSlice(StoredBytes):
    """`size_bytes` of a file from `position` on."""

    __slots__ = ("_file", "_position", "_size_bytes")

    def __init__(self, file: PinnedFile, position: int, size_bytes: int) -> None:
        assert size_bytes >= SLICE_BYTES_MIN, f"a slice of {size_bytes} bytes"
        self._file = file
        self._position = position
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        return self._size_bytes

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `StoredBytes.read_at`."""
        assert 0 <= position <= self._size_bytes, f"byte {position} of a slice of {self._size_bytes}"
        return self._file.read_at(min(size_bytes, self._size_bytes - position), self._position + position)

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `StoredBytes.is_in_memory`."""
        return self._file.is_in_memory(size_bytes, self._position + position)
