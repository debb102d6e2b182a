"""The logs that are hosted here, by partition and by topic."""

from collections.abc import Iterable

from odradek.base.ids import TopicPartition
from odradek.storage.log import Log


class HostedLogs:
    """All of them, those in a directory that is offline included; changed by the log manager only."""

    __slots__ = ("_by_topic", "_logs")

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, Log] = {}
        self._by_topic: dict[str, dict[TopicPartition, Log]] = {}
        """The same logs; no topic is without one."""

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log, also when it is offline."""
        return self._logs.get(topic_partition)

    def all(self) -> Iterable[Log]:
        """In the order in which they came; take a copy before anything that may add or remove one."""
        return self._logs.values()

    def of_topic(self, topic: str) -> Iterable[Log]:
        """The logs of a topic."""
        return self._by_topic.get(topic, {}).values()

    def add(self, log: Log) -> None:
        """Host a log; its directory counts one more."""
        topic_partition = log.topic_partition
        self._logs[topic_partition] = log
        self._by_topic.setdefault(topic_partition.topic, {})[topic_partition] = log
        log.place.log_count += 1

    def remove(self, topic_partition: TopicPartition) -> Log | None:
        """Host it no longer; returns the log, or None when there was none."""
        log = self._logs.pop(topic_partition, None)
        if log is not None:
            of_topic = self._by_topic[topic_partition.topic]
            del of_topic[topic_partition]
            if not of_topic:
                del self._by_topic[topic_partition.topic]
            log.place.log_count -= 1
        return log
