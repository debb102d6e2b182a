"""Loading a partition of `__transaction_state`, when its leadership arrives.

Law: the last record of each transactional id is what holds; a tombstone takes it away. It goes in steps of
one read, so that other partitions are served between them. A record that cannot be understood is left out,
and said so: one producer that has to begin anew is better than fifty that find no coordinator.
"""

import logging
from typing import Final

from odradek.base.errors import MalformedRequest, OdradekError
from odradek.base.ids import Offset
from odradek.coordinator.ports import PartitionReader
from odradek.coordinator.transactions.state_records import decode_key, decode_value
from odradek.coordinator.transactions.state_store import StatePartition
from odradek.coordinator.transactions.transaction import Transaction
from odradek.records.framing import Record, iter_records
from odradek.records.header import iter_headers

READ_BYTES_MAX: Final = 16 << 10
"""What one step reads, unless one batch is larger: about 1 ms of decoding."""

_log = logging.getLogger(__name__)


class Loading:
    """One partition on its way into memory."""

    def __init__(self, partition: StatePartition, reader: PartitionReader) -> None:
        self.partition = partition
        self._reader = reader
        bounds = reader.bounds(partition.topic_partition)
        # [next, end) is still to be read. Nobody else writes here until it has been.
        self._next: Offset = 0 if bounds is None else bounds[0]
        self._end: Offset = 0 if bounds is None else bounds[1]
        partition.is_loaded = self._next == self._end

    def step(self) -> bool:
        """Read on; True when there is nothing left to do, because all is loaded or the leadership is over.

        Raises OdradekError when the partition cannot be read.
        """
        partition = self.partition
        if not partition.is_led:
            return True
        if self._next < self._end:
            self._read()
        if self._next >= self._end:
            partition.is_loaded = True
        return partition.is_loaded

    def _read(self) -> None:
        topic_partition = self.partition.topic_partition
        batches = self._reader.read(topic_partition, self._next, READ_BYTES_MAX)
        start = self._next
        for position, header in iter_headers(batches):
            if not header.is_control:
                for record in iter_records(batches, header, position):
                    self._apply(record)
            self._next = header.next_offset
        if self._next == start:
            raise OdradekError(f"{topic_partition} ends at {start}, not at {self._end}")

    def _apply(self, record: Record) -> None:
        transactions = self.partition.transactions
        try:
            transactional_id = decode_key(record.key)
            if transactional_id is None:
                return
            if record.value is None:
                transactions.pop(transactional_id, None)
            else:
                transactions[transactional_id] = Transaction(transactional_id, decode_value(record.value))
        except MalformedRequest as error:
            _log.error("%s, offset %d: %s", self.partition.topic_partition, record.offset, error)
