"""DeleteTopics, decided: a deletion begins with a mark in the store and ends with the topic's nodes.

    deletion is switched off                  TOPIC_DELETION_DISABLED
    named twice, or by name and id, or by neither   INVALID_REQUEST
    no topic of that name                     UNKNOWN_TOPIC_OR_PARTITION
    no topic of that id                       UNKNOWN_TOPIC_ID

Between mark and end the brokers delete the replicas (`replica_states`). The mark survives controllers: the
next one takes the deletion up. Until the end the name is taken.
"""

from collections.abc import Iterator

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Pace, counted
from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from odradek.metadata import paths
from odradek.metadata.controller.decision import Decision, Decisions
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.controller.requests import DeleteTopics, TopicOutcome, TopicToDelete
from odradek.metadata.image import ClusterImage, TopicDeletionBegan, TopicImage
from odradek.metadata.store import Create, Delete, WriteOperation


def decide_deletion(
    image: ClusterImage, request: DeleteTopics, *, deletion_enabled: bool
) -> Decisions[TopicOutcome]:
    """One decision per topic; a topic named twice has one decision."""
    times_named = yield from counted(_name_meant(image, asked) for asked in request.topics)
    named: set[TopicToDelete] = set()
    pace = Pace()
    for asked in request.topics:
        if asked in named:
            if pace.is_over():
                yield None
            continue
        named.add(asked)
        try:
            if not deletion_enabled:
                raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
            if times_named[_name_meant(image, asked)] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the topic is named more than once")
            topic = _topic_meant(image, asked)
        except ApiError as refusal:
            outcome = TopicOutcome(asked.name, refusal.code, refusal.message, asked.topic_id)
            yield Decision(outcome)
            continue
        yield Decision(
            TopicOutcome(topic.name, topic_id=topic.topic_id),
            (Create(paths.topic_deletion(topic.name)),),
            (TopicDeletionBegan(topic.name),),
        )


def replicas_of(topic: TopicImage) -> list[Replica]:
    """Every replica of a topic, by partition, then in the order of assignment."""
    return [
        Replica(TopicPartition(topic.name, number), broker_id)
        for number, state in topic.partitions.items()
        for broker_id in state.replicas
    ]


def partition_removals(topic: TopicImage) -> Iterator[WriteOperation]:
    """The nodes of a topic's partitions, a pair for each, children first."""
    for number, state in topic.partitions.items():
        if state.state_version >= 0:
            yield Delete(paths.partition_state(topic.name, number))
            yield Delete(paths.partition(topic.name, number))


def topic_removals(topic: TopicImage, *, has_config: bool) -> tuple[WriteOperation, ...]:
    """The end of a deletion, behind `partition_removals`: the topic's own nodes, its mark last."""
    config = (Delete(paths.topic_config(topic.name)),) if has_config else ()
    return (
        Delete(paths.partitions(topic.name)),
        Delete(paths.topic(topic.name)),
        *config,
        Delete(paths.topic_deletion(topic.name)),
    )


def _name_meant(image: ClusterImage, asked: TopicToDelete) -> str:
    """What two entries have in common that mean one topic, be it by name or by id."""
    return asked.name or image.topic_names.get(asked.topic_id, str(asked.topic_id))


def _topic_meant(image: ClusterImage, asked: TopicToDelete) -> TopicImage:
    if (asked.name is None) == (asked.topic_id == NO_TOPIC_ID):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a topic is named either by its name or by its id")
    if asked.name is not None:
        topic = image.topic(asked.name)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name}")
        return topic
    topic = image.topic_by_id(asked.topic_id)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with the id {asked.topic_id}")
    return topic
