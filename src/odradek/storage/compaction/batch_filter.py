"""Decides which records of one batch compaction keeps.

                                    stays
    a record with a value           while it is the last of its key
    a tombstone                     likewise, and until the delete horizon of its batch (KIP-534)
    a record without a key          never
    of an aborted transaction       nothing
    a marker                        until no batch of its transaction is left and its horizon has passed
    a producer's last batch         always, if without records: its sequence numbers are in the header

A kept record keeps its offset, and a kept batch its range of offsets and sequence numbers. A batch with all
of its records kept is returned unchanged; otherwise a new batch is built from the bytes of the kept records.
"""

from collections.abc import Iterable
from dataclasses import replace

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_PRODUCER_ID, Offset
from odradek.records.builder import assemble_batch, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.control import read_marker
from odradek.records.framing import body_of, iter_body
from odradek.records.header import DELETE_HORIZON_BIT, NO_TIMESTAMP, BatchHeader
from odradek.storage.compaction.job import LastBatch
from odradek.storage.compaction.offset_map import OffsetMap
from odradek.storage.compaction.record_walk import RecordSpan, delta_of, walk_records
from odradek.storage.compaction.transactions import TransactionFates
from odradek.storage.transaction_index import AbortedTransaction


class BatchFilter:
    """Takes every batch of the segments to clean, in order; counts `records_read` and `records_kept`."""

    __slots__ = (
        "_delete_retention_ms",
        "_end_offset",
        "_fates",
        "_last_batches",
        "_latest",
        "_now_ms",
        "aborted",
        "records_kept",
        "records_read",
    )

    def __init__(
        self,
        latest: OffsetMap,
        end_offset: Offset,
        fates: TransactionFates,
        last_batches: Iterable[LastBatch],
        *,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        """`latest` has every key of the dirty part below `end_offset`; records from there on are kept."""
        self._latest = latest
        self._end_offset = end_offset
        self._fates = fates
        self._last_batches = {last.producer_id: last for last in last_batches}
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self.aborted: list[AbortedTransaction] = []
        """Transaction index entries of the kept abort markers; the caller removes them from the list."""
        self.records_read = 0
        self.records_kept = 0

    def keep(self, batch: memoryview, header: BatchHeader) -> Buffer | None:
        """Returns the kept part of a batch: `batch` itself if all is kept, None if nothing is.

        Raises InvalidRecord if its records are inconsistent, UnsupportedCompression for an unknown codec.
        """
        self.records_read += header.record_count
        if header.is_control:
            return self._keep_control(batch, header)
        if self._fates.is_aborted(header) or not header.record_count:
            return self._without_records(batch, header)
        return self._keep_data(batch, header)

    def _keep_control(self, batch: memoryview, header: BatchHeader) -> Buffer | None:
        if not header.record_count:
            return self._without_records(batch, header)
        marker = read_marker(batch)
        if marker is None:
            self.records_kept += 1
            return batch  # of a kind other than the end of a transaction
        is_done, aborted = self._fates.end(header, marker)
        if aborted is not None:
            self.aborted.append(aborted)
        horizon_ms = header.delete_horizon_ms
        if is_done and horizon_ms is not None and horizon_ms <= self._now_ms:
            return self._without_records(batch, header)
        self.records_kept += 1
        if is_done and horizon_ms is None:
            return self._with_horizon(header, body_of(batch, header))
        return batch

    def _keep_data(self, batch: memoryview, header: BatchHeader) -> Buffer | None:
        body = body_of(batch, header)
        kept, has_tombstones = self._kept_records(body, header)
        if not kept:
            return self._without_records(batch, header)
        self.records_kept += len(kept)
        is_whole = len(kept) == header.record_count
        if has_tombstones and header.delete_horizon_ms is None:
            return self._with_horizon(header, body if is_whole else _joined(body, kept), len(kept))
        if is_whole:
            return batch
        return _with_records(header, body, kept)

    def _kept_records(self, body: bytes, header: BatchHeader) -> tuple[list[RecordSpan], bool]:
        latest, base_offset, end_offset = self._latest.get, header.base_offset, self._end_offset
        horizon_ms = header.delete_horizon_ms
        tombstones_stay = horizon_ms is None or self._now_ms < horizon_ms
        kept, has_tombstones = [], False
        for records in walk_records(body, header):
            for span in records:
                _, _, _, offset_delta, key, has_value = span
                offset = base_offset + offset_delta
                if offset < end_offset:
                    if key is None or offset < latest(key, -1):
                        continue
                    if not has_value:
                        if not tombstones_stay:
                            continue
                        has_tombstones = True
                kept.append(span)
        return kept, has_tombstones

    def _with_horizon(self, header: BatchHeader, body: bytes, record_count: int = 1) -> Buffer:
        """The batch with the delete horizon as its base timestamp; all timestamp deltas are rewritten."""
        held = replace(header, record_count=record_count)
        horizon_ms = self._now_ms + self._delete_retention_ms
        return rebuild_batch(header, iter_body(body, held), delete_horizon_ms=horizon_ms)

    def _without_records(self, batch: memoryview, header: BatchHeader) -> Buffer | None:
        """Only the batch's header, if it has its producer's last sequence number; else None."""
        if not self._is_last_of_producer(header):
            return None
        if not header.record_count:
            return batch
        empty = replace(header, record_count=0)
        empty.attributes &= ~DELETE_HORIZON_BIT
        empty.base_timestamp = NO_TIMESTAMP
        return assemble_batch(empty, b"", Codec.NONE)

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if header.producer_id == NO_PRODUCER_ID:
            return False
        last = self._last_batches.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset >= 0:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.producer_epoch


def _with_records(header: BatchHeader, body: bytes, kept: list[RecordSpan]) -> bytearray:
    """The batch with some of its records; their bytes, base offset and base timestamp do not change."""
    rebuilt = replace(header, record_count=len(kept))
    if not header.is_log_append_time:
        rebuilt.max_timestamp = header.base_timestamp + max([delta_of(span[2]) for span in kept])
    return assemble_batch(rebuilt, _joined(body, kept), header.codec)


def _joined(body: bytes, kept: list[RecordSpan]) -> bytes:
    return b"".join([body[span[0] : span[1]] for span in kept])
