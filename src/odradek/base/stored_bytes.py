"""Bytes that stay in a file until they are sent: a large answer holds them in place of a copy.

`storage` creates them, `wire` and the handlers use only their length, and `net` reads them piece by piece, as
the peer reads the answer.
"""


class StoredBytes:
    """A fixed number of bytes that can be read for as long as this object lives.

    A class and not a protocol, since every part of every answer is tested for it: no ABC either, whose test
    costs ten times as much.
    """

    __slots__ = ()

    def __len__(self) -> int:
        """How many bytes there are."""
        raise NotImplementedError

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """Up to `size_bytes` from `position`, counted from the first of these bytes; raises OSError.

        Fewer only at the end, or when the bytes are lost because their log was truncated. Any thread
        may call it.
        """
        raise NotImplementedError

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """Whether reading these bytes would not wait for the disk, as far as the system tells."""
        raise NotImplementedError
