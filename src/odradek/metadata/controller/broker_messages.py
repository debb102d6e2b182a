"""Who is to be told what: gathers the consequences of decisions into few messages.

While a decision is carried out, everything that brokers must hear is noted here; `take` then makes at most
one LeaderAndIsr, one UpdateMetadata and one StopReplica per broker, in that order, from what the image
says at that moment. A broker that is not live is told nothing: it learns all when it registers.
"""

from odradek.base.ids import NO_EPOCH, BrokerId, TopicPartition
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.image import BrokerImage, ClusterImage, PartitionImage
from odradek.metadata.messages import (
    BrokerMessage,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
    TopicStates,
    UpdateMetadata,
)


class BrokerMessages:
    """What has been noted since the last `take`. Orders are those of noting, so runs repeat exactly."""

    __slots__ = ("_gone_topics", "_leader_and_isr", "_stops", "_updates", "_updates_everyone")

    def __init__(self) -> None:
        # By broker, the partitions to lead or follow, and whether each is new.
        self._leader_and_isr: dict[BrokerId, dict[TopicPartition, bool]] = {}
        # By broker, the partitions whose facts it must learn (the values mean nothing).
        self._updates: dict[BrokerId, dict[TopicPartition, None]] = {}
        # Whether every live broker hears of the live brokers, even without partitions.
        self._updates_everyone = False
        # Topics that everyone is to forget.
        self._gone_topics: dict[str, None] = {}
        # By broker, the replicas to stop, and whether to delete each.
        self._stops: dict[BrokerId, dict[TopicPartition, StopReplicaPartition]] = {}

    def partition_changed(
        self, image: ClusterImage, topic_partition: TopicPartition, *, is_new: bool = False
    ) -> None:
        """Tell the replicas to take their roles, and everyone the facts."""
        partition = image.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not known"
        for replica in partition.replicas:
            self._leader_and_isr.setdefault(replica, {})[topic_partition] = is_new
        for broker_id in image.brokers:
            self._updates.setdefault(broker_id, {})[topic_partition] = None

    def isr_known(self, image: ClusterImage, topic_partition: TopicPartition) -> None:
        """Tell everyone the facts of a partition whose leader already acts on them."""
        for broker_id in image.brokers:
            self._updates.setdefault(broker_id, {})[topic_partition] = None

    def broker_came(self, image: ClusterImage, broker_id: BrokerId) -> None:
        """Tell a new broker everything, and everyone else of it."""
        self._updates_everyone = True
        told = self._updates.setdefault(broker_id, {})
        for topic in image.live_topics():
            for number, partition in topic.partitions.items():
                told[TopicPartition(topic.name, number)] = None
                if broker_id in partition.replicas:
                    roles = self._leader_and_isr.setdefault(broker_id, {})
                    roles.setdefault(TopicPartition(topic.name, number), False)

    def brokers_changed(self) -> None:
        """Tell everyone which brokers are live."""
        self._updates_everyone = True

    def topic_gone(self, name: str) -> None:
        """Tell everyone to forget a topic."""
        self._updates_everyone = True
        self._gone_topics[name] = None

    def stop(self, replica: Replica, partition: PartitionImage | None, *, delete: bool) -> None:
        """Tell a broker to hold a replica no longer."""
        epoch = NO_EPOCH if partition is None else partition.leader_epoch
        stops = self._stops.setdefault(replica.broker_id, {})
        stops[replica.topic_partition] = StopReplicaPartition(replica.topic_partition, epoch, delete)

    def take(self, image: ClusterImage) -> list[tuple[BrokerId, BrokerMessage]]:
        """Everything noted, as messages to live brokers; afterwards nothing is noted."""
        messages: list[tuple[BrokerId, BrokerMessage]] = []
        for broker in image.brokers.values():
            roles = self._leader_and_isr.get(broker.broker_id)
            if roles:
                messages.append((broker.broker_id, _leader_and_isr(image, broker, roles)))
        for broker in image.brokers.values():
            told = self._updates.get(broker.broker_id)
            if told or self._updates_everyone:
                update = _update_metadata(image, broker, told or {}, tuple(self._gone_topics))
                messages.append((broker.broker_id, update))
        for broker in image.brokers.values():
            stops = self._stops.get(broker.broker_id)
            if stops:
                stop = StopReplica(
                    image.controller_id, image.controller_epoch, broker.epoch, tuple(stops.values())
                )
                messages.append((broker.broker_id, stop))
        self._leader_and_isr.clear()
        self._updates.clear()
        self._updates_everyone = False
        self._gone_topics.clear()
        self._stops.clear()
        return messages


def _leader_and_isr(
    image: ClusterImage, broker: BrokerImage, roles: dict[TopicPartition, bool]
) -> LeaderAndIsr:
    partitions: list[LeaderAndIsrPartition] = []
    leaders: dict[BrokerId, BrokerImage] = {}
    for topic_partition, is_new in roles.items():
        topic = image.topic(topic_partition.topic)
        if topic is None:
            continue
        state = topic.partitions[topic_partition.partition]
        partitions.append(LeaderAndIsrPartition(topic_partition, topic.topic_id, state, is_new))
        if state.leader in image.brokers:
            leaders[state.leader] = image.brokers[state.leader]
    return LeaderAndIsr(
        image.controller_id, image.controller_epoch, broker.epoch, tuple(partitions), tuple(leaders.values())
    )


def _update_metadata(
    image: ClusterImage,
    broker: BrokerImage,
    told: dict[TopicPartition, None],
    gone_topics: tuple[str, ...],
) -> UpdateMetadata:
    by_topic: dict[str, dict[int, PartitionImage]] = {}
    for topic_partition in told:
        state = image.partition(topic_partition)
        if state is not None:
            by_topic.setdefault(topic_partition.topic, {})[topic_partition.partition] = state
    topics = tuple(
        TopicStates(name, image.topics[name].topic_id, partitions) for name, partitions in by_topic.items()
    )
    return UpdateMetadata(
        image.controller_id,
        image.controller_epoch,
        broker.epoch,
        tuple(image.brokers.values()),
        topics,
        gone_topics,
    )
