"""Makes tuples of the records of many batches: what `record_tuples` makes, several times as fast.

    rows = RecordRows(Record, ("orders", 0), (epoch, False), [(body, header), ...], first=17)
    rows.read(500)     the next 500 records from offset 17 on
    rows.is_done       all were read

All fields are found at once (`record_fields`); only keys, values and the tuples are made one by one, as they
are read. Invariants: the values are those of `record_tuples.TupleReader`. What it refuses raises
CorruptRecord when the object is made, in other words and without a record; faults of headers, which are read
with their records, raise InvalidRecord at every `read` behind the records in front of them.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Generic, TypeVar

import numpy as np

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord
from odradek.base.ids import Offset
from odradek.records.columnar.record_fields import RecordFields, Sections, locate
from odradek.records.columnar.varints import PADDING_BYTES, Booleans, Longs, VarintBytes, check
from odradek.records.framing import NamedHeaders
from odradek.records.header import BatchHeader
from odradek.records.header_reader import HeaderReader

T = TypeVar("T", bound=tuple[Any, ...])


class RecordRows(Generic[T]):
    """See the module; batches are in the order of their offsets, and alike in their kind of timestamps."""

    __slots__ = (
        "_after",
        "_at",
        "_before",
        "_fields",
        "_has_headers",
        "_header_reader",
        "_kind",
        "_padded",
        "_timestamps_ms",
    )

    def __init__(
        self,
        kind: type[T],
        before: tuple[Any, Any],
        after: tuple[Any, Any],
        batches: Sequence[tuple[Buffer, BatchHeader]],
        first: Offset,
    ) -> None:
        """See `TupleReader`; a batch is its uncompressed records and its header."""
        self._kind = kind
        self._before, self._after = before, after
        self._padded = b"".join([*(body for body, _ in batches), bytes(PADDING_BYTES)])
        self._fields = fields = locate(VarintBytes(self._padded), _sections(batches))
        self._header_reader = HeaderReader()
        self._has_headers = bool(fields.header_counts.any())
        ends_well = (fields.headers_starts == fields.ends) | (fields.header_counts > 0)
        check(bool(ends_well.all()), "headers do not fill their record")
        self._timestamps_ms = _timestamps_ms(fields, [header for _, header in batches])
        self._at = int(np.searchsorted(fields.offsets, first))

    @property
    def is_done(self) -> bool:
        """Whether all records were read."""
        return self._at >= len(self._fields.offsets)

    def read(self, count: int) -> list[T]:
        """The next `count` records, or those in front of one whose headers are for a later slice or broken.

        For those that are broken the next call raises InvalidRecord.
        """
        fields = self._fields
        begin, end = self._at, min(self._at + count, len(fields.offsets))
        headers: Iterable[NamedHeaders] = repeat(())
        if self._has_headers:
            headers = found = self._headers(begin, end)
            end = begin + len(found)
        keys = self._strings(fields.key_starts, fields.key_ends, fields.has_no_key, begin, end)
        values = self._strings(fields.value_starts, fields.value_ends, fields.has_no_value, begin, end)
        rows = zip(
            repeat(self._before[0]),
            repeat(self._before[1]),
            fields.offsets[begin:end].tolist(),
            self._timestamps_ms[begin:end].tolist(),
            keys,
            values,
            headers,
            repeat(self._after[0]),
            repeat(self._after[1]),
            strict=False,
        )
        self._at = end
        return list(map(tuple.__new__, repeat(self._kind), rows))

    def _headers(self, begin: int, end: int) -> list[NamedHeaders]:
        """Those of the records up to the first whose headers cannot be read, or not in this slice."""
        fields, padded = self._fields, self._padded
        self._header_reader.renew()
        found: list[NamedHeaders] = [()] * (end - begin)
        for row in np.flatnonzero(fields.header_counts[begin:end]).tolist():
            record_end = int(fields.ends[begin + row])
            try:  # their number stands behind the value
                read = self._header_reader.read(padded, int(fields.value_ends[begin + row]), record_end)
                if read is None:
                    return found[:row]
                found[row], position = read
                if position != record_end:
                    raise InvalidRecord("headers do not fill their record")
            except (InvalidRecord, IndexError) as fault:
                if row:
                    return found[:row]
                raise InvalidRecord(f"the headers of a record cannot be read: {fault}") from None
        return found

    def _strings(
        self, starts: Longs, ends: Longs, missing: Booleans, begin: int, end: int
    ) -> list[bytes | None]:
        absent = missing[begin:end]
        if absent.all():
            return [None] * (end - begin)
        padded = self._padded
        bounds = zip(starts[begin:end].tolist(), ends[begin:end].tolist(), strict=True)
        found: list[bytes | None] = [padded[start:behind] for start, behind in bounds]
        for row in np.flatnonzero(absent).tolist():
            found[row] = None
        return found


def _sections(batches: Sequence[tuple[Buffer, BatchHeader]]) -> Sections:
    ends = np.cumsum([len(body) for body, _ in batches], dtype=np.int64)
    headers = [header for _, header in batches]
    return Sections(
        starts=np.concatenate(([0], ends[:-1])),
        ends=ends,
        counts=np.array([header.record_count for header in headers], dtype=np.int64),
        last_deltas=np.array([header.last_offset_delta for header in headers], dtype=np.int64),
        base_offsets=np.array([header.base_offset for header in headers], dtype=np.int64),
        timestamps_ms=np.array([header.base_timestamp for header in headers], dtype=np.int64),
        appended=np.zeros(len(headers), dtype=np.bool_),
    )


def _timestamps_ms(fields: RecordFields, headers: Sequence[BatchHeader]) -> Longs:
    """Those of the records, or of the append to the log where the topic stamps them so."""
    if not headers[0].is_log_append_time:
        return fields.timestamps_ms
    appended_ms = np.array([header.max_timestamp for header in headers], dtype=np.int64)
    return np.repeat(appended_ms, [header.record_count for header in headers])
