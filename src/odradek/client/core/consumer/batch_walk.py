"""Steps over the batches of one fetch answer, and says which of them an application gets.

    walk = BatchWalk(data, is_committed_only=True, checks_crc=True)
    walk.next(position)     the next run of batches; None behind the last whole one

Invariants: the CRC of a batch is checked before it is looked into; a batch that is refused stays the next
one, and ends the run before it. A run is bounded in bytes, batches and records, unless its only batch has
more.
"""

from typing import Final, NamedTuple

from odradek.base.errors import InvalidRecord, OdradekError
from odradek.base.ids import LeaderEpoch, Offset
from odradek.client.core.consumer.column_reader import check_place, no_whole_batch
from odradek.records.control import is_abort_marker
from odradek.records.header import BatchHeader, check_crc, iter_headers
from odradek.records.isolation import AbortedTransactions
from odradek.wire.messages.fetch import AbortedTransaction, PartitionData

# What is decoded together: a millisecond or two of work, so that who takes few records does not wait long.
_RUN_BYTES: Final = 512 << 10
RUN_RECORDS: Final = 4_096
_RUN_BATCHES: Final = 128


class Run(NamedTuple):
    """Batches behind each other that have the leader epoch and the kind of timestamps in common."""

    batches: list[tuple[memoryview, BatchHeader]]
    """Those that hold records for the application; there may be none."""
    first: Offset
    """Records before it are not wanted."""
    end: Offset
    """The offset behind the last batch, whether that is among `batches` or not."""
    epoch: LeaderEpoch
    is_append_time: bool
    """Whether the broker gave the timestamps."""
    steps: int
    """How many batches were stepped over."""


class BatchWalk:
    """See the module."""

    __slots__ = ("_at", "aborted", "checks_crc", "high_watermark", "records")

    def __init__(self, data: PartitionData, *, is_committed_only: bool, checks_crc: bool) -> None:
        self.records = memoryview(data.records or b"")
        self.high_watermark = data.high_watermark
        """A batch that begins beyond it is astray."""
        self.aborted: AbortedTransactions | None = None
        """The transactions whose records are left out; None for read_uncommitted."""
        # Where the next batch begins in the records.
        self._at = 0
        self.checks_crc = checks_crc
        if is_committed_only:
            transactions: list[AbortedTransaction] = data.aborted_transactions or []
            self.aborted = AbortedTransactions()
            self.aborted.learn(transactions)

    @property
    def has_begun(self) -> bool:
        """Whether a batch was stepped over."""
        return self._at > 0

    @property
    def is_done(self) -> bool:
        """Whether no whole batch is left. Raises InvalidRecord for what is no header."""
        return next(iter_headers(self.records, self._at), None) is None

    def next(self, expected: Offset) -> Run | None:
        """The run from `expected` on. Raises OdradekError if its first batch is refused.

        A base offset, which no CRC covers, may be wrong: no record comes twice, and no position goes back.
        """
        begin = self._at
        batches: list[tuple[memoryview, BatchHeader]] = []
        first: BatchHeader | None = None
        end, records, steps = expected, 0, 0
        try:
            for at, header in iter_headers(self.records, begin):
                behind = at + header.size_bytes
                if first is not None and (
                    behind - begin > _RUN_BYTES
                    or records + header.record_count > RUN_RECORDS
                    or steps == _RUN_BATCHES
                    or header.base_offset < end
                    or not _is_alike(header, first)
                ):
                    break
                batch = self.records[at:behind]
                if self.checks_crc:
                    check_crc(batch, header)
                check_place(header, end, self.high_watermark)
                if not self._hides(batch, header):
                    batches.append((batch, header))
                    records += header.record_count
                first = first or header
                end = max(end, header.next_offset)
                steps += 1
                self._at = behind
        except OdradekError:
            if first is None:
                raise
        if first is None:
            if begin == 0 and self.records:  # to fetch it again would get the same
                raise InvalidRecord(no_whole_batch(self.records))
            return None
        return Run(batches, expected, end, first.leader_epoch, first.is_log_append_time, steps)

    def _hides(self, batch: memoryview, header: BatchHeader) -> bool:
        if self.aborted is None:
            return header.is_control
        return self.aborted.hides(header, header.is_control and is_abort_marker(batch))


def _is_alike(one: BatchHeader, other: BatchHeader) -> bool:
    return one.leader_epoch == other.leader_epoch and one.is_log_append_time is other.is_log_append_time
