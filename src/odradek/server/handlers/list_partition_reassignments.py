"""ListPartitionReassignments: the partitions whose replicas are being moved (KIP-455).

The controller answers: the other brokers know the replicas of a partition, and not which of them are on their
way. A partition that is named and not being reassigned, or that does not exist, is left out.
"""

from functools import partial
from typing import Final

from odradek.base.execution import Pace, Steps, stepwise
from odradek.base.ids import TopicPartition
from odradek.metadata.controller.requests import Answer, ListReassignments, Reassignments, Refused
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

SERVES: Final = Serves(46, 0, 0, kips={0: 455}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: ListPartitionReassignmentsRequest, respond: Respond
) -> Steps[None]:
    """Ask the controller, and list what it says by topic."""

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(ListPartitionReassignmentsResponse(error_code=answer.error, error_message=answer.message))
            return
        assert isinstance(answer, Reassignments), answer
        respond(_listed(answer))

    partitions: list[TopicPartition] | None = None
    if request.topics is not None:
        partitions = []
        for topic in request.topics:
            partitions += yield from stepwise(topic.partition_indexes, partial(TopicPartition, topic.name))
            yield
    asked = ListReassignments(None if partitions is None else tuple(partitions))
    core.decide(context, asked, decided)


def _listed(answer: Reassignments) -> Steps[ListPartitionReassignmentsResponse]:
    topics: dict[str, OngoingTopicReassignment] = {}
    pace = Pace()
    for (name, number), state in answer.partitions.items():
        topic = topics.setdefault(name, OngoingTopicReassignment(name))
        topic.partitions.append(
            OngoingPartitionReassignment(
                number, list(state.replicas), list(state.adding_replicas), list(state.removing_replicas)
            )
        )
        if pace.is_over():
            yield
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))
