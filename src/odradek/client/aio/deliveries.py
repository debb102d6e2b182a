"""The receivers of a producer's records: each gets its receipt, or the error that kept it from being stored.

A receiver is a future of the loop, or what the blocking producer gives to its threads. This stands between
the driver and the core of a producer, and looks after each event at what became of batches.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count, repeat
from typing import Any, Protocol, TypeAlias

from odradek.base.errors import ApiError
from odradek.base.values import value
from odradek.client.aio.table_deliveries import RowNumbers, TableDelivery
from odradek.client.core.producer.batch import Batch, Done, Encoding
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

Give: TypeAlias = Callable[[Sequence[Any], Sequence[Receipt | ApiError]], None]
"""Gives records' receivers, in their order, what became of each."""


def give_futures(futures: Sequence["asyncio.Future[Receipt]"], found: Sequence[Receipt | ApiError]) -> None:
    """`Give` for futures of the loop."""
    for future, outcome in zip(futures, found, strict=True):
        if future.done():  # its owner has cancelled it
            continue
        if isinstance(outcome, Receipt):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


def give_quietly(futures: Sequence["asyncio.Future[Receipt]"], found: Sequence[Receipt | ApiError]) -> None:
    """`give_futures` in transactions: the commit tells the errors, so nobody need look at the futures."""
    give_futures(futures, found)
    for future in futures:
        if not future.cancelled():
            future.exception()


class _Records:
    """The records of one batch, in their order: their receivers and timestamps."""

    __slots__ = ("_give", "_tell", "receivers", "timestamps_ms")

    def __init__(self, give: Give, tell: Tell | None) -> None:
        self._give, self._tell = give, tell
        self.receivers: list[object] = []
        self.timestamps_ms: list[int] = []

    @property
    def count(self) -> int:
        return len(self.receivers)

    def end(self, done: Done) -> None:
        found: Sequence[Receipt | ApiError]
        first, end = done.first, done.first + done.records
        if done.error is None:
            found = _receipts(done, self.timestamps_ms[first:end])
        else:
            found = [error_of(done, done.error, index) for index in range(first, end)]
        if self._tell is not None:
            for one in found:
                if isinstance(one, Receipt):
                    self._tell(done.partition.topic, one, None)
                else:
                    self._tell(done.partition.topic, None, one)
        self._give(self.receivers[first:end], found)


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
        give: Give,
        tell: Tell | None = None,
        *,
        is_transactional: bool = False,
    ) -> None:
        """`pump` lets the driver look at the core; `tell` gets each record's outcome, before its receiver."""
        self._core = core
        self._give = give
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

    @property
    def unsent(self) -> int:
        """How many records have no outcome."""
        return sum(records.count - self._ended.get(batch, 0) for batch, records in self._batches.items())

    def add(self, batch: Batch, receiver: object, timestamp_ms: int) -> None:
        """The record that was just appended to the batch has this receiver."""
        records = self._batches.get(batch.id)
        if records is None:
            records = self._batches[batch.id] = _Records(self._give, self._tell)
        assert isinstance(records, _Records)
        records.receivers.append(receiver)
        records.timestamps_ms.append(timestamp_ms)

    def table(self, records: int) -> TableDelivery:
        """The delivery of a table with so many rows."""
        return TableDelivery(self._loop, records, is_transactional=self._is_transactional)

    def rows_of(self, batch: Batch, rows: RowNumbers, delivery: RowsDelivery) -> None:
        """These rows were just appended as one batch."""
        self._batches[batch.id] = _Rows(rows, delivery)

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


def _receipts(done: Done, timestamps_ms: Iterable[int]) -> list[Receipt]:
    """Where the records are stored that `done` is about, which have these timestamps."""
    topic, partition = done.partition
    if done.log_append_time_ms >= 0:
        timestamps_ms = repeat(done.log_append_time_ms, done.records)
    if done.base_offset < 0:
        return [Receipt(topic, partition, None, at_ms) for at_ms in timestamps_ms]
    offsets = count(done.base_offset)
    return [
        Receipt(topic, partition, offset, at_ms)
        for offset, at_ms in zip(offsets, timestamps_ms, strict=False)
    ]


def error_of(done: Done, error: ApiError, index: int) -> ApiError:
    """The error of one record: its own fault where the broker named one, else that of its batch."""
    named = dict(done.record_errors)
    if index in named:
        return ApiError(error.code, f"{done.partition} refuses the record: {named[index]}")
    if named:
        said = f"{done.partition} refuses the batch of this record because of another one in it"
        return ApiError(error.code, said)
    return ApiError(error.code, error.message)
