"""The interface of all admin clients in the suite.

A refusal raises the same Refused as in a client.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


class ConfigSource(enum.IntEnum):
    """The source of a setting's value, with the protocol's numbers."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as DescribeConfigs returns it."""

    value: str | None
    source: ConfigSource
    read_only: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition as Metadata returns it."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster as the client sees it."""

    cluster_id: str
    controller: int
    brokers: Mapping[int, tuple[str, int]]  # id to host and port


class Admin(ABC):
    """One admin client, pointed at one broker. Every method raises Refused when the broker refuses."""

    name: ClassVar[str]
    # Whether it speaks IncrementalAlterConfigs (KIP-339); the others only replace all settings at once.
    is_incremental: ClassVar[bool] = True
    # Whether settings that AlterConfigs omits return to their default; some clients send the current values.
    replaces_settings: ClassVar[bool] = True

    def __init__(self, bootstrap: str, replication_factor: int = 1) -> None:
        self.bootstrap = bootstrap
        self._replication_factor = replication_factor  # of topics for which no other is asked

    @abstractmethod
    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int | None = None,
        settings: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """CreateTopics of one topic."""

    @abstractmethod
    def delete_topic(self, topic: str) -> None:
        """DeleteTopics of one topic."""

    @abstractmethod
    def topics(self) -> set[str]:
        """The names of all topics."""

    @abstractmethod
    def partitions(self, topic: str) -> dict[int, Partition]:
        """The partitions of a topic by number."""

    @abstractmethod
    def add_partitions(self, topic: str, total: int) -> None:
        """CreatePartitions up to `total`."""

    @abstractmethod
    def topic_settings(self, topic: str) -> dict[str, Setting]:
        """DescribeConfigs of a topic: all settings."""

    @abstractmethod
    def broker_settings(self, broker: int) -> dict[str, Setting]:
        """DescribeConfigs of a broker: all settings."""

    @abstractmethod
    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """DeleteRecords before an offset (-1: all); returns the new first offset."""

    @abstractmethod
    def cluster(self) -> Cluster:
        """DescribeCluster or Metadata."""

    def change_settings(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """IncrementalAlterConfigs of a topic: set these; a value of None returns a setting to its default."""
        raise NotImplementedError(self.name)

    def replace_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """AlterConfigs of a topic: set these, and all others to their defaults."""
        raise NotImplementedError(self.name)
