"""The records of one partition in one fetch answer as Arrow columns, some batches at a time.

    take(50_000)     record batches of up to so many rows; `next_offset` is behind the last of them
    away             a call that takes too long here: its result is to be given to `has`

It reads what `CompletedFetch` reads, but makes no object of a record. Invariant: what is decoded here is at
most `_HERE_RECORDS` records that were stored uncompressed; everything else is decoded `away`.
"""

from collections import deque
from functools import partial
from typing import Any, Final, NamedTuple

from odradek.base.errors import InvalidRecord, OdradekError
from odradek.base.ids import NO_EPOCH, NO_OFFSET, LeaderEpoch, Offset, TopicPartition
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec
from odradek.records.framing import LONG_MAX
from odradek.records.header import BatchHeader, iter_headers
from odradek.records.isolation import AbortedTransactions

# Up to so much is decoded together, or one batch.
_CHUNK_BYTES: Final = 1 << 20
_CHUNK_RECORDS: Final = 1 << 16
_HERE_RECORDS: Final = 1 << 14
# A record may have a header in every two bytes.
_HERE_HEADERS_BYTES: Final = 1 << 16


def no_whole_batch(records: memoryview) -> str:
    """What to say of an answer whose records end before the first batch does."""
    return f"the broker sent {len(records)} bytes, in which no whole batch is"


def astray(header: BatchHeader, expected: Offset, high_watermark: Offset) -> str:
    """Why a batch cannot be where its base offset says, which no CRC covers; empty if it can.

    `expected` is the offset behind the batch before it, or the position; `high_watermark` that of the answer.
    Offsets below the high watermark may be missing, after compaction. None is missing from there on: a broker
    may send what was replicated since it read the high watermark, but leaves nothing out of that.
    """
    if header.next_offset > LONG_MAX:
        return f"a batch ends at offset {header.last_offset}; the last one is {LONG_MAX - 1}"
    if header.base_offset > max(expected, high_watermark):
        return (
            f"a batch begins at offset {header.base_offset}, beyond the high watermark {high_watermark} "
            f"of the broker's answer; {expected} was to follow"
        )
    return ""


def check_place(header: BatchHeader, expected: Offset, high_watermark: Offset) -> None:
    """Raises InvalidRecord for a batch that is `astray`."""
    if why := astray(header, expected, high_watermark):
        raise InvalidRecord(why)


class Decoded(NamedTuple):
    """What became of a chunk."""

    end: Offset
    """The offset behind it."""
    aborted: AbortedTransactions | None
    """What is known behind it."""
    rows: list[Any]


class ColumnReader:
    """See the module. A `pyarrow.RecordBatch` is Any here: pyarrow has no types."""

    def __init__(
        self,
        partition: TopicPartition,
        fetched_at: Offset,
        records: memoryview,
        aborted: AbortedTransactions | None,
        *,
        high_watermark: Offset,
        checks_crc: bool,
        with_headers: bool,
    ) -> None:
        """`aborted` is None for read_uncommitted; `high_watermark` is that of the answer."""
        self.with_headers = with_headers
        self._partition = partition
        self._records = records
        self._aborted = aborted
        self._high_watermark = high_watermark
        self._checks_crc = checks_crc
        # Where the next chunk begins in the records.
        self._at = 0
        # What was decoded and not taken, and the offset behind its chunk.
        self._decoded: deque[Any] = deque()
        self._chunk_end = fetched_at
        self._fault: OdradekError | None = None
        self.away: partial[Decoded] | None = None
        """The call that decodes the next rows; None while none is needed."""
        self.next_offset = fetched_at
        """What the position must be for the next row to be returned (C5)."""
        self.epoch: LeaderEpoch = NO_EPOCH
        """The leader epoch of the last batch begun."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing more to take."""
        is_idle = not self._decoded and self.away is None and self._fault is None
        return is_idle and next(iter_headers(self._records, self._at), None) is None

    def has(self, decoded: Decoded | OdradekError) -> None:
        """Take over what became of the call `away`."""
        self.away = None
        if isinstance(decoded, OdradekError):
            self._fault = decoded
        else:
            self._take_in(decoded)

    def take(self, count: int) -> list[Any]:
        """Record batches of up to `count` rows, none of them empty; [] before `away`, or at the end.

        Raises OdradekError for what cannot be decoded, each time.
        """
        found: list[Any] = []
        while count > 0:
            if self._fault is not None:
                if found:
                    break
                raise self._fault
            if not self._decoded:
                if self.away is not None or not self._begin():
                    break
                continue
            rows = self._decoded.popleft()
            if rows.num_rows > count:
                self._decoded.appendleft(rows.slice(count))
                rows = rows.slice(0, count)
            count -= rows.num_rows
            found.append(rows)
            self.next_offset = rows.column("offset")[-1].as_py() + 1
        self._step_over()
        return found

    def prepare(self) -> bool:
        """Begin the next chunk if all rows were taken; returns False: one chunk is begun ahead."""
        if not self._decoded and self.away is None and self._fault is None:
            self._begin()
        return False

    # --- helpers

    def _chunk(self) -> tuple[int, int, bool, LeaderEpoch]:
        """(end, records, whether any is compressed, epoch) of the whole batches that are decoded next.

        Batches of one chunk follow each other: of those of the next, rows before the position are left out.
        """
        end, records, is_compressed, epoch = self._at, 0, False, self.epoch
        next_offset = NO_OFFSET
        expected = max(self.next_offset, self._chunk_end)
        for begin, header in iter_headers(self._records, self._at):
            behind = begin + header.size_bytes
            is_too_much = behind - self._at > _CHUNK_BYTES or records + header.record_count > _CHUNK_RECORDS
            is_astray = header.base_offset < next_offset or astray(header, expected, self._high_watermark)
            if begin > self._at and (is_too_much or is_astray):
                break
            check_place(header, expected, self._high_watermark)
            expected = max(expected, header.next_offset)
            end, epoch, next_offset = behind, header.leader_epoch, header.next_offset
            records += header.record_count
            is_compressed = is_compressed or header.codec != Codec.NONE
        return end, records, is_compressed, epoch

    def _begin(self) -> bool:
        """Begin the next chunk; returns False if there is none."""
        try:
            end, count, is_compressed, epoch = self._chunk()
            if end == 0 and self._records:
                raise InvalidRecord(no_whole_batch(self._records))
        except InvalidRecord as fault:
            self._fault = fault
            return True
        if end == self._at:
            return False
        chunk = self._records[self._at : end]
        call = partial(self._decode, chunk)
        self._at, self.epoch = end, epoch
        has_much = self.with_headers and len(chunk) > _HERE_HEADERS_BYTES
        if is_compressed or count > _HERE_RECORDS or has_much:
            self.away = call
            return True
        try:
            self._take_in(call())
        except OdradekError as fault:
            self._fault = fault
        return True

    def _decode(self, chunk: memoryview) -> Decoded:
        """Decode a chunk; called once for each, perhaps on another thread."""
        from odradek.records.columnar.record_sets import RecordSet, record_batches

        aborted = None if self._aborted is None else self._aborted.copy()
        one = RecordSet(self._partition, chunk, self.next_offset, aborted=aborted)
        rows = record_batches(
            [one],
            with_headers=self.with_headers,
            checks_crc=self._checks_crc,
            batch_bytes_max=DECOMPRESSED_BYTES_MAX,
        )
        found = list(rows)  # the set learns of aborted transactions as it is read
        return Decoded(one.next_offset, aborted, found)

    def _take_in(self, decoded: Decoded) -> None:
        self._chunk_end, self._aborted = decoded.end, decoded.aborted
        self._decoded.extend(one for one in decoded.rows if one.num_rows)
        self._step_over()

    def _step_over(self) -> None:
        if not self._decoded and self.away is None and self._fault is None:
            self.next_offset = max(self.next_offset, self._chunk_end)
