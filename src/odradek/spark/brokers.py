"""How the brokers of one cluster are reached, and how topics that a writer of ours writes are read there."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.administering import Admin, administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.cluster import describe_cluster
from odradek.client.core.admin.configs import describe_configs
from odradek.client.protection import read_protection
from odradek.spark.batch_planning import Planning, with_attempts
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.source_options import SourceOptions, parse_options

_POLICY: Final = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers of a cluster, and as whom they are asked."""

    bootstrap_servers: str
    client_id: str
    protection: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Kafka's settings of TLS and SASL, by their names; may hold secrets, which are not shown."""

    def reading(self, topic: str) -> SourceOptions:
        """How what is committed in a topic is read, with its headers."""
        return parse_options(
            {
                "kafka.bootstrap.servers": self.bootstrap_servers,
                "kafka.client.id": self.client_id,
                **{f"kafka.{name}": value for name, value in self.protection.items()},
                "subscribe": topic,
                "kafka.isolation.level": "read_committed",
                "failOnDataLoss": "false",
                "includeHeaders": "true",
            }
        )

    def admin(self) -> AbstractContextManager[Admin]:
        """An admin client. Raises ConnectionFailed."""
        security = read_protection(dict(self.protection))
        return administering(ClientConfig(self.bootstrap_servers, security=security))

    def cluster_id(self) -> str:
        """The id of their cluster. Raises ConnectionFailed."""
        with self.admin() as admin:
            return admin.carry_out(describe_cluster()).cluster_id

    def require_topic(self, topic: str, setting: str) -> None:
        """Raises SettingError if there is no such topic: its partitions are for the user to choose."""
        options = self.reading(topic)
        if not with_attempts(options, lambda: Planning(options).partitions(may_lack=True)):
            raise SettingError(
                f"there is no topic {topic}, which {setting} names: create it with as many partitions as it"
                " shall have"
            )

    def is_compacted(self, topic: str) -> bool:
        """Whether a record is lost once there is a newer one of its key. Raises OdradekError."""
        with self.admin() as admin:
            entries = admin.carry_out(describe_configs("topic", topic))
        return any("compact" in str(one.value) for one in entries if one.name == _POLICY)


def committed_ranges(options: SourceOptions) -> list[OffsetRange]:
    """All that is committed in the partitions of the topic; empty if there is no such topic."""

    def ask() -> list[OffsetRange]:
        planning = Planning(options)
        partitions: list[TopicPartition] = planning.partitions(may_lack=True)
        ends = planning.list_offsets(LATEST, partitions)
        starts = planning.list_offsets(EARLIEST, partitions)
        return [OffsetRange(one, starts[one], max(starts[one], ends[one])) for one in sorted(partitions)]

    return with_attempts(options, ask)
