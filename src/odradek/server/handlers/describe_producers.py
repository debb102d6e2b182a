"""DescribeProducers: the producers that partitions led here remember (KIP-664)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.base.topic_names import fault_in_name
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.storage.producer_state import ProducerEntry
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

SERVES: Final = Serves(61, 0, 0, kips={0: 664})


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeProducersRequest, respond: Respond
) -> None:
    """Describe each partition, or say why it cannot be."""
    respond(
        DescribeProducersResponse(
            topics=[
                TopicResponse(
                    topic.name,
                    [
                        _partition(core, TopicPartition(topic.name, index))
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )
    )


def refuse(request: DescribeProducersRequest, code: ErrorCode) -> DescribeProducersResponse:
    """The same error for every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(topic.name, [PartitionResponse(index, code) for index in topic.partition_indexes])
            for topic in request.topics
        ]
    )


def _partition(core: BrokerCore, topic_partition: TopicPartition) -> PartitionResponse:
    index = topic_partition.partition
    state = core.image.partition(topic_partition)
    if state is None:
        fault = fault_in_name(topic_partition.topic)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if fault is None else ErrorCode.INVALID_TOPIC_EXCEPTION
        return PartitionResponse(index, code, fault)
    if state.leader != core.broker_id:
        return PartitionResponse(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = core.logs.get(topic_partition)
    if log is None:
        return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    return PartitionResponse(index, active_producers=[_producer(entry) for entry in log.producers.entries()])


def _producer(entry: ProducerEntry) -> ProducerState:
    first_offset = entry.transaction_first_offset
    return ProducerState(
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        NO_OFFSET if first_offset is None else first_offset,
    )
