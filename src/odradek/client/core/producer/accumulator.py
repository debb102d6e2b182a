"""The records that are not acknowledged yet: one queue of batches for each partition, within `buffer.memory`.

    append        into the open batch of the partition, which is the last in its queue; or into a new one
    ready         which partitions have a batch to send: full, waited for linger.ms, to be sent again,
                  flushed, or needed for its memory
    drain         the batches of one request: at most one of a partition, together within max.request.size
    expire        the batches that waited for delivery.timeout.ms, counted from their first record

Invariant: `memory_used` is the sum of what all batches reserve that are queued or held by a request.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from odradek.base.ids import TopicPartition
from odradek.client.core.producer.batch import Batch, EncodedRecords, Encoding
from odradek.client.core.producer.identity import Identity
from odradek.client.core.producer.partition_queue import PartitionQueue
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.requests import earliest
from odradek.records.framing import RecordHeaders
from odradek.records.header import HEADER_BYTES

# How many batches of a partition are encoded ahead: as many as may be in flight.
_SOON: Final = 5


class Accumulator:
    """See the module."""

    def __init__(self, settings: ProducerSettings, identity: Identity | None) -> None:
        self._settings = settings
        self._record_bytes_max = settings.record_bytes_max
        self._batch_bytes_max = max(settings.batch_size, 1)
        self._identity = identity
        # By partition; they stay, with their sequence numbers.
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        # The partitions whose queue holds a batch, in the order in which they are next served.
        self._busy: dict[TopicPartition, None] = {}
        self._last_id = 0
        # Batches up to this id are sent without waiting for more records.
        self._flushed_to = 0
        self.memory_used = 0
        """Bytes of `buffer.memory` in use."""
        self.is_memory_wanted = False
        """Whether an append found no memory since some was last freed: batches do not linger then."""

    # --- appending

    def append(
        self,
        partition: TopicPartition,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders,
        record_bytes: int,
        now_ms: int,
    ) -> Batch | None:
        """Add a record to a batch, which is returned, as its last one; None if there is no memory for it now.

        `record_bytes` is its `record_bytes_max`. Raises ApiError (MESSAGE_TOO_LARGE) for one that is larger
        than a setting allows.
        """
        if record_bytes > self._record_bytes_max:
            raise self._settings.too_large(record_bytes)
        batch = self._open_batch(partition)
        new_bytes = record_bytes if batch is not None else record_bytes + HEADER_BYTES
        # An empty buffer takes any allowed record, so that the estimate cannot hold one back for ever.
        if self.memory_used and self.memory_used + new_bytes > self._settings.buffer_memory:
            self.is_memory_wanted = True
            return None
        if batch is not None and batch.size_bytes + record_bytes > self._batch_bytes_max:
            batch.is_full, batch = True, None
            new_bytes += HEADER_BYTES
        if batch is None:
            batch = self._new_batch(partition, now_ms)
        batch.append(timestamp_ms, key, value, headers, record_bytes)
        batch.is_full = batch.size_bytes >= self._batch_bytes_max
        self.memory_used += new_bytes
        return batch

    def append_encoded(self, partition: TopicPartition, records: EncodedRecords, now_ms: int) -> Batch | None:
        """Add records as a batch of their own; None if there is no memory for it now."""
        new_bytes = records.bytes_max + HEADER_BYTES
        if self.memory_used and self.memory_used + new_bytes > self._settings.buffer_memory:
            self.is_memory_wanted = True
            return None
        batch = self._open_batch(partition)
        if batch is not None:
            batch.is_full = True
        self.memory_used += new_bytes
        batch = self._new_batch(partition, now_ms)
        batch.fill(records)
        return batch

    def _open_batch(self, partition: TopicPartition) -> Batch | None:
        queue = self._queues.get(partition)
        if queue is None or not queue.waiting:
            return None
        batch = queue.waiting[-1]
        return None if batch.is_full else batch

    def _new_batch(self, partition: TopicPartition, now_ms: int) -> Batch:
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(partition, self._identity)
        self._last_id += 1
        deadline_ms = now_ms + self._settings.delivery_timeout_ms
        batch = Batch(
            self._last_id,
            partition,
            codec=self._settings.codec,
            level=self._settings.compression_level,
            now_ms=now_ms,
            deadline_ms=deadline_ms,
            is_transactional=self._settings.transactional_id is not None,
        )
        queue.waiting.append(batch)
        self._busy.setdefault(partition)
        return batch

    # --- what to send

    def flush(self) -> None:
        """Send what is here without waiting for more records."""
        self._flushed_to = self._last_id

    @property
    def busy(self) -> Sequence[TopicPartition]:
        """The partitions with batches, in flight or not."""
        return list(self._busy)

    def queue(self, partition: TopicPartition) -> PartitionQueue:
        """The queue of a partition that was appended to."""
        return self._queues[partition]

    def queue_length(self, partition: TopicPartition) -> int:
        """How many batches of a partition wait."""
        queue = self._queues.get(partition)
        return 0 if queue is None else len(queue.waiting)

    def ready(self, now_ms: int) -> Iterator[TopicPartition]:
        """The partitions whose first batch is to be sent now, if its leader can take it."""
        for partition in list(self._busy):
            queue = self._queues[partition]
            is_due = queue.waiting and self._due_ms(queue) <= now_ms and queue.is_sendable(now_ms)
            if is_due and not queue.waiting[0].is_encoding:
                yield partition

    def begin_encodings(self, now_ms: int) -> list[Encoding]:
        """Batches that are slow to encode and are sent next, or soon after: they are ready after that."""
        found = []
        for partition in self._busy:
            queue = self._queues[partition]
            if queue.waiting and self._due_ms(queue) <= now_ms:
                soon = [one for one in islice(queue.waiting, _SOON) if one is queue.waiting[0] or one.is_full]
                found += [one.begin_encoding() for one in soon if one.is_slow_to_encode]
        return found

    def _due_ms(self, queue: PartitionQueue) -> int:
        """When the first batch that waits is to be sent."""
        head = queue.waiting[0]
        is_now = head.is_full or len(queue.waiting) > 1 or head.id <= self._flushed_to
        if is_now or self.is_memory_wanted or head.attempts:
            return head.not_before_ms
        return max(head.not_before_ms, head.opened_ms + self._settings.linger_ms)

    def drain(self, partitions: Sequence[TopicPartition]) -> list[Batch]:
        """Take the first batches of some `ready` partitions, as many as one request holds; at least one.

        The partitions that are served go to the end of the order. Empty only if no epoch is left.
        """
        batches: list[Batch] = []
        total = 0
        for partition in partitions:
            queue = self._queues[partition]
            head = queue.waiting[0]
            head.encode()
            if batches and total + head.size_bytes > self._settings.max_request_size:
                continue
            batch = queue.take()
            if batch is None:
                continue
            batches.append(batch)
            total += batch.size_bytes
            del self._busy[partition]
            self._busy[partition] = None
        return batches

    def next_deadline_ms(self, now_ms: int) -> int | None:
        """When a batch becomes due or expires, after `now_ms`."""
        found: int | None = None
        for partition in self._busy:
            queue = self._queues[partition]
            if queue.waiting:
                due_ms = self._due_ms(queue)
                found = earliest(found, due_ms if due_ms > now_ms else None, queue.waiting[0].deadline_ms)
            for batch in queue.in_flight:
                found = earliest(found, None if batch.is_done else batch.deadline_ms)
        return found

    def split(self, batch: Batch) -> None:
        """The two halves of a batch that no request holds take its place, and its memory."""
        queue = self._queues[batch.partition]
        for part in batch.split():
            queue.again(part)

    # --- the end of batches

    def expire(self, now_ms: int) -> list[Batch]:
        """The batches whose time is over; those that wait are removed."""
        expired = []
        for partition in list(self._busy):
            queue = self._queues[partition]
            expired += [one for one in queue.in_flight if not one.is_done and one.deadline_ms <= now_ms]
            while queue.waiting and queue.waiting[0].deadline_ms <= now_ms:
                batch = queue.waiting.popleft()
                expired.append(batch)
                self.release(batch)
        return expired

    def remove_all(self) -> list[Batch]:
        """Remove all batches that wait; returns them and those in flight that have not failed."""
        flying = [
            batch
            for partition in self._busy
            for batch in self._queues[partition].in_flight
            if not batch.is_done
        ]
        return flying + self.remove_waiting()

    def remove_waiting(self) -> list[Batch]:
        """Remove and return all batches that wait."""
        removed = []
        for partition in list(self._busy):
            queue = self._queues[partition]
            while queue.waiting:
                batch = queue.waiting.popleft()
                removed.append(batch)
                self.release(batch)
        return removed

    def release(self, batch: Batch) -> None:
        """No queue and no request holds it any more: its memory is free."""
        self.memory_used -= batch.reserved_bytes
        self.is_memory_wanted = False
        if self._queues[batch.partition].is_idle:
            self._busy.pop(batch.partition, None)
