"""The records of one partition in one fetch answer, decoded as they are taken, or ahead of that.

    take(500)        up to 500 records; `next_offset` is behind the last of them
    prepare()        do a slice of the work of the next `take` now
    away             the next batches take long: the call to be made elsewhere, whose result is given to `has`
    is_exhausted     all batches are read; `next_offset` is behind the last batch (C5)

Control batches, records of aborted transactions (read_committed) and gaps of compaction are stepped over.
Invariants: a record is decoded once, and the CRC of its batch checked before that. One `take` decodes at most
`WORK_RECORDS_MAX` records, however many of them the application does not want, and decompresses little;
`prepare` moves no position, and decodes less than `WORK_RECORDS_MAX` records ahead.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, NamedTuple

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset, TopicPartition
from odradek.client.core.consumer.batch_walk import BatchWalk, Run
from odradek.client.core.consumer.column_reader import ColumnReader
from odradek.client.core.consumer.run_decoding import Decoded, RunDecoder
from odradek.client.key_value_types import K, V
from odradek.records.blocks import DecompressionLimit
from odradek.records.framing import NamedHeaders
from odradek.records.header import BatchHeader
from odradek.records.record_readers import RecordReader
from odradek.wire.messages.fetch import PartitionData


class ConsumerRecord(NamedTuple, Generic[K, V]):
    """One record as an application gets it."""

    topic: str
    partition: int
    offset: Offset
    timestamp: int
    """In milliseconds since the Unix epoch."""
    key: K | None
    """Bytes or None, or what the key deserializer made of them."""
    value: V | None
    """Bytes or None, or what the value deserializer made of them."""
    headers: NamedHeaders
    """The names and values; what is not UTF-8 in a name is shown as `\\xff`."""
    leader_epoch: LeaderEpoch
    is_append_time: bool
    """Whether the broker gave the timestamp, not the producer."""


Convert = Callable[[ConsumerRecord], ConsumerRecord[Any, Any]]

WORK_RECORDS_MAX: Final = 4_000
"""How many records one `take` decodes at most: a few milliseconds of work."""
# What one more batch counts for, as so many records.
_BATCH_WORK: Final = 8
# At a time, so that an application that takes few records does not wait for many.
_SLICE_RECORDS: Final = 500
_AHEAD_RECORDS: Final = 1_000


class Away(NamedTuple):
    """A call that takes too long here: its result is for `CompletedFetch.has`."""

    of: "CompletedFetch"
    call: Callable[[], Any]


class CompletedFetch:
    """See the module."""

    __slots__ = (
        "_call",
        "_decoder",
        "_end",
        "_fault",
        "_reader",
        "_ready",
        "_run",
        "_taken",
        "_undecoded",
        "_walk",
        "columns",
        "epoch",
        "is_damaged",
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
        decoder: RunDecoder[ConsumerRecord] | None = None,
    ) -> None:
        """`decoder` is that of all fetches of a consumer."""
        self.partition = partition
        self._decoder = decoder or RunDecoder(ConsumerRecord)
        self._walk = BatchWalk(data, is_committed_only=is_committed_only, checks_crc=checks_crc)
        # The run at hand, those of its batches that no reader has yet, and the offset behind it.
        self._run: Run | None = None
        self._undecoded: deque[tuple[memoryview, BatchHeader]] = deque()
        self._end = fetched_at
        # Decodes the next of these batches elsewhere; None while that is not needed.
        self._call: Callable[[], Decoded[ConsumerRecord]] | None = None
        # Why they cannot be read; every `take` raises it.
        self._fault: OdradekError | None = None
        # Reads the batches that were decompressed last; None when all of them was read.
        self._reader: RecordReader[ConsumerRecord] | None = None
        # The last records that were read, and how many of them were taken.
        self._ready: list[ConsumerRecord] = []
        self._taken = 0
        self.columns: ColumnReader | None = None
        """Reads it as columns; None unless that was begun."""
        self.spent = 0
        """How much work the last `take` did, in records."""
        self.is_damaged = False
        """Whether some of it could not be read: the application was told, or will be."""
        self.next_offset = fetched_at
        """What the position must be for the next record to be returned (C5)."""
        self.epoch: LeaderEpoch = NO_EPOCH
        """The leader epoch of the last batch taken, or stepped over."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing more to take."""
        if self.columns is not None:
            return self.columns.is_exhausted
        return self._taken >= len(self._ready) and self._is_between_runs and self._walk.is_done

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
        if away.call is not self._call:
            return
        self._call = None
        if isinstance(result, OdradekError):
            self._fault = result
        else:
            self._read_by(result)

    def as_columns(self, *, with_headers: bool) -> ColumnReader | None:
        """What reads it as columns; None if reading it in another way was begun."""
        walk = self._walk
        if self.columns is None and not walk.has_begun:
            self.columns = ColumnReader(
                self.partition,
                self.next_offset,
                walk.records,
                walk.aborted,
                high_watermark=walk.high_watermark,
                checks_crc=walk.checks_crc,
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
            if self._taken >= len(self._ready):
                self._step_over()
                try:
                    if not self._decode_more():
                        break
                except OdradekError:
                    if not found:
                        raise
                    break
                continue
            wanted = self._ready[self._taken : self._taken + count - len(found)]
            taken = wanted if convert is None else _converted(wanted, convert, bool(found))
            if not taken:
                return found
            found += taken
            self._taken += len(taken)
            last = wanted[len(taken) - 1]
            self.next_offset, self.epoch = last.offset + 1, last.leader_epoch
            if len(taken) < len(wanted):
                return found
        # What follows may be batches without records for the application.
        self._step_over()
        return found

    def prepare(self) -> bool:
        """Decode some records that were not taken yet; returns whether there is more to decode ahead.

        What cannot be read is left to `take`, which says so.
        """
        if self.columns is not None:
            return self.columns.prepare()
        ready = len(self._ready) - self._taken
        if self._fault is not None or ready >= _AHEAD_RECORDS:
            return False
        self.spent = 0
        with suppress(OdradekError):
            return self._decode_more()
        return False

    # --- helpers

    @property
    def _is_between_runs(self) -> bool:
        return self._reader is None and not self._undecoded

    def _decode_more(self) -> bool:
        """Read more records, or begin the next batches; returns False if there are none, or none now."""
        if self._fault is not None:
            raise self._fault
        if self._call is not None or self.spent >= WORK_RECORDS_MAX:
            return False
        if self._reader is not None:
            more = self._reader.read(_SLICE_RECORDS)
            self._ready = [*self._ready[self._taken :], *more]
            self._taken = 0
            self.spent += _SLICE_RECORDS
            if self._reader.is_done:
                self._reader = None
            return True
        return self._decompress() if self._undecoded else self._begin_run()

    def _begin_run(self) -> bool:
        run = self._walk.next(max(self.next_offset, self._end))
        if run is None:
            return False
        self.spent += _BATCH_WORK * run.steps
        self._run, self._end = run, run.end
        self._undecoded.extend(run.batches)
        return True

    def _decompress(self) -> bool:
        assert self._run is not None
        decode = partial(self._decoder.decode, self.partition, self._run, tuple(self._undecoded))
        try:
            if self._decoder.is_quick(self._undecoded):
                self._read_by(decode(is_here=True))
                return True
        except DecompressionLimit:
            pass
        except OdradekError as fault:
            self._fault = fault
            raise
        self._call = partial(decode, is_here=False)
        return False

    def _read_by(self, found: Decoded[ConsumerRecord]) -> None:
        for _ in range(found.batches):
            self._undecoded.popleft()
        self._reader = None if found.reader.is_done else found.reader

    def _step_over(self) -> None:
        """Behind the last record of a run the next offset is the one behind the run, whatever it holds."""
        if self._run is not None and self._taken >= len(self._ready) and self._is_between_runs:
            self.next_offset, self.epoch = max(self.next_offset, self._end), self._run.epoch


def _converted(wanted: list[ConsumerRecord], convert: Convert, has_others: bool) -> list[ConsumerRecord]:
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
