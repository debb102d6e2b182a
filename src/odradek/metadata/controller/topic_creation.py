"""CreateTopics, decided: which topics may be made, and with what partitions.

Checked in Kafka's order, the first fault answers the topic:

    named twice in the request                               INVALID_REQUEST
    the name of Kafka's metadata log                         INVALID_REQUEST
    not a topic's name, or differs from one in '.' and '_'   INVALID_TOPIC_EXCEPTION
    there already, or still being deleted                    TOPIC_ALREADY_EXISTS
    both counts and an assignment                            INVALID_REQUEST
    0 or less than -1 partitions                             INVALID_PARTITIONS
    0 or less than -1 replicas, or more than brokers         INVALID_REPLICATION_FACTOR
    an assignment with gaps, unknown or repeated brokers     INVALID_REPLICA_ASSIGNMENT
    more than PARTITIONS_PER_REQUEST_MAX in the request      POLICY_VIOLATION
    a setting that is unknown, bad or contradicts another    INVALID_CONFIG
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Pace, Steps, counted
from odradek.base.ids import BrokerId, TopicId
from odradek.base.topic_names import KRAFT_METADATA_TOPIC, fault_in_name, folded_name
from odradek.metadata import codec, paths
from odradek.metadata.controller.assignment import (
    PARTITIONS_PER_STEP,
    Assignment,
    assign_replicas,
    assignable,
    fault_in_replicas,
)
from odradek.metadata.controller.config_changes import checked_topic_overrides
from odradek.metadata.controller.decision import DecidedWrite, Decision, Decisions, Put
from odradek.metadata.controller.requests import USE_DEFAULT, CreateTopics, NewTopic, TopicOutcome
from odradek.metadata.image import ClusterImage, PartitionImage, TopicConfigChanged, TopicCreated
from odradek.metadata.store import Create, WriteOperation

PARTITIONS_PER_REQUEST_MAX = 10_000
PARTITIONS_PER_WRITE: Final = 90
"""How many partitions of a new topic are written together with it."""


def decide_creation(
    image: ClusterImage,
    request: CreateTopics,
    chance: Chance,
    *,
    num_partitions: int,
    default_replication_factor: int,
) -> Decisions[TopicOutcome]:
    """One decision per topic; a topic named twice has one decision.

    The decisions before it may have been carried out when one is asked for.
    """
    defaults = (num_partitions, default_replication_factor)
    times_named = yield from counted(topic.name for topic in request.topics)
    named: set[str] = set()
    # The names that this request takes, by what they would collide in.
    claimed: dict[str, str] = {}
    partitions_left = PARTITIONS_PER_REQUEST_MAX
    pace = Pace()
    for topic in request.topics:
        if topic.name in named:
            if pace.is_over():
                yield None
            continue
        named.add(topic.name)
        try:
            if times_named[topic.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"{topic.name} is named more than once")
            _refuse_name(image, topic.name, claimed)
            assignment = yield from _assignment_of(image, topic, chance, defaults, partitions_left)
            overrides = yield from checked_topic_overrides(image, topic.configs)
        except ApiError as refusal:
            yield Decision(TopicOutcome(topic.name, refusal.code, refusal.message))
            continue
        claimed[folded_name(topic.name)] = topic.name
        partitions_left -= len(assignment)
        yield (yield from _created(image, topic.name, chance.uuid(), assignment, overrides))


def partition_writes(name: str, states: Mapping[int, PartitionImage]) -> Iterator[WriteOperation]:
    """The nodes of new partitions of a topic whose `partitions` node is there, a pair for each."""
    encoded: dict[int, bytes] = {}
    for number, state in states.items():
        # Partitions on the same brokers share their state.
        data = encoded.get(id(state))
        if data is None:
            data = encoded[id(state)] = codec.encode_state(state, state.controller_epoch)
        yield Create(paths.partition(name, number))
        yield Create(paths.partition_state(name, number), data)


def new_partitions(image: ClusterImage, assignment: Assignment) -> Steps[dict[int, PartitionImage]]:
    """The first states of partitions; those with the same replicas share one."""
    states: dict[tuple[BrokerId, ...], PartitionImage] = {}
    partitions: dict[int, PartitionImage] = {}
    pace = Pace(PARTITIONS_PER_STEP)
    for number, replicas in assignment.items():
        if replicas not in states:
            states[replicas] = new_partition(image, replicas)
        partitions[number] = states[replicas]
        if pace.is_over():
            yield
    return partitions


def new_partition(image: ClusterImage, replicas: tuple[int, ...]) -> PartitionImage:
    """The first state of a partition: led by its first live replica, all live ones in sync.

    Brokers that are stopping do not count as live (KIP-841), unless there is no other.
    """
    live = tuple(replica for replica in replicas if image.is_live(replica))
    assert live, f"none of {replicas} is live"
    live = tuple(replica for replica in live if replica not in image.stopping) or live
    return PartitionImage(replicas, isr=live, leader=live[0], controller_epoch=image.controller_epoch)


def _created(
    image: ClusterImage, name: str, topic_id: TopicId, assignment: Assignment, overrides: Mapping[str, str]
) -> Steps[Decision[TopicOutcome]]:
    partitions = yield from new_partitions(image, assignment)
    states = partition_writes(name, partitions)
    writes: tuple[DecidedWrite, ...] = (
        Put(paths.topic_config(name), codec.encode_config(overrides), is_likely_new=True),
        Create(paths.topic(name), codec.encode_topic(topic_id, partitions)),
        Create(paths.partitions(name)),
        *islice(states, 2 * PARTITIONS_PER_WRITE),
    )
    outcome = TopicOutcome(
        name,
        topic_id=topic_id,
        partition_count=len(partitions),
        replication_factor=len(partitions[0].replicas),
        overrides=overrides,
    )
    created = TopicCreated(name, topic_id, partitions)
    changes = (created, TopicConfigChanged(name, overrides)) if overrides else (created,)
    return Decision(outcome, writes, changes, states)


def _refuse_name(image: ClusterImage, name: str, claimed: Mapping[str, str]) -> None:
    if name == KRAFT_METADATA_TOPIC:
        # Its logs would not be loaded at the next start, or would be written into Kafka's.
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} is Kafka's metadata log and cannot be created")
    fault = fault_in_name(name)
    if fault is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if name in image.topics:
        being_deleted = " and is being deleted" if name in image.deleting else ""
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"the topic {name} exists already{being_deleted}")
    other = image.name_colliding_with(name) or claimed.get(folded_name(name))
    if other is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"the topic {name} differs from {other} only in '.' and '_', alike in metric names",
        )


def _assignment_of(
    image: ClusterImage, topic: NewTopic, chance: Chance, defaults: tuple[int, int], partitions_left: int
) -> Steps[Assignment]:
    if topic.assignments:
        return (yield from _chosen_by_hand(image, topic, partitions_left))
    count = defaults[0] if topic.partition_count == USE_DEFAULT else topic.partition_count
    factor = defaults[1] if topic.replication_factor == USE_DEFAULT else topic.replication_factor
    if count <= 0:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"a topic has at least 1 partition, not {count}")
    if factor <= 0:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, f"there is at least 1 replica, not {factor}")
    if factor > len(image.brokers):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{factor} replicas need as many brokers; the cluster has {len(image.brokers)}",
        )
    _refuse_too_many(count, partitions_left)
    brokers = assignable(image, factor)
    return (
        yield from assign_replicas(
            brokers,
            partition_count=count,
            replication_factor=factor,
            start=chance.below(len(brokers)),
            shift=chance.below(len(brokers)),
        )
    )


def _chosen_by_hand(image: ClusterImage, topic: NewTopic, partitions_left: int) -> Steps[Assignment]:
    for given, noun in ((topic.partition_count, "partitions"), (topic.replication_factor, "replicas")):
        if given != USE_DEFAULT:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"an assignment by hand leaves the number of {noun} at -1"
            )
    _refuse_too_many(len(topic.assignments), partitions_left)
    assignment: Assignment = {}
    factor = None
    sound: set[tuple[BrokerId, ...]] = set()
    pace = Pace(PARTITIONS_PER_STEP)
    for number, replicas in topic.assignments:
        if pace.is_over():
            yield
        fault = None if replicas in sound else fault_in_replicas(replicas, image.brokers, factor)
        if number in assignment:
            fault = "another assignment before this one"
        if fault is not None:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {number} has {fault}")
        assignment[number] = replicas
        factor = len(replicas)
        sound.add(replicas)
    if sorted(assignment) != list(range(len(assignment))):
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions are numbered from 0 without gaps")
    return dict(sorted(assignment.items()))


def _refuse_too_many(count: int, partitions_left: int) -> None:
    if count > partitions_left:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"one request makes at most {PARTITIONS_PER_REQUEST_MAX} partitions; this topic asks for {count}",
        )
