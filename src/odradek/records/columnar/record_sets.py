"""Makes Arrow record batches of the record sets of fetch answers or of segment files.

    aborted = AbortedTransactions()   # kept for each partition that is read; without it: read_uncommitted
    aborted.learn(answer.aborted_transactions)
    one = RecordSet(TopicPartition("flights", 0), answer.records, start=40, aborted=aborted)
    position = one.next_offset        # where the next fetch of this partition begins
    for rows in record_batches([one], with_headers=False): ...

Sets of several partitions are decoded together, which is faster for many small ones. The columns are those of
Spark's Kafka source (`SCHEMA`). Markers, and under read_committed the records of aborted transactions, are
left out; so are records outside of the offsets that are wanted, because an answer holds whole batches. CRCs
are checked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.base.buffers import Buffer
from odradek.base.ids import Offset, TopicPartition
from odradek.records.columnar.arrow_arrays import booleans, over, repeated
from odradek.records.columnar.batch_headers import BatchHeaders
from odradek.records.columnar.header_columns import HEADER_TYPE
from odradek.records.columnar.record_columns import RecordColumns, decode_sections
from odradek.records.columnar.record_fields import Sections
from odradek.records.columnar.varints import PADDING_BYTES, Booleans, Longs
from odradek.records.compression import decompress
from odradek.records.control import is_abort_marker
from odradek.records.header import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    read_header,
)
from odradek.records.isolation import AbortedTransactions

SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
HEADERS_SCHEMA: Final = SCHEMA.append(pa.field("headers", HEADER_TYPE))

BATCH_BYTES_MAX: Final = 1 << 30
"""The most that one batch may decompress to; one that takes more is refused as a decompression bomb."""
ROWS_BYTES_MAX: Final = 64 << 20
"""Decompressed bytes of the sets from which one record batch is made, or more by the last batch in it."""


@dataclass(slots=True)
class RecordSet:
    """Consecutive batches of one partition, and which of their records are wanted.

    Raises CorruptRecord or InvalidRecord where there is no batch of records.
    """

    topic_partition: TopicPartition
    records: Buffer
    """Whole batches; the last may be cut short and is left out then."""
    start: Offset
    """Records before it are left out."""
    end: Offset | None = None
    """Records from it on are left out; None: none are."""
    aborted: AbortedTransactions | None = None
    """The partition's aborted transactions, for read_committed; None for read_uncommitted."""
    headers: BatchHeaders = field(init=False)

    def __post_init__(self) -> None:
        self.headers = BatchHeaders(self.records)

    @property
    def next_offset(self) -> Offset:
        """The first offset that neither the set covers nor lies before `start`."""
        return max(self.start, int(self.headers.last_offsets[-1]) + 1) if len(self.headers) else self.start


def record_batches(
    sets: Sequence[RecordSet],
    *,
    with_headers: bool = False,
    checks_crc: bool = True,
    batch_bytes_max: int = BATCH_BYTES_MAX,
) -> Iterator[Any]:
    """Yield the wanted records as pyarrow record batches in SCHEMA, or HEADERS_SCHEMA, in the order of
    `sets`.

    Raises CorruptRecord or InvalidRecord for bytes that are no records.
    """
    gathered: list[_Piece] = []
    size = 0
    for one in sets:
        if checks_crc:
            one.headers.check_crcs()
        for piece in _pieces(one, batch_bytes_max):
            gathered.append(piece)
            size += piece.size
            if size >= ROWS_BYTES_MAX:
                yield _rows(gathered, with_headers)
                gathered, size = [], 0
    if gathered:
        yield _rows(gathered, with_headers)


@dataclass(slots=True)
class _Piece:
    """Visible batches of one set with their records uncompressed."""

    of: RecordSet
    batches: Longs
    """Which batches of the set."""
    buffers: list[Buffer]
    """Where their records lie, one behind the other."""
    size: int
    """Bytes of all buffers."""
    starts: Longs
    """Where the records of each batch begin, from the first buffer's beginning on."""
    ends: Longs
    """Where they end."""


def _pieces(one: RecordSet, batch_bytes_max: int) -> Iterator[_Piece]:
    visible = np.flatnonzero(_visible(one))
    codecs = one.headers["attributes"][visible] & CODEC_MASK
    if not codecs.any():
        starts, ends = one.headers.starts[visible] + HEADER_BYTES, one.headers.ends[visible]
        if len(visible):
            yield _Piece(one, visible, [one.records], len(one.records), starts, ends)
        return
    view = memoryview(one.records)
    bodies = zip(one.headers.starts[visible].tolist(), one.headers.ends[visible].tolist(), strict=True)
    buffers: list[Buffer] = []
    first = size = 0
    for number, (start, end) in enumerate(bodies):
        buffers.append(decompress(int(codecs[number]), view[start + HEADER_BYTES : end], batch_bytes_max))
        size += len(buffers[-1])
        if size >= ROWS_BYTES_MAX or number == len(visible) - 1:
            ends = np.cumsum([len(buffer) for buffer in buffers], dtype=np.int64)
            starts = np.concatenate(([0], ends[:-1]))
            yield _Piece(one, visible[first : number + 1], buffers, size, starts, ends)
            buffers, first, size = [], number + 1, 0


def _visible(one: RecordSet) -> Booleans:
    """Which batches hold records to be read."""
    headers, attributes = one.headers, one.headers["attributes"]
    visible: Booleans = (attributes & CONTROL_BIT) == 0
    if one.aborted is not None:
        view = memoryview(one.records)
        for number in np.flatnonzero(attributes & (CONTROL_BIT | TRANSACTIONAL_BIT)).tolist():
            batch = view[int(headers.starts[number]) : int(headers.ends[number])]
            header = read_header(batch)
            visible[number] = not one.aborted.hides(header, header.is_control and is_abort_marker(batch))
    visible &= headers.last_offsets >= one.start
    if one.end is not None:
        visible &= headers["base_offset"] < one.end
    return visible


def _rows(pieces: Sequence[_Piece], with_headers: bool) -> Any:
    padded = b"".join([*(buffer for piece in pieces for buffer in piece.buffers), bytes(PADDING_BYTES)])
    sections = _sections(pieces)
    columns = decode_sections(padded, sections, with_headers=with_headers)
    rows_of_batches = iter(np.split(sections.counts, np.cumsum([len(piece.batches) for piece in pieces])))
    counts = [int(next(rows_of_batches).sum()) for _ in pieces]
    return _wanted(_record_batch(columns, pieces, counts), columns.offsets, pieces, counts)


def _sections(pieces: Sequence[_Piece]) -> Sections:
    """The batches of all pieces as they lie in the buffers of all pieces, one behind the other."""

    def of_all(name: str) -> Longs:
        return np.concatenate([piece.of.headers[name][piece.batches] for piece in pieces])

    before = np.cumsum([0, *(piece.size for piece in pieces)]).tolist()
    appended = (of_all("attributes") & LOG_APPEND_TIME_BIT) != 0
    return Sections(
        starts=np.concatenate([piece.starts + at for piece, at in zip(pieces, before, strict=False)]),
        ends=np.concatenate([piece.ends + at for piece, at in zip(pieces, before, strict=False)]),
        counts=of_all("record_count"),
        last_deltas=of_all("last_offset_delta"),
        base_offsets=of_all("base_offset"),
        timestamps_ms=np.where(appended, of_all("max_timestamp"), of_all("base_timestamp")),
        appended=appended,
    )


def _record_batch(columns: RecordColumns, pieces: Sequence[_Piece], counts: Sequence[int]) -> Any:
    topics = [piece.of.topic_partition.topic for piece in pieces]
    numbers = np.array([piece.of.topic_partition.partition for piece in pieces], dtype=np.int32)
    runs = groupby(zip(topics, counts, strict=True), key=itemgetter(0))
    topic_column = pa.concat_arrays([repeated(topic, sum(count for _, count in run)) for topic, run in runs])
    arrays = [
        columns.keys,
        columns.values,
        topic_column,
        over(np.repeat(numbers, counts), pa.int32()),
        over(columns.offsets, pa.int64()),
        over(columns.timestamps_ms * 1000, pa.timestamp("us", tz="UTC")),
        over(columns.timestamp_types, pa.int32()),
    ]
    if columns.headers is None:
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    return pa.RecordBatch.from_arrays([*arrays, columns.headers], schema=HEADERS_SCHEMA)


def _wanted(rows: Any, offsets: Longs, pieces: Sequence[_Piece], counts: Sequence[int]) -> Any:
    """The rows inside what each set wants; the first and the last batch may reach beyond it."""
    starts = np.repeat(np.array([piece.of.start for piece in pieces], dtype=np.int64), counts)
    inside = offsets >= starts
    limits = [np.iinfo(np.int64).max if piece.of.end is None else piece.of.end for piece in pieces]
    inside &= offsets < np.repeat(np.array(limits, dtype=np.int64), counts)
    return rows if inside.all() else rows.filter(booleans(inside))
