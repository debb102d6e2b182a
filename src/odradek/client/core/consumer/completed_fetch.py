"""The records of one partition in one fetch answer, decoded as they are taken.

    take(500)        up to 500 records; `next_offset` is behind the last of them
    away             the next batch is large: its decompression is to be called elsewhere, and given to `has`
    is_exhausted     all batches are read; `next_offset` is behind the last batch (C5)

Control batches, records of aborted transactions (read_committed) and gaps of compaction are stepped over.
Invariants: a record is decoded once, and the CRC of its batch checked before that. One `take` decodes at most
`WORK_RECORDS_MAX` records, however many of them the application does not want, and decompresses little.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from odradek.base.errors import InvalidRecord, OdradekError
from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset, TopicPartition
from odradek.client.core.consumer.column_reader import ColumnReader, check_place, no_whole_batch
from odradek.records.blocks import DecompressionLimit
from odradek.records.compression import Codec
from odradek.records.control import is_abort_marker
from odradek.records.framing import (
    BLOCKS_HERE_MAX,
    COMPRESSED_HERE_BYTES_MAX,
    DECOMPRESSED_HERE_BYTES_MAX,
    NamedHeaders,
    body_of,
)
from odradek.records.header import BatchHeader, check_crc, iter_headers
from odradek.records.isolation import AbortedTransactions
from odradek.records.record_tuples import TupleReader
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
    headers: NamedHeaders
    """The names and values; what is not UTF-8 in a name is shown as `\\xff`."""
    leader_epoch: LeaderEpoch
    is_append_time: bool
    """Whether the broker gave the timestamp, not the producer."""


Convert = Callable[[ConsumerRecord], ConsumerRecord]

WORK_RECORDS_MAX: Final = 4_000
"""How many records one `take` decodes at most: a few milliseconds of work."""
# What one more batch counts for, as so many records.
_BATCH_WORK: Final = 8
# At a time, so that an application that takes few records does not wait for many.
_SLICE_RECORDS: Final = 500


class Away(NamedTuple):
    """A call that takes too long here: its result is for `CompletedFetch.has`."""

    of: "CompletedFetch"
    call: Callable[[], Any]


class CompletedFetch:
    """See the module."""

    __slots__ = (
        "_aborted",
        "_at",
        "_batch",
        "_batch_end",
        "_call",
        "_checks_crc",
        "_fault",
        "_first",
        "_high_watermark",
        "_is_committed_only",
        "_reader",
        "_records",
        "_taken",
        "_unread",
        "columns",
        "epoch",
        "next_offset",
        "partition",
        "spent",
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
        # The first offset that is returned of the batch at hand.
        self._first = fetched_at
        self._records = memoryview(data.records or b"")
        # A batch that begins beyond it is astray.
        self._high_watermark = data.high_watermark
        # Where the next batch begins in them.
        self._at = 0
        self._is_committed_only = is_committed_only
        self._checks_crc = checks_crc
        self._aborted = AbortedTransactions()
        if is_committed_only:
            transactions: list[AbortedTransaction] = data.aborted_transactions or []
            self._aborted.learn(transactions)
        # The last records that were decoded, and how many of them were taken.
        self._batch: list[ConsumerRecord] = []
        self._taken = 0
        # Decodes the rest of their batch; None when all of it was decoded.
        self._reader: TupleReader[ConsumerRecord] | None = None
        # The header of the batch that is decompressed elsewhere; None while none is.
        self._unread: BatchHeader | None = None
        # Why that batch cannot be read; every `take` raises it.
        self._fault: OdradekError | None = None
        # The offset behind the batch.
        self._batch_end = fetched_at
        # Decompresses that batch.
        self._call: Callable[[], bytes] | None = None
        self.columns: ColumnReader | None = None
        """Reads it as columns; None unless that was begun."""
        self.spent = 0
        """How much work the last `take` did, in records."""
        self.next_offset = fetched_at
        """What the position must be for the next record to be returned (C5)."""
        self.epoch: LeaderEpoch = NO_EPOCH
        """The leader epoch of the last batch read."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing more to take."""
        if self.columns is not None:
            return self.columns.is_exhausted
        return self._taken >= len(self._batch) and self._is_between_batches and self._next_header() is None

    @property
    def away(self) -> Away | None:
        """What is to be called elsewhere before more can be taken; None while there is nothing."""
        call = self._call if self.columns is None else self.columns.away
        return None if call is None else Away(self, call)

    def has(self, away: Away, result: Any) -> None:  # noqa: ANN401 - whatever the call returns
        """Take over what became of the call in `away`: its result, or an OdradekError."""
        if self.columns is not None:
            if away.call is self.columns.away:
                self.columns.has(result)
            return
        if away.call is not self._call or self._unread is None:
            return
        self._call = None
        if isinstance(result, OdradekError):
            self._fault = result
        else:
            self._reader = self._reader_of(result, self._unread)
            self._unread = None

    def as_columns(self, *, with_headers: bool) -> ColumnReader | None:
        """What reads it as columns; None if reading it in another way was begun."""
        if self.columns is None and self._at == 0:
            self.columns = ColumnReader(
                self.partition,
                self.next_offset,
                self._records,
                self._aborted if self._is_committed_only else None,
                high_watermark=self._high_watermark,
                checks_crc=self._checks_crc,
                with_headers=with_headers,
            )
        if self.columns is None or self.columns.with_headers != with_headers:
            return None
        return self.columns

    def take(self, count: int, convert: Convert | None = None) -> list[ConsumerRecord]:
        """Up to `count` records; `next_offset` moves behind them, and behind what is stepped over.

        Fewer come when that was much work, also none (`is_exhausted` is False then), and before an error: the
        first call that would return none raises it, and so do later ones.
        """
        self.spent = 0
        found: list[ConsumerRecord] = []
        while len(found) < count:
            if self._taken >= len(self._batch):
                try:
                    if not self._decode_more():
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
        found = next(iter_headers(self._records, self._at), None)
        return None if found is None else found[1]

    @property
    def _is_between_batches(self) -> bool:
        return self._reader is None and self._unread is None

    def _decode_more(self) -> bool:
        """Decode more records, or begin the next batch; returns False if there is none, or none now."""
        if self._fault is not None:
            raise self._fault
        if self._unread is not None or self.spent >= WORK_RECORDS_MAX:
            return False
        if self._reader is None:
            return self._begin_batch()
        self._batch = self._reader.read(_SLICE_RECORDS)
        self._taken = 0
        self.spent += _SLICE_RECORDS
        if self._reader.is_done:
            self._reader = None
        return True

    def _begin_batch(self) -> bool:
        header = self._next_header()
        if header is None:
            if self._at == 0 and self._records:  # to fetch it again would get the same
                raise InvalidRecord(no_whole_batch(self._records))
            return False
        batch = self._records[self._at : self._at + header.size_bytes]
        if self._checks_crc:
            check_crc(batch, header)
        check_place(header, max(self.next_offset, self._batch_end), self._high_watermark)
        self.spent += _BATCH_WORK
        is_abort = header.is_control and is_abort_marker(batch)
        if self._is_committed_only:
            is_hidden = self._aborted.hides(header, is_abort)
        else:
            is_hidden = header.is_control
        self._at += header.size_bytes
        self.epoch = header.leader_epoch
        # A base offset, which no CRC covers, may be wrong: no record comes twice, and no position goes back.
        self._first = max(self.next_offset, self._batch_end)
        self._batch_end = max(self._first, header.next_offset)
        if is_hidden:
            self._step_over()
            return True
        try:
            body = _body_here(batch, header)
        except OdradekError as fault:
            self._unread, self._fault = header, fault
            raise
        if body is None:
            self._unread = header
            self._call = partial(body_of, batch, header)
        else:
            self._reader = self._reader_of(body, header)
        return True

    def _reader_of(self, body: bytes, header: BatchHeader) -> TupleReader[ConsumerRecord]:
        topic, number = self.partition
        after = (header.leader_epoch, header.is_log_append_time)
        return TupleReader(ConsumerRecord, (topic, number), after, body, header, self._first)

    def _step_over(self) -> None:
        """At the end of a batch the next offset is the one behind the batch, whatever records it holds."""
        if self._taken >= len(self._batch) and self._is_between_batches:
            self.next_offset = max(self.next_offset, self._batch_end)


def _body_here(batch: memoryview, header: BatchHeader) -> bytes | None:
    """The records of a batch, uncompressed; None if decompressing them takes long."""
    if header.codec == Codec.NONE:
        return body_of(batch, header)
    if header.size_bytes > COMPRESSED_HERE_BYTES_MAX:
        return None
    try:
        return body_of(batch, header, bytes_max=DECOMPRESSED_HERE_BYTES_MAX, blocks_free=BLOCKS_HERE_MAX)
    except DecompressionLimit:
        return None
