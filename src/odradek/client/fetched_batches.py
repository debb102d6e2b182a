"""The batches of a Fetch answer, and those among them that read_committed must hide."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.base.buffers import Buffer
from odradek.records.header import HEADER_BYTES, OVERHEAD_BYTES, BatchHeader, read_header
from odradek.wire.messages.fetch import AbortedTransaction


@dataclass(slots=True)
class AbortedTransactions:
    """Tracks which producers are inside an aborted transaction, in the order of offsets (read_committed)."""

    ahead: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """First offsets of aborted transactions still ahead, per producer, ascending."""
    open: set[int] = field(default_factory=set)
    """Producers whose current transaction is aborted."""

    def learn(self, transactions: Sequence[AbortedTransaction]) -> None:
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


def whole_batches(records: Buffer) -> list[tuple[int, BatchHeader]]:
    """(position, header) of the batches that are complete; an answer may end within one."""
    found = []
    position, size = 0, len(records)
    while size - position >= HEADER_BYTES:
        header = read_header(records, position)
        if header.batch_length + OVERHEAD_BYTES > size - position:
            break
        found.append((position, header))
        position += header.size_bytes
    return found
