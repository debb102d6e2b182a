"""What the records of KRaft's metadata log add up to: topics, partitions, settings, producer ids."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from odradek.base.ids import BrokerId, LeaderEpoch
from odradek.metadata.kraft.records import MetadataRecord
from odradek.wire.messages.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)

_NO_LEADER_CHANGE = -2
TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32


@dataclass(slots=True)
class KraftPartition:
    """One partition as the quorum knows it."""

    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    eligible: tuple[BrokerId, ...]
    """Those outside the ISR that have every acknowledged record (KIP-966), as after a clean stop."""
    leader_epoch: LeaderEpoch

    def is_complete_on(self, broker: BrokerId) -> bool:
        """Whether a broker is known to have every acknowledged record."""
        return broker in self.isr or broker in self.eligible


@dataclass(slots=True)
class KraftTopic:
    """One topic."""

    name: str
    topic_id: UUID
    partitions: dict[int, KraftPartition] = field(default_factory=dict)


@dataclass(slots=True)
class KraftImage:
    """The metadata of a cluster after some records."""

    topics: dict[UUID, KraftTopic] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    """Settings by resource: its type and its name."""
    next_producer_id: int = 0
    """The first producer id that was never given out."""
    others: Counter[int] = field(default_factory=Counter)
    """How many records of kinds that are not read, by API key."""

    def apply(self, record: MetadataRecord) -> None:
        """Change the image by one record; one about an unknown topic has no effect."""
        match record:
            case int():
                self.others[record] += 1
            case TopicRecord():
                self.topics[record.topic_id] = KraftTopic(record.name, record.topic_id)
            case RemoveTopicRecord():
                removed = self.topics.pop(record.topic_id, None)
                if removed is not None:
                    self.configs.pop((TOPIC_RESOURCE, removed.name), None)
            case PartitionRecord():
                if record.topic_id in self.topics:
                    self.topics[record.topic_id].partitions[record.partition_id] = KraftPartition(
                        tuple(record.replicas),
                        tuple(record.isr),
                        tuple(record.eligible_leader_replicas or ()),
                        record.leader_epoch,
                    )
            case PartitionChangeRecord():
                self._change(record)
            case ConfigRecord():
                settings = self.configs.setdefault((record.resource_type, record.resource_name), {})
                if record.value is None:
                    settings.pop(record.name, None)
                else:
                    settings[record.name] = record.value
            case ProducerIdsRecord():
                self.next_producer_id = max(self.next_producer_id, record.next_producer_id)

    def _change(self, record: PartitionChangeRecord) -> None:
        topic = self.topics.get(record.topic_id)
        partition = None if topic is None else topic.partitions.get(record.partition_id)
        if partition is None:
            return
        if record.replicas is not None:
            partition.replicas = tuple(record.replicas)
        if record.isr is not None:
            partition.isr = tuple(record.isr)
        if record.eligible_leader_replicas is not None:
            partition.eligible = tuple(record.eligible_leader_replicas)
        if record.leader != _NO_LEADER_CHANGE:
            partition.leader_epoch += 1


def image_of(records: Iterable[MetadataRecord]) -> KraftImage:
    """The image after all of the records."""
    image = KraftImage()
    for record in records:
        image.apply(record)
    return image
