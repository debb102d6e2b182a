"""The future of a table's rows: it gets one receipt for all of them, or the first error.

Rows are sent as several batches, which end one by one, in parts where a broker finds them too large.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol, SupportsInt

from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.values import value
from odradek.client.core.producer.batch import Done


class RowNumbers(Protocol):
    """Numbers of rows of a table, in an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> SupportsInt: ...


@value
class TableReceipt:
    """Where the rows of a table are stored."""

    records: int
    """How many there are."""
    offsets: Mapping[TopicPartition, tuple[range, ...]]
    """Of each partition the offsets of its rows, in their order: one range where no other records came in
    between. Offsets that no broker said are missing: with acks=0, or after a retry that it recognized."""


class TableDelivery:
    """See the module. `future` gets its outcome when all rows were added, and each of them has one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, records: int, *, is_transactional: bool) -> None:
        self.future: asyncio.Future[TableReceipt] = loop.create_future()
        # Whether the commit tells the error, so that nobody need look at the future.
        self._is_transactional = is_transactional
        self._records = records
        # Rows without an outcome, those that were not added yet among them; and rows that failed.
        self._left = records
        self._failed = 0
        self._error: ApiError | None = None
        # Of each partition: batch and first record of a part, and its offsets.
        self._stored: dict[TopicPartition, list[tuple[int, int, range]]] = {}
        self._finish_if_complete()

    def end(self, done: Done, rows: RowNumbers) -> None:
        """Some records of a batch have their outcome; `rows` are the numbers of all rows of the batch."""
        self._left -= done.records
        if done.error is not None:
            self._failed += done.records
            self._error = self._error or _error_of(done, done.error, rows)
        elif done.base_offset >= 0:
            offsets = range(done.base_offset, done.base_offset + done.records)
            self._stored.setdefault(done.partition, []).append((done.batch_id, done.first, offsets))
        self._finish_if_complete()

    def _finish_if_complete(self) -> None:
        if self._left or self.future.done():  # or its owner has cancelled it
            return
        if self._error is None:
            offsets = {partition: _joined(parts) for partition, parts in sorted(self._stored.items())}
            self.future.set_result(TableReceipt(self._records, offsets))
        else:
            said = f"{self._failed} of {self._records} rows are not acknowledged; {self._error.message}"
            self.future.set_exception(ApiError(self._error.code, said))
            if self._is_transactional:
                self.future.exception()


def _joined(parts: list[tuple[int, int, range]]) -> tuple[range, ...]:
    """The offsets of these parts in the order of their records, in as few ranges as it takes."""
    found: list[range] = []
    for _, _, offsets in sorted(parts, key=lambda part: part[:2]):
        if found and found[-1].stop == offsets.start:
            found[-1] = range(found[-1].start, offsets.stop)
        else:
            found.append(offsets)
    return tuple(found)


def _error_of(done: Done, error: ApiError, rows: RowNumbers) -> ApiError:
    if done.record_errors:
        index, words = done.record_errors[0]
        return ApiError(error.code, f"{done.partition} refuses row {int(rows[index])}: {words}")
    first, last = int(rows[done.first]), int(rows[done.first + done.records - 1])
    where = f"row {first}" if first == last else f"of rows {first} to {last}"
    return ApiError(error.code, f"{where}: {error.message}")
