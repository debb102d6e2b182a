"""Loading a partition of `__transaction_state`, when its leadership arrives.

The last record of each transactional id counts; a tombstone removes the id. Loaded records may not be on
every in-sync replica yet: answers that depend on them wait for that, as for appended records. A record or
batch that cannot be decoded is skipped and logged: it is better that one producer has to start again than
that fifty find no coordinator.
"""

import logging
from collections.abc import Generator
from typing import Final

from odradek.base.errors import InvalidRecord, MalformedRequest
from odradek.base.execution import Steps
from odradek.base.ids import Offset
from odradek.coordinator.ports import PartitionReader, UnreadablePartition
from odradek.coordinator.transactions.state_records import decode_key, decode_value
from odradek.coordinator.transactions.state_store import StatePartition, WriteMarkers
from odradek.records.framing import DECOMPRESSED_USUAL_BYTES_MAX, Record, iter_records
from odradek.records.header import iter_headers

READ_BYTES_MAX: Final = 16 << 10
"""What is read at once, unless one batch is larger."""
RECORDS_PER_STEP: Final = 20
LOOKED_AT_PER_STEP: Final = 200

_log = logging.getLogger(__name__)


def load(partition: StatePartition, reader: PartitionReader) -> Steps[None]:
    """Read a partition into memory, as long as it is led; yields between reads.

    Raises LogError when it cannot be read to its end. A single record that cannot be decoded is left out.
    """
    bounds = reader.bounds(partition.topic_partition)
    if bounds is None:
        return
    # [position, end) is still to be read. Nobody else writes here until it has been.
    position, end = bounds
    while position < end:
        following = yield from _read(partition, reader, position)
        if not partition.is_led:
            return
        if following == position:
            raise UnreadablePartition(f"{partition.topic_partition} ends at {position}, not at {end}")
        position = following
    partition.is_loaded = True
    # Not every in-sync replica may have all of that yet.
    partition.log.await_replication(end)
    for count, transaction in enumerate(tuple(partition.transactions.values())):
        # What was decided before this broker led the partition is ended now.
        if transaction.current.is_prepared and partition.is_led:
            partition.log.carry_out(WriteMarkers(partition, transaction))
            yield
        elif count % LOOKED_AT_PER_STEP == 0:
            yield


def _read(partition: StatePartition, reader: PartitionReader, start: Offset) -> Generator[None, None, Offset]:
    """Read on, and return how far that went."""
    batches = reader.read(partition.topic_partition, start, READ_BYTES_MAX)
    position = start
    for at, header in iter_headers(batches):
        if not header.is_control:
            records = iter_records(batches, header, at, bytes_max=DECOMPRESSED_USUAL_BYTES_MAX)
            try:
                for count, record in enumerate(records, 1):
                    _apply(partition, record)
                    if count % RECORDS_PER_STEP == 0:
                        yield
                        if not partition.is_led:
                            return position
            except InvalidRecord as error:
                _log.error(
                    "%s: the rest of the batch at offset %d is left out: %s",
                    partition.topic_partition,
                    header.base_offset,
                    error,
                )
        position = header.next_offset
    yield
    return position


def _apply(partition: StatePartition, record: Record) -> None:
    try:
        transactional_id = decode_key(record.key)
        if transactional_id is not None:
            value = record.value
            partition.apply(transactional_id, None if value is None else decode_value(value))
    except MalformedRequest as error:
        _log.error("%s, offset %d: %s", partition.topic_partition, record.offset, error)
