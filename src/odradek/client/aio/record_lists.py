"""Adds a list of records to a producer as whole batches, and counts what becomes of them.

A future for every record costs more than the record: who has many records at hand, as `odradek produce` has,
gets one delivery for all.

    delivery = ListDelivery(len(records))
    await producer.append_all(records, delivery)
    delivery.ended.result()       when each has its outcome
    delivery.acknowledged, delivery.failed, delivery.error
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.aio.batch_adding import BatchAdding, Host
from odradek.client.aio.deliveries import Deliveries, error_of
from odradek.client.aio.driver import Driver
from odradek.client.aio.record_arguments import interrupted
from odradek.client.aio.table_deliveries import RowNumbers
from odradek.client.core.producer.batch import Done, EncodedRecords, record_bytes_max
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.lack import Lack
from odradek.client.core.producer.outgoing import Outgoing
from odradek.client.core.producer.settings import ProducerSettings
from odradek.records.framing import append_record
from odradek.records.header import HEADER_BYTES

# How many records are encoded before others on the loop have their turn: one or two milliseconds.
_STEP_RECORDS: Final = 500


class ListDelivery:
    """What becomes of a list of records; any thread may read it."""

    def __init__(self, records: int) -> None:
        self.records: Final = records
        """How many they are."""
        self.acknowledged = 0
        """How many are stored so far; with acks=0: sent."""
        self.failed = 0
        """How many have failed so far, each for good."""
        self.error: ApiError | None = None
        """Why the first of them did."""
        self.ended: Future[None] = Future()
        """Done when each record has its outcome; it never fails."""
        if not records:
            self.ended.set_result(None)

    @property
    def unanswered(self) -> int:
        """How many have no outcome yet; each may be stored or not."""
        return self.records - self.acknowledged - self.failed

    def end(self, done: Done, rows: RowNumbers) -> None:
        """See `RowsDelivery`."""
        del rows  # only their number counts
        if done.error is None:
            self.acknowledged += done.records
            self._end_if_complete()
        else:
            first = done.record_errors[0][0] if done.record_errors else done.first
            self.refuse(done.records, error_of(done, done.error, first))

    def refuse(self, records: int, error: ApiError) -> None:
        """So many were not stored, or not added at all."""
        self.failed += records
        self.error = self.error or error
        self._end_if_complete()

    def _end_if_complete(self) -> None:
        if not self.unanswered:
            self.ended.set_result(None)


@dataclass(slots=True)
class _Open:
    """The records of a partition that become its next batch."""

    body: bytearray = field(default_factory=bytearray)
    count: int = 0
    base_ms: int = 0
    max_ms: int = 0
    bytes_max: int = 0

    def append(self, record: Outgoing, stamp_ms: int, bytes_max: int) -> None:
        if not self.count:
            self.base_ms = self.max_ms = stamp_ms
        append_record(
            self.body, stamp_ms - self.base_ms, self.count, record.key, record.value, record.headers
        )
        self.max_ms = max(self.max_ms, stamp_ms)
        self.count += 1
        self.bytes_max += bytes_max

    def encoded(self) -> EncodedRecords:
        return EncodedRecords(self.body, self.count, self.base_ms, self.max_ms, self.bytes_max)


class RecordLists(BatchAdding):
    """See the module; made for one list."""

    def __init__(
        self,
        host: Host,
        driver: Driver,
        core: ProducerCore,
        deliveries: Deliveries,
        settings: ProducerSettings,
    ) -> None:
        super().__init__(host, driver, core, deliveries, settings)
        self._open: dict[TopicPartition, _Open] = {}
        # Where records go, by the partition or the key that they name; None: those that name neither.
        self._places: dict[int | bytes | None, TopicPartition] = {}
        # How many records are in a batch or were refused.
        self._settled = 0

    async def add(self, records: Sequence[Outgoing], delivery: ListDelivery) -> None:
        """Add all of them, which have one topic; those that cannot be added are refused in `delivery`."""
        limit = self._settings.record_bytes_max
        batch_size = self._settings.batch_size - HEADER_BYTES
        now_ms = self._driver.clock.wall_ms()
        try:
            for count, record in enumerate(records, 1):
                bytes_max = record_bytes_max(record.key, record.value, record.headers)
                if bytes_max > limit:
                    self._refuse(1, delivery, self._settings.too_large(bytes_max))
                    continue
                choice = record.key if record.partition is None else record.partition
                partition = self._places.get(choice) or await self._find(record, choice)
                chosen = self._open.get(partition)
                if chosen is not None and len(chosen.body) + bytes_max > batch_size:
                    await self._add(partition, delivery)
                    chosen = None
                if chosen is None:
                    chosen = self._open[partition] = _Open()
                chosen.append(
                    record, now_ms if record.timestamp_ms is None else record.timestamp_ms, bytes_max
                )
                if not count % _STEP_RECORDS:
                    await asyncio.sleep(0)
            for partition in list(self._open):
                await self._add(partition, delivery)
        except ApiError as error:
            self._refuse(len(records) - self._settled, delivery, error)
        except asyncio.CancelledError:
            self._refuse(len(records) - self._settled, delivery, interrupted())
            raise

    async def _add(self, partition: TopicPartition, delivery: ListDelivery) -> None:
        """Add what is open of a partition as a batch, when there is memory for it."""
        encoded = self._open[partition].encoded()
        await self.add_batch(partition, encoded, range(encoded.count), delivery)
        del self._open[partition]
        self._settled += encoded.count
        self._places.pop(None, None)
        self._core.placement.appended(partition, encoded.bytes_max, is_batch_full=True)

    def _refuse(self, records: int, delivery: ListDelivery, error: ApiError) -> None:
        """So many are in no batch, and come into none."""
        self._settled += records
        delivery.refuse(records, error)

    # --- helpers

    async def _find(self, record: Outgoing, choice: int | bytes | None) -> TopicPartition:
        """Where a record goes, and from now on those of the same choice; waits until that is known."""
        found = self._place(record)
        if isinstance(found, Lack):
            found = await self._host.until(partial(self._place, record), self._settings.max_block_ms)
        if choice is None or isinstance(choice, int) or not self._core.placement.ignores_keys:
            self._places[choice] = found
        return found

    def _place(self, record: Outgoing) -> TopicPartition | Lack:
        found = self._core.placement.find(record.topic, record.key, record.partition, self._driver.now_ms)
        return Lack(record.topic, record.partition) if found is None else found
