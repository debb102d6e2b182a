"""The partitions that this broker hosts, and the lookup at the start of every operation (P3 case A, R6, R9).

A lookup returns the partition, or the error code that says why it cannot serve; without an error it costs one
dict access. The errors, in the order in which they are checked:

    its log directory has failed                        KAFKA_STORAGE_ERROR
    not here, but somewhere in the cluster              NOT_LEADER_OR_FOLLOWER
    nowhere                                             UNKNOWN_TOPIC_OR_PARTITION
    the request's leader epoch is older than this one's FENCED_LEADER_EPOCH
    the request's leader epoch is newer than this one's UNKNOWN_LEADER_EPOCH
    here, led elsewhere, and only the leader may serve  NOT_LEADER_OR_FOLLOWER
"""

from collections.abc import Iterable

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH, NO_TOPIC_ID, LeaderEpoch, TopicId, TopicPartition
from odradek.replication.partition import Partition
from odradek.replication.replication_ports import ClusterView, Logs


class HostedPartitions:
    """The partitions by name. Those in a failed directory are not among them."""

    __slots__ = ("_cluster", "_logs", "_online", "_topic_ids", "_topics")

    def __init__(self, logs: Logs, cluster: ClusterView) -> None:
        self._logs = logs
        self._cluster = cluster
        self._online: dict[TopicPartition, Partition] = {}
        """Partitions whose logs work, in the order in which they came."""
        self._topics: dict[str, int] = {}
        """The number of online partitions of each topic; topics without any are absent."""
        self._topic_ids: dict[TopicId, tuple[str, int]] = {}
        """The name and the number of online partitions of each topic with an id; at least one partition."""

    def get(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition in any role; None if it is not hosted here or its log is offline."""
        return self._online.get(topic_partition)

    def all(self) -> Iterable[Partition]:
        """All of them; take a copy before anything that may add or remove one."""
        return self._online.values()

    def add(self, partition: Partition) -> None:
        """Host a partition that was not here."""
        assert partition.topic_partition not in self._online, f"{partition.topic_partition} is here already"
        self._online[partition.topic_partition] = partition
        topic = partition.topic_partition.topic
        self._topics[topic] = self._topics.get(topic, 0) + 1
        if partition.topic_id != NO_TOPIC_ID:
            _, number = self._topic_ids.get(partition.topic_id, (topic, 0))
            self._topic_ids[partition.topic_id] = (topic, number + 1)

    def remove(self, topic_partition: TopicPartition) -> None:
        """Stop hosting a partition: it was stopped or deleted, or its directory failed."""
        partition = self._online.pop(topic_partition, None)
        if partition is None:
            return
        topic = topic_partition.topic
        self._topics[topic] -= 1
        if not self._topics[topic]:
            del self._topics[topic]
        if partition.topic_id != NO_TOPIC_ID:
            _, number = self._topic_ids.pop(partition.topic_id)
            if number > 1:
                self._topic_ids[partition.topic_id] = (topic, number - 1)

    def has_topic(self, topic: str) -> bool:
        """Whether a partition of that topic is among them."""
        return topic in self._topics

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic with that id; None if no partition of it is among them."""
        found = self._topic_ids.get(topic_id)
        return None if found is None else found[0]

    def replica(
        self,
        topic_partition: TopicPartition,
        *,
        leader_only: bool = True,
        current_leader_epoch: LeaderEpoch = NO_EPOCH,
    ) -> Partition | ErrorCode:
        """Returns the partition, or why it cannot serve a request with that leader epoch (-1: any)."""
        partition = self._online.get(topic_partition)
        if partition is None:
            return self._absence(topic_partition)
        if current_leader_epoch not in (NO_EPOCH, partition.leader_epoch):
            if current_leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if leader_only and partition.leadership is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return partition

    def _absence(self, topic_partition: TopicPartition) -> ErrorCode:
        if self._logs.is_offline(topic_partition):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._cluster.partition(topic_partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
