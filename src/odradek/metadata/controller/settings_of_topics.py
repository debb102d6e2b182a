"""The settings of topics that a controller decides by: of the topic, of brokers, or of its broker's file."""

from typing import Final

from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import TOPIC_SETTINGS
from odradek.metadata.image import ClusterImage, PartitionImage

UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"
MIN_ISR: Final = "min.insync.replicas"


class SettingsOfTopics:
    """What holds for each topic now."""

    def __init__(
        self, image: ClusterImage, broker_id: BrokerId, *, unclean_election: bool, min_isr: int
    ) -> None:
        """The broker is the one that the controller is part of: its settings hold for the whole cluster.

        Its file says the last two, for topics about which the store says nothing.
        """
        self._image = image
        self._broker_id = broker_id
        self._unclean_election = unclean_election
        self._min_isr = min_isr

    def allows_unclean(self, topic: str) -> bool:
        """Whether a replica out of sync may lead when no other is left."""
        text = self._override(topic, UNCLEAN_ELECTION)
        return self._unclean_election if text is None else bool(TOPIC_SETTINGS[UNCLEAN_ELECTION].parse(text))

    def min_isr(self, named: TopicPartition, partition: PartitionImage) -> int:
        """How many must be in sync for acks=all: at most all replicas, as for the leader (P3, R7)."""
        text = self._override(named.topic, MIN_ISR)
        least = self._min_isr if text is None else TOPIC_SETTINGS[MIN_ISR].parse(text)
        assert isinstance(least, int), f"{MIN_ISR} is a whole number"
        return min(least, len(partition.replicas))

    def _override(self, topic: str, setting: str) -> str | None:
        """A topic's setting as the store has it, for the topic or for brokers."""
        image = self._image
        layers = (
            image.topic_config(topic),
            image.broker_config(self._broker_id),
            image.default_broker_config,
        )
        return next((overrides[setting] for overrides in layers if setting in overrides), None)
