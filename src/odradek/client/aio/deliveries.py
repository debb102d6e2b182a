"""The futures of a producer's records: each gets its receipt, or the error that kept it from being stored.

It stands between the driver and the core of a producer, and looks after each event at what became of batches.
"""

import asyncio
from collections.abc import Sequence

from odradek.base.errors import ApiError
from odradek.base.values import value
from odradek.client.core.producer.batch import Done, Place
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


class _Unacknowledged:
    """The records of one batch, in their order: their futures and timestamps."""

    __slots__ = ("ended", "futures", "timestamps_ms")

    def __init__(self) -> None:
        self.ended = 0
        """How many of them have an outcome: a batch that is split has several."""
        self.futures: list[asyncio.Future[Receipt]] = []
        self.timestamps_ms: list[int] = []


class Deliveries:
    """See the module. To the driver it is the core of the producer."""

    def __init__(
        self, core: ProducerCore, loop: asyncio.AbstractEventLoop, *, is_transactional: bool = False
    ) -> None:
        self._core = core
        # Whether the commit tells the errors, so that nobody need look at the futures.
        self._is_transactional = is_transactional
        self._loop = loop
        # By batch, those with records that have no outcome.
        self._batches: dict[int, _Unacknowledged] = {}

    @property
    def batches(self) -> frozenset[int]:
        """The batches with records that have no outcome."""
        return frozenset(self._batches)

    def future_of(self, place: Place, timestamp_ms: int) -> asyncio.Future[Receipt]:
        """The future of a record that was just appended."""
        future: asyncio.Future[Receipt] = self._loop.create_future()
        batch = self._batches.get(place.batch_id)
        if batch is None:
            batch = self._batches[place.batch_id] = _Unacknowledged()
        assert len(batch.futures) == place.index, "records are appended one after another"
        batch.futures.append(future)
        batch.timestamps_ms.append(timestamp_ms)
        return future

    def fail_all(self, error: ApiError) -> None:
        """Give up all records that are not acknowledged."""
        self._core.fail_all(error)
        self._deliver()

    # --- the driver's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        sends = self._core.due(now_ms)
        self._deliver()
        return sends

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
            batch.ended += done.records
            if batch.ended == len(batch.futures):
                del self._batches[done.batch_id]
            for index in range(done.first, done.first + done.records):
                future = batch.futures[index]
                if future.done():  # its owner has cancelled it
                    continue
                if done.error is None:
                    future.set_result(_receipt(done, index, batch.timestamps_ms[index]))
                else:
                    future.set_exception(_error_of(done, done.error, index))
                    if self._is_transactional:
                        future.exception()


def _receipt(done: Done, index: int, timestamp_ms: int) -> Receipt:
    offset = None if done.base_offset < 0 else done.base_offset + index - done.first
    at_ms = timestamp_ms if done.log_append_time_ms < 0 else done.log_append_time_ms
    return Receipt(done.partition.topic, done.partition.partition, offset, at_ms)


def _error_of(done: Done, error: ApiError, index: int) -> ApiError:
    """The error of one record: its own fault where the broker named one, else that of its batch."""
    named = dict(done.record_errors)
    if index in named:
        return ApiError(error.code, f"{done.partition} refuses the record: {named[index]}")
    if named:
        said = f"{done.partition} refuses the batch of this record because of another one in it"
        return ApiError(error.code, said)
    return ApiError(error.code, error.message)
