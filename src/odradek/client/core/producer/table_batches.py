"""Rows of a table as the batches that they are sent in: grouped by partition, cut by `batch.size`, encoded.

    rows       0 1 2 3 4 5        partitions  1 0 1 1 0 1
    in order   1 4 | 0 2 3 5      batches of orders-0 and orders-1
    encoded    a few thousand rows in each step, also of several partitions together

Rows keep their order within a partition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from odradek.base.ids import TopicPartition
from odradek.client.core.producer.batch import EncodedRecords
from odradek.client.core.producer.table_columns import NO_TIMESTAMP, Rows
from odradek.records.columnar.encoding import RecordBytes, encode_records
from odradek.records.columnar.varints import Longs
from odradek.records.header import HEADER_BYTES

_STEP_ROWS: Final = 4_096
_STEP_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that go to one partition."""

    partition: TopicPartition
    rows: Longs
    """Ascending."""


@dataclass(frozen=True, slots=True)
class TableBatch:
    """Rows that are sent as one batch."""

    partition: TopicPartition
    rows: Longs
    """Their numbers in the table, ascending."""
    records: EncodedRecords


def grouped(topic: str, rows: Longs, partitions: Longs) -> list[Group]:
    """These rows by the partition of each."""
    # 16 bits are sorted in linear time; more partitions than that are rare.
    keys = partitions.astype(np.uint16) if len(rows) and int(partitions.max()) < 1 << 16 else partitions
    order = np.argsort(keys, kind="stable")
    numbers, starts = np.unique(partitions[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return [Group(TopicPartition(topic, int(one)), part) for one, part in zip(numbers, parts, strict=True)]


def encoded_in_steps(
    rows: Rows, groups: list[Group], batch_size: int, now_ms: int
) -> Iterator[list[TableBatch]]:
    """The batches of these groups, a step at a time; `now_ms` is the timestamp of rows without one."""
    step: list[tuple[TopicPartition, Longs]] = []
    count = size = 0
    for group in groups:
        sizes = rows.sizes[group.rows]
        for cut, total in _cuts(group.rows, sizes, batch_size):
            step.append((group.partition, cut))
            count, size = count + len(cut), size + total
            if count >= _STEP_ROWS or size >= _STEP_BYTES:
                yield _encoded(rows, step, now_ms)
                step, count, size = [], 0, 0
    if step:
        yield _encoded(rows, step, now_ms)


def _cuts(rows: Longs, sizes: Longs, batch_size: int) -> Iterator[tuple[Longs, int]]:
    """The rows of each batch, and the bytes that they take; at least one row."""
    ends = np.cumsum(sizes)
    first = before = 0
    while first < len(rows):
        limit = before + batch_size - HEADER_BYTES
        end = max(first + 1, int(np.searchsorted(ends, limit, side="right")))
        yield rows[first:end], int(ends[end - 1]) - before
        first, before = end, int(ends[end - 1])


def _encoded(rows: Rows, step: list[tuple[TopicPartition, Longs]], now_ms: int) -> list[TableBatch]:
    taken = np.concatenate([cut for _, cut in step])
    counts = np.array([len(cut) for _, cut in step])
    starts = np.cumsum(counts) - counts
    stamps = _timestamps(rows, taken, now_ms)
    base_stamps = stamps[starts]
    found = encode_records(
        stamps - np.repeat(base_stamps, counts),
        np.arange(len(taken), dtype=np.int64) - np.repeat(starts, counts),
        rows.keys.take(taken),
        rows.values.take(taken),
        None if rows.headers is None else rows.headers.take(taken),
    )
    largest = np.maximum.reduceat(stamps, starts)
    totals = np.add.reduceat(rows.sizes[taken], starts)
    return [
        TableBatch(
            partition,
            cut + rows.first,
            _records(
                found,
                int(starts[one]),
                len(cut),
                (int(base_stamps[one]), int(largest[one])),
                int(totals[one]),
            ),
        )
        for one, (partition, cut) in enumerate(step)
    ]


def _records(
    found: RecordBytes, first: int, count: int, stamps_ms: tuple[int, int], bytes_max: int
) -> EncodedRecords:
    return EncodedRecords(found.slice(first, first + count), count, *stamps_ms, bytes_max)


def _timestamps(rows: Rows, taken: Longs, now_ms: int) -> Longs:
    if rows.timestamps_ms is None:
        return np.full(len(taken), now_ms, dtype=np.int64)
    given = rows.timestamps_ms[taken]
    return np.where(given == NO_TIMESTAMP, now_ms, given)
