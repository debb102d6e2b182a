"""Reads the headers of records for applications, and bounds how many are read at a time.

    reader = HeaderReader()
    reader.renew()                       before each slice of work: `HEADERS_PER_SLICE` may be read
    reader.read(body, position, end)     the headers of the record that ends at `end`, and the position
                                         behind them; None if that is for a later slice: to be called again

A record may have millions of headers: two bytes are enough for one, and they compress well. Invariants: who
asks again after `renew` goes on where the last slice stopped; a record with more than `HEADERS_MAX` is
refused, because a header takes fifty times as much memory as bytes.
"""

from typing import Final, NamedTuple

from odradek.base.errors import InvalidRecord
from odradek.records.framing import NamedHeaders, check_header_count, read_header
from odradek.records.varint import read_varint

HEADERS_PER_SLICE: Final = 1_000
HEADERS_MAX: Final = 1_000_000
"""Of one record. The largest that `max.message.bytes` lets in uncompressed has half as many."""


class _Begun(NamedTuple):
    """What was read of the headers of a record in earlier slices."""

    start: int
    """The position of their count."""
    position: int
    """Where the next one begins."""
    left: int
    """How many are still to be read."""
    found: list[tuple[str, bytes | None]]


class HeaderReader:
    """See the module. One serves the records of several batches, which are read one after another."""

    __slots__ = ("_begun", "_free")

    def __init__(self) -> None:
        self._free = HEADERS_PER_SLICE
        # The record whose headers are read over several slices; None while there is none.
        self._begun: _Begun | None = None

    def renew(self) -> None:
        """A new slice begins."""
        self._free = HEADERS_PER_SLICE

    def read(self, body: bytes, start: int, record_end: int) -> tuple[NamedHeaders, int] | None:
        """A record's headers, their count at `start`, and the position behind them.

        The names are text: what is not UTF-8 becomes a backslash and its number (\\xff). Raises InvalidRecord
        or IndexError for what are no headers.
        """
        begun = self._begun
        if begun is not None and begun.start == start:
            position, left, found = begun.position, begun.left, begun.found
        else:
            left, position = read_varint(body, start)
            check_header_count(left, record_end - position)
            if left > HEADERS_MAX:
                raise InvalidRecord(f"a record has {left} headers; at most {HEADERS_MAX} are read")
            found = []
        count = min(left, self._free)
        for _ in range(count):
            name, value, position = read_header(body, position)
            found.append((name.decode(errors="backslashreplace"), value))
        self._free -= count
        left -= count
        if left:
            self._begun = _Begun(start, position, left, found)
            return None
        self._begun = None
        return tuple(found), position
