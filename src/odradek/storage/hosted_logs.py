"""The logs that are hosted here, by partition and by topic."""

from collections.abc import Iterable

from odradek.base.ids import TopicPartition
from odradek.storage.log import Log


class HostedLogs:
    """All logs, including those of offline directories; only the log manager changes it."""

    __slots__ = ("_by_topic", "_logs")

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, Log] = {}
        self._by_topic: dict[str, dict[TopicPartition, Log]] = {}
        """The same logs by topic; each topic has at least one."""

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log, even if it is offline, or None."""
        return self._logs.get(topic_partition)

    def all(self) -> Iterable[Log]:
        """All logs in the order they were added; copy it before any call that may add or remove one."""
        return self._logs.values()

    def of_topic(self, topic: str) -> Iterable[Log]:
        """The logs of a topic."""
        return self._by_topic.get(topic, {}).values()

    def topics(self) -> list[str]:
        """The topics that have a log here."""
        return list(self._by_topic)

    def add(self, log: Log) -> None:
        """Add a log, and count it in its directory."""
        topic_partition = log.topic_partition
        self._logs[topic_partition] = log
        self._by_topic.setdefault(topic_partition.topic, {})[topic_partition] = log
        log.place.log_count += 1

    def remove(self, topic_partition: TopicPartition) -> Log | None:
        """Remove a log; returns it, or None if there was none."""
        log = self._logs.pop(topic_partition, None)
        if log is not None:
            of_topic = self._by_topic[topic_partition.topic]
            del of_topic[topic_partition]
            if not of_topic:
                del self._by_topic[topic_partition.topic]
            log.place.log_count -= 1
        return log
