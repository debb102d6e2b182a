"""Which batches a reader must not see: markers, and under read_committed those of aborted transactions."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from odradek.records.header import BatchHeader


class AbortedTransaction(Protocol):
    """One as a Fetch answer or a log's index names it."""

    @property
    def producer_id(self) -> int:
        """Whose transaction it is."""

    @property
    def first_offset(self) -> int:
        """The offset of its first record in the partition."""


@dataclass(slots=True)
class AbortedTransactions:
    """Tracks which producers are inside an aborted transaction, in the order of offsets (read_committed)."""

    ahead: dict[int, deque[int]] = field(default_factory=dict)
    """First offsets of aborted transactions still ahead, per producer, ascending."""
    open: set[int] = field(default_factory=set)
    """Producers whose current transaction is aborted."""

    def learn(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Note the aborted transactions that an answer names."""
        told: dict[int, set[int]] = defaultdict(set)
        for one in transactions:
            told[one.producer_id].add(one.first_offset)
        for producer_id, offsets in told.items():
            self.ahead[producer_id] = deque(sorted(offsets.union(self.ahead.get(producer_id, ()))))

    def copy(self) -> "AbortedTransactions":
        """What is known now, for a reader that may have to begin again here."""
        return AbortedTransactions({one: deque(ahead) for one, ahead in self.ahead.items()}, set(self.open))

    def hides(self, header: BatchHeader, is_abort: bool) -> bool:
        """Whether this batch is a marker or part of an aborted transaction; call once per batch, in order."""
        starts = self.ahead.get(header.producer_id)
        while starts and starts[0] <= header.last_offset:
            starts.popleft()
            self.open.add(header.producer_id)
        if header.is_control:
            if is_abort:
                self.open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self.open
