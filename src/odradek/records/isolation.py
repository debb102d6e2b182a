"""Which batches a reader must not see: markers, and under read_committed those of aborted transactions."""

from collections import defaultdict
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

    ahead: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """First offsets of aborted transactions still ahead, per producer, ascending."""
    open: set[int] = field(default_factory=set)
    """Producers whose current transaction is aborted."""

    def learn(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Note the aborted transactions that an answer names."""
        for one in transactions:
            if one.first_offset not in self.ahead[one.producer_id]:
                self.ahead[one.producer_id].append(one.first_offset)
                self.ahead[one.producer_id].sort()

    def hides(self, header: BatchHeader, is_abort: bool) -> bool:
        """Whether this batch is a marker or part of an aborted transaction; call once per batch, in order."""
        starts = self.ahead.get(header.producer_id)
        while starts and starts[0] <= header.last_offset:
            starts.pop(0)
            self.open.add(header.producer_id)
        if header.is_control:
            if is_abort:
                self.open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self.open
