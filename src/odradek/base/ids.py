"""The ids that every layer shares."""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias
from uuid import UUID

BrokerId: TypeAlias = int
LeaderEpoch: TypeAlias = int
Offset: TypeAlias = int
ProducerId: TypeAlias = int
TopicId: TypeAlias = UUID

NO_BROKER: BrokerId = -1
NO_EPOCH: LeaderEpoch = -1
NO_BROKER_EPOCH = -1
NO_OFFSET: Offset = -1
NO_PRODUCER_ID: ProducerId = -1
NO_TOPIC_ID: TopicId = UUID(int=0)


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """Render as Kafka names the partition's folder: ``topic-3``."""
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of each topic's partitions, everything sorted."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return {topic: sorted(topics[topic]) for topic in sorted(topics)}
