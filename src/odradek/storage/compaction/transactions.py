"""Tracks how the transactions in a cleaned range ended, from their batches and markers in order.

    offsets      0  1  2  3  4  5  6          .txnindex: producer 7, first 1, marker 4
                 a  b7 c8 d7 A7 e7 C8
    read 1       producer 7 is rolled back: its records go, wherever they are
    read 4, A7   ends that; since a batch of it was still there, marker and index entry stay this time
    read 6, C8   a batch of producer 8 was seen: the marker stays

A marker is removed once a cleaning finds no batch of its transaction, not even an empty one, and its delete
horizon has passed: no consumer can then be in the middle of the transaction. The index entry is removed no
later than the marker; a consumer that got an index entry without a marker would also skip the producer's
later records.
"""

from collections import deque
from collections.abc import Iterable

from odradek.base.ids import ProducerId
from odradek.records.control import EndTxnMarker
from odradek.records.header import BatchHeader
from odradek.storage.transaction_index import AbortedTransaction


class TransactionFates:
    """Takes every batch of a range of the log in order; the range is below LSO, so all have ended."""

    __slots__ = ("_aborting", "_coming", "_committing", "_seen")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # Rolled back and not begun yet, by first offset.
        self._coming = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        # Rolled back, begun and not ended yet, by producer.
        self._aborting: dict[ProducerId, AbortedTransaction] = {}
        # Those of `_aborting` of which a batch has been seen.
        self._seen: dict[ProducerId, None] = {}
        # Producers with a batch of a transaction that will be committed.
        self._committing: dict[ProducerId, None] = {}

    def is_aborted(self, header: BatchHeader) -> bool:
        """Take a data batch; returns whether its transaction was aborted."""
        if not header.is_transactional:
            return False
        self._begin_up_to(header)
        if header.producer_id in self._aborting:
            self._seen[header.producer_id] = None
            return True
        self._committing[header.producer_id] = None
        return False

    def end(self, header: BatchHeader, marker: EndTxnMarker) -> tuple[bool, AbortedTransaction | None]:
        """Take a marker; returns whether no batch of its transaction is left, and the index entry to keep."""
        self._begin_up_to(header)
        producer_id = header.producer_id
        if marker.committed:
            return self._committing.pop(producer_id, self) is self, None
        aborted = self._aborting.pop(producer_id, None)
        if aborted is None or self._seen.pop(producer_id, self) is self:
            return True, None
        return False, aborted

    def _begin_up_to(self, header: BatchHeader) -> None:
        coming = self._coming
        while coming and coming[0].first_offset <= header.last_offset:
            transaction = coming.popleft()
            self._aborting[transaction.producer_id] = transaction
