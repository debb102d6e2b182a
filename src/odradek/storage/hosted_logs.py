"""The logs that are hosted here, by partition and by topic, and the copies that are to replace some of them.

Invariant: a copy is of a hosted log, and lies in another log directory than that log.
"""

from collections.abc import Iterable

from odradek.base.ids import TopicPartition
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory


class HostedLogs:
    """All logs, including those of offline directories; only the log manager changes it."""

    __slots__ = ("_by_topic", "_copies", "_logs")

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, Log] = {}
        self._by_topic: dict[str, dict[TopicPartition, Log]] = {}
        """The same logs by topic; each topic has at least one."""
        self._copies: dict[TopicPartition, Log] = {}
        """The copies of logs that are moved to another directory (KIP-113)."""

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

    def replace(self, log: Log) -> Log:
        """Put a log in the place of the one with its name; returns that one."""
        replaced = self._logs[log.topic_partition]
        self._logs[log.topic_partition] = log
        self._by_topic[log.topic_partition.topic][log.topic_partition] = log
        replaced.place.log_count -= 1
        log.place.log_count += 1
        return replaced

    def copy_of(self, topic_partition: TopicPartition) -> Log | None:
        """The copy that is to replace a log, even if it is offline, or None."""
        return self._copies.get(topic_partition)

    def copies(self) -> Iterable[Log]:
        """All copies; make a list of them before any call that may add or remove one."""
        return self._copies.values()

    def is_in(self, topic_partition: TopicPartition, place: LogDirectory) -> bool:
        """Whether a directory has the log of a partition, or its copy."""
        found = (self._logs.get(topic_partition), self._copies.get(topic_partition))
        return any(log is not None and log.place is place for log in found)

    def add_copy(self, copy: Log) -> None:
        """Add a copy, and count it in its directory: it will be a log there."""
        assert copy.topic_partition not in self._copies, f"{copy.topic_partition} has a copy already"
        self._copies[copy.topic_partition] = copy
        copy.place.log_count += 1

    def remove_copy(self, topic_partition: TopicPartition) -> Log | None:
        """Remove a copy; returns it, or None if there was none."""
        copy = self._copies.pop(topic_partition, None)
        if copy is not None:
            copy.place.log_count -= 1
        return copy
