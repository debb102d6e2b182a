"""The state of a log's producers: enough to recognise a repeated batch, refuse a gap, fence an old
epoch, and know which transactions are open (KIP-98).

    producer 7, epoch 0 sends sequences 0-4, 5-9            both are remembered, next must be 10
    it sends 5-9 again (the answer was lost)                duplicate: answered with the first offsets
    it sends 15-19                                          OutOfOrderSequence: 10-14 are missing
    epoch 1 sends 0-4                                       a new epoch: sequences begin at 0 again
    epoch 0 sends 10-14                                     InvalidProducerEpoch: fenced

Only `apply` changes the table, after the bytes are written; `check` never does. A transaction that has ended
stays *unreplicated* until its marker is below HW, and holds LSO back until then.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import (
    ApiError,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
)
from odradek.base.ids import NO_PRODUCER_ID, Offset, ProducerId
from odradek.records.control import EndTxnMarker
from odradek.records.header import BatchHeader
from odradek.storage.origin import Origin
from odradek.storage.transaction_index import AbortedTransaction

BATCHES_REMEMBERED = 5
SEQUENCE_MAX = (1 << 31) - 1
NO_SEQUENCE = -1
NO_PRODUCER_EPOCH = -1
NO_COORDINATOR_EPOCH = -1


def sequence_after(sequence: int) -> int:
    """The sequence number that follows; after the largest comes 0."""
    return 0 if sequence == SEQUENCE_MAX else sequence + 1


def sequence_before(sequence: int, by: int) -> int:
    """The sequence number `by` earlier; before 0 comes the largest."""
    return sequence - by if sequence >= by else SEQUENCE_MAX - (by - sequence) + 1


class RememberedBatch(NamedTuple):
    """One of a producer's last batches: the sequences it carried and the offsets it got."""

    first_sequence: int
    last_sequence: int
    first_offset: Offset
    last_offset: Offset
    timestamp_ms: int


@dataclass(slots=True)
class ProducerEntry:
    """One producer id as this log knows it."""

    producer_id: ProducerId
    epoch: int = NO_PRODUCER_EPOCH
    """The highest epoch seen; all `batches` are of this epoch."""
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    """Of the coordinator that wrote this producer's last marker; -1 before the first."""
    last_timestamp_ms: int = -1
    """Of the last batch or marker; decides when the entry expires."""
    transaction_first_offset: Offset | None = None
    """Where the open transaction begins; None when none is open."""
    markers_seen: int = field(default=0, compare=False)
    """How many transactions of it have ended here since the log was opened; see `ProducerStates.ended`."""
    batches: deque[RememberedBatch] = field(default_factory=lambda: deque(maxlen=BATCHES_REMEMBERED))
    """The last batches in the order of their sequences; empty after a new epoch or a marker of one."""

    @property
    def last_sequence(self) -> int:
        """Of the last batch, or -1."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> Offset:
        """Of the last batch, or -1."""
        return self.batches[-1].last_offset if self.batches else -1

    def duplicate_of(self, header: BatchHeader) -> RememberedBatch | None:
        """The remembered batch that `header` repeats."""
        if header.producer_epoch == self.epoch:
            first, last = header.base_sequence, header.last_sequence
            for batch in self.batches:
                if batch.first_sequence == first and batch.last_sequence == last:
                    return batch
        return None

    def enter_epoch(self, epoch: int) -> None:
        """Forget the batches of an older epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class ProducerStates:
    """All producers of one log, and its open transactions."""

    __slots__ = ("_entries", "_expiration_ms", "_ongoing", "_unreplicated", "has_seen_markers")

    def __init__(self, expiration_ms: Callable[[], int]) -> None:
        """`expiration_ms` is called each time it is needed: it may change while the broker runs."""
        self._expiration_ms = expiration_ms
        self._entries: dict[ProducerId, ProducerEntry] = {}
        # First offset -> producer of every open transaction, in rising order of offsets.
        self._ongoing: dict[Offset, ProducerId] = {}
        # First offset -> offset of the marker, of transactions whose marker may be at or above HW.
        self._unreplicated: dict[Offset, Offset] = {}
        self.has_seen_markers = False  # a transaction has ended in this log, as far as is known

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterator[ProducerEntry]:
        """All producers, in the order in which they first wrote."""
        return iter(self._entries.values())

    def get(self, producer_id: ProducerId) -> ProducerEntry | None:
        """What is known of a producer."""
        return self._entries.get(producer_id)

    def ended(self, producer_id: ProducerId) -> int:
        """A number that changes when a transaction of the producer ends, also one without records here."""
        entry = self._entries.get(producer_id)
        return 0 if entry is None else entry.markers_seen

    def check(self, header: BatchHeader, origin: Origin) -> RememberedBatch | None:
        """Returns the earlier batch that this one repeats, or None.

        Raises InvalidProducerEpoch, OutOfOrderSequence or InvalidTransactionState if the batch must not be
        appended. A follower's batches are never refused: its leader has checked them.
        """
        entry = self._entries.get(header.producer_id)
        if origin is Origin.REPLICATION or entry is None:
            if origin is not Origin.REPLICATION and not header.is_control:
                _check_first(header, origin)
            return None
        if origin is Origin.CLIENT:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                return duplicate
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} is fenced: it writes in epoch {header.producer_epoch}, "
                f"epoch {entry.epoch} has begun"
            )
        is_open = entry.transaction_first_offset is not None
        if origin is Origin.NEXT_EPOCH and header.producer_epoch == entry.epoch and is_open:
            raise InvalidProducerEpoch(
                f"a late marker for producer {header.producer_id}: it ends no transaction of epoch "
                f"{header.producer_epoch}, which began with it"
            )
        if origin is Origin.CLIENT:
            _check_sequence(header, entry)
        if is_open and not header.is_control and not header.is_transactional:
            raise InvalidTransactionState(
                f"producer {header.producer_id} has a transaction open since offset "
                f"{entry.transaction_first_offset} and writes outside of it"
            )
        return None

    def check_marker(self, header: BatchHeader, marker: EndTxnMarker) -> None:
        """Refuse a marker of a coordinator with an older epoch (TRANSACTION_COORDINATOR_FENCED)."""
        entry = self._entries.get(header.producer_id)
        if entry is not None and marker.coordinator_epoch < entry.coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"the marker for producer {header.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}, epoch {entry.coordinator_epoch} has begun",
            )

    def apply(self, header: BatchHeader) -> None:
        """Remember a data batch of a producer that has just been written."""
        assert header.producer_id != NO_PRODUCER_ID, "a batch of no producer has no producer state"
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry(header.producer_id)
        entry.enter_epoch(header.producer_epoch)
        first_offset, timestamp_ms = header.base_offset, header.max_timestamp
        entry.batches.append(
            RememberedBatch(
                header.base_sequence, header.last_sequence, first_offset, header.last_offset, timestamp_ms
            )
        )
        entry.last_timestamp_ms = timestamp_ms
        if header.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = first_offset
            self._ongoing[first_offset] = header.producer_id

    def apply_marker(self, header: BatchHeader, marker: EndTxnMarker) -> AbortedTransaction | None:
        """End the producer's transaction; of an abort that had records, the transaction index's entry."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry(header.producer_id)
        entry.enter_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.markers_seen += 1
        self.has_seen_markers = True
        entry.last_timestamp_ms = header.max_timestamp
        first_offset, entry.transaction_first_offset = entry.transaction_first_offset, None
        if first_offset is None:
            return None
        marker_offset = header.base_offset
        self._ongoing.pop(first_offset)
        self._unreplicated[first_offset] = marker_offset
        if marker.committed:
            return None
        last_stable_offset = next(iter(self._ongoing), marker_offset + 1)
        return AbortedTransaction(header.producer_id, first_offset, marker_offset, last_stable_offset)

    @property
    def holds_offsets_back(self) -> bool:
        """Whether LSO may be below HW: a transaction is open, or its marker may be at or above HW."""
        return bool(self._ongoing or self._unreplicated)

    @property
    def first_unstable_offset(self) -> Offset | None:
        """The first offset of the earliest transaction that is open or whose marker is not below HW."""
        if not self._ongoing and not self._unreplicated:
            return None
        candidates = [*self._unreplicated]
        first_ongoing = next(iter(self._ongoing), None)
        if first_ongoing is not None:
            candidates.append(first_ongoing)
        return min(candidates)

    def high_watermark_rose(self, high_watermark: Offset) -> None:
        """Called when HW rose: transactions whose markers are below HW no longer hold LSO back."""
        if self._unreplicated:
            self._unreplicated = {
                first: marker for first, marker in self._unreplicated.items() if marker >= high_watermark
            }

    def expire(self, now_ms: int) -> int:
        """Forget producers that have written nothing for `producer.id.expiration.ms`; how many."""
        expired = [p for p, entry in self._entries.items() if self._has_expired(entry, now_ms)]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)

    def forget(self, producer_id: ProducerId) -> bool:
        """Forget one producer as if it had expired; False when it is unknown or has a transaction open."""
        entry = self._entries.get(producer_id)
        if entry is None or entry.transaction_first_offset is not None:
            return False
        del self._entries[producer_id]
        return True

    def load(self, entries: Iterable[ProducerEntry], now_ms: int) -> None:
        """Begin anew with the producers of a snapshot, less those that have expired since."""
        self.clear()
        for entry in entries:
            if not self._has_expired(entry, now_ms):
                self._entries[entry.producer_id] = entry
            if entry.coordinator_epoch != NO_COORDINATOR_EPOCH:
                self.has_seen_markers = True
        open_since = (
            (entry.transaction_first_offset, entry.producer_id)
            for entry in self._entries.values()
            if entry.transaction_first_offset is not None
        )
        self._ongoing = dict(sorted(open_since))

    def clear(self) -> None:
        """Forget everything."""
        self._entries = {}
        self.has_seen_markers = False
        self._ongoing = {}
        self._unreplicated = {}

    def _has_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        is_open = entry.transaction_first_offset is not None
        return not is_open and now_ms - entry.last_timestamp_ms >= self._expiration_ms()


def _check_first(header: BatchHeader, origin: Origin) -> None:
    """A producer that is not known here may begin with any sequence: its past may have been deleted."""
    if origin is Origin.CLIENT and header.base_sequence < 0:
        raise OutOfOrderSequence(
            f"producer {header.producer_id} sent sequence {header.base_sequence}, which is none"
        )


def _check_sequence(header: BatchHeader, entry: ProducerEntry) -> None:
    sequence = header.base_sequence
    if header.producer_epoch != entry.epoch:
        if sequence != 0 and entry.epoch != NO_PRODUCER_EPOCH:
            raise OutOfOrderSequence(
                f"producer {header.producer_id} begins epoch {header.producer_epoch} with sequence "
                f"{sequence} instead of 0"
            )
        return
    expected = sequence_after(entry.last_sequence)
    if sequence != expected and entry.epoch != NO_PRODUCER_EPOCH:
        raise OutOfOrderSequence(
            f"producer {header.producer_id} sent sequence {sequence} where {expected} is next "
            f"(epoch {entry.epoch})"
        )
