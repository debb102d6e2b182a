"""DescribeProducers: the active producers of partitions, led or followed here (KIP-664).

A follower answers from its own log, so that an administrator can compare replicas (`DescribeProducersOptions`
of Kafka's clients names the broker to ask).
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise, stepwise_in
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.base.topic_names import fault_in_name
from odradek.server.edge.context import RequestContext, Respond, Response
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

PRODUCERS_PER_STEP: Final = 64


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeProducersRequest, respond: Respond
) -> None:
    """Describe each partition, or answer its error."""

    def in_steps() -> Steps[Response]:
        response = DescribeProducersResponse()
        for name, indexes in _once_each(request).items():
            topic = TopicResponse(name)
            for index in indexes:
                topic.partitions.append((yield from _partition(core, TopicPartition(name, index))))
                yield
            response.topics.append(topic)
        return response

    respond(in_steps())


def refuse(request: DescribeProducersRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    rows = yield from stepwise_in(
        request.topics,
        lambda topic: topic.partition_indexes,
        lambda index: PartitionResponse(index, code),
        lambda topic, parts: TopicResponse(topic.name, parts),
    )
    return DescribeProducersResponse(topics=rows)


def _once_each(request: DescribeProducersRequest) -> dict[str, dict[int, None]]:
    """The partitions by topic, each once, because a few bytes request every producer of a partition."""
    partitions: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        partitions.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return partitions


def _partition(core: BrokerCore, topic_partition: TopicPartition) -> Steps[PartitionResponse]:
    """One partition, which may know a hundred thousand producers."""
    index = topic_partition.partition
    if core.image.partition(topic_partition) is None:
        fault = fault_in_name(topic_partition.topic)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if fault is None else ErrorCode.INVALID_TOPIC_EXCEPTION
        return PartitionResponse(index, code, fault)
    found = core.replicas.replica(topic_partition)
    if isinstance(found, ErrorCode):
        return PartitionResponse(index, found)
    log = core.logs.get(topic_partition)
    if log is None:
        return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    producers = yield from stepwise(list(log.producers.entries()), _producer, PRODUCERS_PER_STEP)
    return PartitionResponse(index, active_producers=producers)


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
