"""The producers of partitions and their open transactions, as the partitions' leaders know them (KIP-664).

A transaction *hangs* if a log holds it open but no transactional id has it: no coordinator will end it, and
read-committed consumers do not get past its first offset. An administrator ends it in that partition.
"""

from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.transactions import (
    WRITE_MARKERS_VERSION_MAX,
    PartitionProducer,
    TransactionDescription,
    abort_request,
    aborted,
    described_producers,
    producers_request,
)
from odradek.client.leader_connections import LeaderConnections
from odradek.client.refusal import raise_for
from odradek.client.transaction_admin import TransactionAdmin
from odradek.wire.messages.describe_producers import (
    DescribeProducersResponse,
)
from odradek.wire.messages.write_txn_markers import WriteTxnMarkersResponse

PARTITIONS_PER_REQUEST = 500


def producers_of(config: ClientConfig, partitions: Sequence[TopicPartition]) -> list[PartitionProducer]:
    """The active producers of these partitions. Raises ApiError for a partition without a leader."""
    found: list[PartitionProducer] = []
    with LeaderConnections(config, sorted({one.topic for one in partitions})) as leaders:
        for one in partitions:
            if one not in leaders.leaders.addresses:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{one} has no leader")
        for connection, led in leaders.by_broker(partitions):
            for start in range(0, len(led), PARTITIONS_PER_REQUEST):
                request = producers_request(led[start : start + PARTITIONS_PER_REQUEST])
                found += described_producers(connection.ask(request, DescribeProducersResponse))
    return sorted(found, key=lambda one: (one.partition, one.producer_id))


def holder_of(admin: TransactionAdmin, producer: PartitionProducer) -> TransactionDescription | None:
    """The transactional id whose coordinator will end the producer's transaction; None if it hangs."""
    for one in admin.list_transactions(producer.producer_id):
        try:
            described = admin.describe(one.transactional_id)
        except ApiError as refused:
            if refused.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # It expired meanwhile.
                raise
        else:
            if producer.partition in described.partitions:
                return described
    return None


def find_hanging(
    admin: TransactionAdmin, partitions: Sequence[TopicPartition], *, before_ms: int
) -> list[PartitionProducer]:
    """The hanging transactions of these partitions that nobody has written to since `before_ms`."""
    suspects = [
        one
        for one in producers_of(admin.config, partitions)
        if one.start_offset is not None and one.last_timestamp_ms < before_ms
    ]
    orphans = [one for one in suspects if holder_of(admin, one) is None]
    # A coordinator may have ended a transaction after the first look; then it is no longer open now.
    left = producers_of(admin.config, sorted({one.partition for one in orphans})) if orphans else []
    still_open = {(one.partition, one.producer_id, one.start_offset) for one in left}
    return [one for one in orphans if (one.partition, one.producer_id, one.start_offset) in still_open]


def open_transaction_at(
    config: ClientConfig, partition: TopicPartition, start_offset: Offset
) -> PartitionProducer:
    """The producer whose transaction begins at this offset. Raises ApiError if there is none."""
    for one in producers_of(config, [partition]):
        if one.start_offset == start_offset:
            return one
    raise ApiError(
        ErrorCode.INVALID_TXN_STATE, f"no open transaction of {partition} starts at offset {start_offset:,}"
    )


def abort_in_partition(config: ClientConfig, producer: PartitionProducer) -> None:
    """Write the marker that aborts the producer's transaction, in this one partition."""
    partition = producer.partition
    with LeaderConnections(config, [partition.topic]) as leaders:
        led = leaders.by_broker([partition])
        if not led:
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        connection, _ = led[0]
        answer = connection.ask(abort_request(producer), WriteTxnMarkersResponse, WRITE_MARKERS_VERSION_MAX)
    for named, error_code, _, _ in aborted(answer):
        raise_for(error_code, about=str(named))
