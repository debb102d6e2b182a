"""Reads the records of several batches as tuples: many at once where numpy is, else one after the other.

    reader = reader_of(Record, ("orders", 0), (epoch, False), [(body, header), ...], first=17)
    reader.read(500)     up to 500 of the next records; those before offset 17 are left out
    reader.is_done       all were read

Both ways give the same records, and for bytes that are none the same words: what `RecordRows` refuses is read
by `TupleReader` again, which gives the records in front of the fault.
"""

from collections import deque
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final, Generic, Protocol, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.errors import OdradekError
from odradek.base.ids import Offset
from odradek.records.header import BatchHeader
from odradek.records.header_reader import HeaderReader
from odradek.records.record_tuples import TupleReader

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)

AT_ONCE_RECORDS_MIN: Final = 100
"""Below this the array operations cost more than a loop over the records."""
_HAS_NUMPY: Final = find_spec("numpy") is not None


class RecordReader(Protocol[T_co]):
    """What reads the records of some batches, in order."""

    @property
    def is_done(self) -> bool:
        """Whether all records were read."""

    def read(self, count: int) -> Sequence[T_co]:
        """Up to `count` of the next records; raises InvalidRecord, then each time.

        Fewer come, also none, where records are left out, or have many headers (`HeaderReader`).
        """


def reader_of(
    kind: type[T],
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    batches: Sequence[tuple[Buffer, BatchHeader]],
    first: Offset,
) -> RecordReader[T]:
    """The reader of uncompressed batches, alike in their kind of timestamps, whose offsets rise and do not
    overlap; see `TupleReader`.
    """
    if _HAS_NUMPY and sum(header.record_count for _, header in batches) >= AT_ONCE_RECORDS_MIN:
        from odradek.records.columnar.record_rows import RecordRows

        try:
            return RecordRows(kind, before, after, batches, first)
        except OdradekError:
            pass
    headers = HeaderReader()
    readers = [
        TupleReader(kind, before, after, bytes(body), header, first, headers) for body, header in batches
    ]
    return _OneByOne(readers, headers)


class _OneByOne(Generic[T]):
    """Reads one batch behind the other."""

    def __init__(self, readers: Sequence[TupleReader[T]], headers: HeaderReader) -> None:
        self._readers = deque(readers)
        self._headers = headers
        self._drop_done()

    @property
    def is_done(self) -> bool:
        return not self._readers

    def read(self, count: int) -> list[T]:
        found: list[T] = []
        self._headers.renew()
        while self._readers and count > 0:
            reader = self._readers[0]
            left = reader.left
            try:
                found += reader.read(count)
            except OdradekError:
                if not found:
                    raise
                break
            count -= left - reader.left
            if not reader.is_done and count > 0:
                break  # it has come to headers that are for a later slice
            self._drop_done()
        return found

    def _drop_done(self) -> None:
        while self._readers and self._readers[0].is_done:
            self._readers.popleft()
