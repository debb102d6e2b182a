"""How many bytes of partitions a broker has on disk (DescribeLogDirs)."""

from collections import defaultdict
from collections.abc import Iterable

from odradek.base.ids import TopicPartition
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


def sizes_on(connection: BrokerConnection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The bytes of those of the partitions that the broker has; nothing from a broker that does not tell."""
    if not connection.serves(DescribeLogDirsRequest):
        return {}
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        by_topic[topic].append(number)
    asked = [DescribableLogDirTopic(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]
    answer = connection.ask(DescribeLogDirsRequest(topics=asked), DescribeLogDirsResponse)
    return {
        TopicPartition(topic.name, one.partition_index): one.partition_size
        for directory in answer.results
        for topic in directory.topics
        for one in topic.partitions
        if not one.is_future_key
    }
