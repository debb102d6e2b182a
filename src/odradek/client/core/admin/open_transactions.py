"""The producers of partitions and their open transactions, as the partitions' leaders know them (KIP-664).

A transaction *hangs* if a log holds it open but no transactional id has it: no coordinator will end it, and
read-committed consumers do not get past its first offset. An administrator ends it in that partition.
"""

from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.core.admin.leaders import ask_leaders
from odradek.client.core.admin.transactions import (
    PartitionProducer,
    TransactionDescription,
    describe_transaction,
    list_transactions,
    producers_by_partition,
    producers_request,
)
from odradek.client.core.operation import Operation
from odradek.wire.messages.describe_producers import DescribeProducersResponse


def producers_of(partitions: Sequence[TopicPartition]) -> Operation[list[PartitionProducer]]:
    """The active producers of these partitions. Raises ApiError for a partition without a leader."""
    results = yield from ask_leaders(
        partitions,
        producers_request,
        DescribeProducersResponse,
        producers_by_partition,
        awaits_leaders=False,
    )
    for error in results.refused.values():
        raise error
    found = [one for producers in results.found.values() for one in producers]
    return sorted(found, key=lambda one: (one.partition, one.producer_id))


def holder_of(producer: PartitionProducer) -> Operation[TransactionDescription | None]:
    """The transactional id whose coordinator will end the producer's transaction; None if it hangs."""
    for one in (yield from list_transactions(producer.producer_id)):
        try:
            described = yield from describe_transaction(one.transactional_id)
        except ApiError as refused:
            if refused.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # It expired meanwhile.
                raise
        else:
            if producer.partition in described.partitions:
                return described
    return None


def find_hanging(
    partitions: Sequence[TopicPartition], *, before_ms: int
) -> Operation[list[PartitionProducer]]:
    """The hanging transactions of these partitions that nobody has written to since `before_ms`."""
    found = yield from producers_of(partitions)
    orphans = []
    for one in found:
        if one.start_offset is not None and one.last_timestamp_ms < before_ms:
            holder = yield from holder_of(one)
            if holder is None:
                orphans.append(one)
    if not orphans:
        return []
    # A coordinator may have ended a transaction after the first look; then it is no longer open now.
    left = yield from producers_of(sorted({one.partition for one in orphans}))
    still_open = {(one.partition, one.producer_id, one.start_offset) for one in left}
    return [one for one in orphans if (one.partition, one.producer_id, one.start_offset) in still_open]


def open_transaction_at(partition: TopicPartition, start_offset: Offset) -> Operation[PartitionProducer]:
    """The producer whose transaction begins at this offset. Raises ApiError if there is none."""
    for one in (yield from producers_of([partition])):
        if one.start_offset == start_offset:
            return one
    raise ApiError(
        ErrorCode.INVALID_TXN_STATE, f"no open transaction of {partition} starts at offset {start_offset:,}"
    )
