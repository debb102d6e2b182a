"""CreatePartitions, decided: a topic's count may only grow.

named twice in the request               INVALID_REQUEST
no such topic                            UNKNOWN_TOPIC_OR_PARTITION
not more partitions than there are       INVALID_PARTITIONS
being reassigned                         REASSIGNMENT_IN_PROGRESS
an assignment that does not fit          INVALID_REPLICA_ASSIGNMENT
fewer brokers than the topic's replicas  INVALID_REPLICATION_FACTOR
more than PARTITIONS_PER_REQUEST_MAX     POLICY_VIOLATION
"""

from itertools import islice

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Pace, Steps, counted, stepwise
from odradek.metadata import codec, paths
from odradek.metadata.controller.assignment import (
    PARTITIONS_PER_STEP,
    Assignment,
    assign_replicas,
    assignable,
    fault_in_replicas,
)
from odradek.metadata.controller.decision import Decision, Decisions
from odradek.metadata.controller.requests import CreatePartitions, MorePartitions, TopicOutcome
from odradek.metadata.controller.topic_creation import (
    PARTITIONS_PER_REQUEST_MAX,
    PARTITIONS_PER_WRITE,
    new_partitions,
    partition_writes,
)
from odradek.metadata.image import ClusterImage, PartitionChanged, TopicImage
from odradek.metadata.store import SetData


def decide_more_partitions(image: ClusterImage, request: CreatePartitions) -> Decisions[TopicOutcome]:
    """One decision per topic; a topic named twice has one decision."""
    times_named = yield from counted(topic.name for topic in request.topics)
    named: set[str] = set()
    pace = Pace()
    partitions_left = PARTITIONS_PER_REQUEST_MAX
    for asked in request.topics:
        if asked.name in named:
            if pace.is_over():
                yield None
            continue
        named.add(asked.name)
        try:
            if times_named[asked.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"{asked.name} is named more than once")
            topic = image.topic(asked.name)
            if topic is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name}")
            added = yield from _added(image, topic, asked, partitions_left)
        except ApiError as refusal:
            yield Decision(TopicOutcome(asked.name, refusal.code, refusal.message))
            continue
        partitions_left -= len(added)
        yield (yield from _grown(image, topic, added))


def _grown(image: ClusterImage, topic: TopicImage, added: Assignment) -> Steps[Decision[TopicOutcome]]:
    fresh = yield from new_partitions(image, added)
    document = codec.encode_topic(topic.topic_id, {**topic.partitions, **fresh})
    states = partition_writes(topic.name, fresh)
    writes = (SetData(paths.topic(topic.name), document), *islice(states, 2 * PARTITIONS_PER_WRITE))
    changes = yield from stepwise(
        fresh.items(), lambda one: PartitionChanged(topic.name, *one), PARTITIONS_PER_STEP
    )
    return Decision(TopicOutcome(topic.name), writes, tuple(changes), states)


def _added(
    image: ClusterImage, topic: TopicImage, asked: MorePartitions, partitions_left: int
) -> Steps[Assignment]:
    present = len(topic.partitions)
    added = asked.count - present
    if added <= 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"{topic.name} has {present} partitions already and cannot be given {asked.count}",
        )
    if any(state.adding_replicas or state.removing_replicas for state in topic.partitions.values()):
        raise ApiError(ErrorCode.REASSIGNMENT_IN_PROGRESS, f"{topic.name} is being reassigned")
    if added > partitions_left:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"one request makes at most {PARTITIONS_PER_REQUEST_MAX} partitions; this topic asks for {added}",
        )
    first_replicas = topic.partitions[0].replicas
    if asked.assignments is not None:
        return (yield from _chosen_by_hand(image, asked, present, added, len(first_replicas)))
    if len(first_replicas) > len(image.brokers):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{len(first_replicas)} replicas need as many brokers; the cluster has {len(image.brokers)}",
        )
    # The topic's first leader is where its assignment once began.
    brokers = assignable(image, len(first_replicas))
    order = sorted(brokers)
    start = order.index(first_replicas[0]) if first_replicas[0] in brokers else 0
    return (
        yield from assign_replicas(
            brokers,
            partition_count=added,
            replication_factor=len(first_replicas),
            start=start,
            shift=start,
            first_partition=present,
        )
    )


def _chosen_by_hand(
    image: ClusterImage, asked: MorePartitions, present: int, added: int, factor: int
) -> Steps[Assignment]:
    assert asked.assignments is not None
    if len(asked.assignments) != added:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are added, but {len(asked.assignments)} are assigned",
        )
    assignment: Assignment = {}
    pace = Pace(PARTITIONS_PER_STEP)
    for number, replicas in enumerate(asked.assignments, present):
        if pace.is_over():
            yield
        fault = fault_in_replicas(replicas, image.brokers, factor)
        if fault is not None:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {number} has {fault}")
        assignment[number] = replicas
    return assignment
