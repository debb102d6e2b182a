"""The futures of a producer's records: each gets its receipt, or the error that kept it from being stored.

It stands between the driver and the core of a producer, and looks after each event at what became of batches.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from odradek.base.errors import ApiError
from odradek.base.values import value
from odradek.client.aio.table_deliveries import RowNumbers, TableDelivery
from odradek.client.core.producer.batch import Done, Encoding, Place
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.requests import Outcome, Send


@value
class Receipt:
    """Where a record is stored."""

    topic: str
    partition: int
    offset: int | None
    """None if no broker said it: with acks=0, or after a retry that the broker recognized as such."""
    timestamp_ms: int
    """The record's own, or the time of the append where the topic is set so."""


Tell: TypeAlias = Callable[[str, Receipt | None, Exception | None], None]
"""Is told what has become of a record of a topic: where it is stored, or why it is not acknowledged."""


class _Records:
    """The records of one batch, in their order: their futures and timestamps."""

    __slots__ = ("_tell", "futures", "is_transactional", "timestamps_ms")

    def __init__(self, tell: Tell | None, *, is_transactional: bool) -> None:
        self._tell = tell
        self.futures: list[asyncio.Future[Receipt]] = []
        self.timestamps_ms: list[int] = []
        # Whether the commit tells the errors, so that nobody need look at the futures.
        self.is_transactional = is_transactional

    @property
    def count(self) -> int:
        return len(self.futures)

    def end(self, done: Done) -> None:
        for index in range(done.first, done.first + done.records):
            future = self.futures[index]
            receipt: Receipt | None = None
            error: ApiError | None = None
            if done.error is None:
                receipt = _receipt(done, index, self.timestamps_ms[index])
            else:
                error = error_of(done, done.error, index)
            if self._tell is not None:
                self._tell(done.partition.topic, receipt, error)
            if future.done():  # its owner has cancelled it
                continue
            if receipt is not None:
                future.set_result(receipt)
            elif error is not None:
                future.set_exception(error)
                if self.is_transactional:
                    future.exception()


class RowsDelivery(Protocol):
    """Gets the outcomes of rows that were added as batches of their own."""

    def end(self, done: Done, rows: RowNumbers) -> None:
        """Some records of a batch have their outcome; `rows` are the numbers of all rows of the batch."""


class _Rows:
    """The rows of a table or a list that are one batch."""

    __slots__ = ("_delivery", "_rows", "count")

    def __init__(self, rows: RowNumbers, delivery: RowsDelivery) -> None:
        self._rows, self._delivery = rows, delivery
        self.count = len(rows)

    def end(self, done: Done) -> None:
        self._delivery.end(done, self._rows)


class Deliveries:
    """See the module. To the driver it is the core of the producer."""

    def __init__(
        self,
        core: ProducerCore,
        loop: asyncio.AbstractEventLoop,
        pump: Callable[[], None],
        tell: Tell | None = None,
        *,
        is_transactional: bool = False,
    ) -> None:
        """`pump` lets the driver look at the core; `tell` gets each record's outcome, before its future."""
        self._core = core
        self._tell = tell
        self._pump = pump
        self._is_transactional = is_transactional
        self._loop = loop
        # By batch, those with records that have no outcome.
        self._batches: dict[int, _Records | _Rows] = {}
        # How many records of such a batch have one: a batch that is split has several.
        self._ended: dict[int, int] = {}

    @property
    def batches(self) -> frozenset[int]:
        """The batches with records that have no outcome."""
        return frozenset(self._batches)

    def future_of(self, place: Place, timestamp_ms: int) -> asyncio.Future[Receipt]:
        """The future of a record that was just appended."""
        future: asyncio.Future[Receipt] = self._loop.create_future()
        batch = self._batches.get(place.batch_id)
        if batch is None:
            batch = self._batches[place.batch_id] = _Records(
                self._tell, is_transactional=self._is_transactional
            )
        assert isinstance(batch, _Records)
        assert len(batch.futures) == place.index, "records are appended one after another"
        batch.futures.append(future)
        batch.timestamps_ms.append(timestamp_ms)
        return future

    def table(self, records: int) -> TableDelivery:
        """The delivery of a table with so many rows."""
        return TableDelivery(self._loop, records, is_transactional=self._is_transactional)

    def rows_of(self, place: Place, rows: RowNumbers, delivery: RowsDelivery) -> None:
        """These rows were just appended as one batch."""
        self._batches[place.batch_id] = _Rows(rows, delivery)

    def fail_all(self, error: ApiError) -> None:
        """Give up all records that are not acknowledged."""
        self._core.fail_all(error)
        self._deliver()

    # --- the driver's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        sends = self._core.due(now_ms)
        for encoding in self._core.take_encodings():
            future = self._loop.run_in_executor(None, encoding.work)
            future.add_done_callback(partial(self._encoded, encoding))
        self._deliver()
        return sends

    def _encoded(self, encoding: Encoding, future: "asyncio.Future[bytearray]") -> None:
        if not future.cancelled():  # the loop has ended
            self._core.encoded(encoding, future.result())
            self._pump()

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        self._core.outcome(outcome, now_ms)
        self._deliver()

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        return self._core.next_deadline_ms()

    def _deliver(self) -> None:
        for done in self._core.take_done():
            batch = self._batches[done.batch_id]
            ended = self._ended.pop(done.batch_id, 0) + done.records
            if ended == batch.count:
                del self._batches[done.batch_id]
            else:
                self._ended[done.batch_id] = ended
            batch.end(done)


def _receipt(done: Done, index: int, timestamp_ms: int) -> Receipt:
    offset = None if done.base_offset < 0 else done.base_offset + index - done.first
    at_ms = timestamp_ms if done.log_append_time_ms < 0 else done.log_append_time_ms
    return Receipt(done.partition.topic, done.partition.partition, offset, at_ms)


def error_of(done: Done, error: ApiError, index: int) -> ApiError:
    """The error of one record: its own fault where the broker named one, else that of its batch."""
    named = dict(done.record_errors)
    if index in named:
        return ApiError(error.code, f"{done.partition} refuses the record: {named[index]}")
    if named:
        said = f"{done.partition} refuses the batch of this record because of another one in it"
        return ApiError(error.code, said)
    return ApiError(error.code, error.message)
