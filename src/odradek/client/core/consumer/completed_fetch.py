"""The records of one partition in one fetch answer, decoded batch by batch as they are taken.

    take(500, position=17)     up to 500 records from offset 17 on; `next_offset` is behind the last of them
    is_exhausted               all batches are read; `next_offset` is behind the last batch (C5)

Control batches, records of aborted transactions (read_committed) and gaps of compaction are stepped over.
Invariant: a batch is decoded once, and its CRC checked before that.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset, TopicPartition
from odradek.records.control import is_abort_marker
from odradek.records.framing import RecordHeaders, body_of
from odradek.records.header import HEADER_BYTES, OVERHEAD_BYTES, BatchHeader, check_crc, read_header
from odradek.records.isolation import AbortedTransactions
from odradek.records.record_tuples import decode_tuples
from odradek.wire.messages.fetch import AbortedTransaction, PartitionData


class ConsumerRecord(NamedTuple):
    """One record as an application gets it."""

    topic: str
    partition: int
    offset: Offset
    timestamp: int
    """In milliseconds since the Unix epoch."""
    key: object
    """Bytes or None, or what the key deserializer made of them."""
    value: object
    """Bytes or None, or what the value deserializer made of them."""
    headers: RecordHeaders
    leader_epoch: LeaderEpoch
    is_append_time: bool
    """Whether the broker gave the timestamp, not the producer."""


Convert = Callable[[ConsumerRecord], ConsumerRecord]


class CompletedFetch:
    """See the module."""

    __slots__ = (
        "_aborted",
        "_at",
        "_batch",
        "_batch_end",
        "_checks_crc",
        "_fetched_at",
        "_is_committed_only",
        "_records",
        "_taken",
        "epoch",
        "next_offset",
        "partition",
    )

    def __init__(
        self,
        partition: TopicPartition,
        fetched_at: Offset,
        data: PartitionData,
        *,
        is_committed_only: bool,
        checks_crc: bool,
    ) -> None:
        self.partition = partition
        self._fetched_at = fetched_at
        self._records = memoryview(data.records or b"")
        # Where the next batch begins in them.
        self._at = 0
        self._is_committed_only = is_committed_only
        self._checks_crc = checks_crc
        self._aborted = AbortedTransactions()
        if is_committed_only:
            transactions: list[AbortedTransaction] = data.aborted_transactions or []
            self._aborted.learn(transactions)
        # The records of the batch being read, and how many of them were taken.
        self._batch: list[ConsumerRecord] = []
        self._taken = 0
        # The offset behind it.
        self._batch_end = fetched_at
        self.next_offset = fetched_at
        """What the position must be for the next record to be returned (C5)."""
        self.epoch: LeaderEpoch = NO_EPOCH
        """The leader epoch of the last batch read."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing more to take."""
        return self._taken >= len(self._batch) and self._next_header() is None

    def take(self, count: int, convert: Convert | None = None) -> list[ConsumerRecord]:
        """Up to `count` records; `next_offset` moves behind them, and behind what is stepped over.

        Fewer come before an error: the first call that would return none raises it, and so do later ones.
        """
        found: list[ConsumerRecord] = []
        while len(found) < count:
            if self._taken >= len(self._batch):
                try:
                    if not self._decode_next():
                        break
                except OdradekError:
                    if not found:
                        raise
                    break
                continue
            wanted = self._batch[self._taken : self._taken + count - len(found)]
            taken = wanted if convert is None else self._converted(wanted, convert, bool(found))
            if not taken:
                return found
            found += taken
            self._taken += len(taken)
            self.next_offset = wanted[len(taken) - 1].offset + 1
            if len(taken) < len(wanted):
                return found
        # What follows may be batches without records for the application.
        self._step_over()
        return found

    # --- helpers

    def _converted(
        self, wanted: list[ConsumerRecord], convert: Convert, has_others: bool
    ) -> list[ConsumerRecord]:
        """The records up to the first that cannot be converted; raises only if that is the first of all."""
        taken: list[ConsumerRecord] = []
        for record in wanted:
            try:
                taken.append(convert(record))
            except Exception:
                if has_others or taken:
                    return taken
                raise
        return taken

    def _next_header(self) -> BatchHeader | None:
        """The header of the next batch; None behind the last complete one."""
        if len(self._records) - self._at < HEADER_BYTES:
            return None
        header = read_header(self._records, self._at)
        if header.batch_length + OVERHEAD_BYTES > len(self._records) - self._at:
            return None
        return header

    def _decode_next(self) -> bool:
        """Decode the next batch; returns False behind the last one."""
        header = self._next_header()
        if header is None:
            return False
        batch = self._records[self._at : self._at + header.size_bytes]
        if self._checks_crc:
            check_crc(batch, header)
        is_abort = header.is_control and is_abort_marker(batch)
        if self._is_committed_only:
            is_hidden = self._aborted.hides(header, is_abort)
        else:
            is_hidden = header.is_control
        self._batch = [] if is_hidden else self._decoded(batch, header)
        self._taken = 0
        self._at += header.size_bytes
        self.epoch = header.leader_epoch
        self._batch_end = header.next_offset
        if not self._batch:
            self._step_over()
        return True

    def _decoded(self, batch: memoryview, header: BatchHeader) -> list[ConsumerRecord]:
        topic, number = self.partition
        after = (header.leader_epoch, header.is_log_append_time)
        body = body_of(batch, header)
        return decode_tuples(ConsumerRecord, (topic, number), after, body, header, self._fetched_at)

    def _step_over(self) -> None:
        """At the end of a batch the next offset is the one behind the batch, whatever records it holds."""
        if self._taken < len(self._batch):
            return
        self.next_offset = max(self.next_offset, self._batch_end)
