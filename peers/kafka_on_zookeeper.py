"""Brokers around a ZooKeeper: Apache Kafka 3.9, the last release that has them, and Odradek.

Both have a listener for clients, and one named BROKERS for each other, so that they may be in one cluster.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from peers.jars import class_path
from peers.kafka import HEAP, JVM_FLAGS, LOGGING
from peers.odradek import OdradekBroker
from peers.process import HOST, BrokerProcess, free_port, write_properties


def _settings(broker: BrokerProcess, broker_id: int, zookeeper: str) -> dict[str, str]:
    return {
        "broker.id": str(broker_id),
        "zookeeper.connect": zookeeper,
        "listeners": f"PLAINTEXT://{broker.bootstrap},BROKERS://{HOST}:{free_port()}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "offsets.topic.num.partitions": "3",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }


class KafkaOnZooKeeper(BrokerProcess):
    """Apache Kafka 3.9, without KRaft. Raises JarsMissing when it cannot be fetched."""

    name: ClassVar[str] = "kafka-3.9"
    release: ClassVar[str] = "3.9.1"

    def __init__(
        self, directory: Path, broker_id: int, zookeeper: str, settings: Mapping[str, str] | None = None
    ) -> None:
        """`zookeeper` is an address with a path."""
        super().__init__(directory)
        self._class_path = class_path(self.release)
        own = {"log.dirs": str(self.data_directory)}
        self.settings = _settings(self, broker_id, zookeeper) | own | dict(settings or {})

    @classmethod
    def version(cls) -> str:
        """The name and version for reports."""
        return f"Apache Kafka {cls.release} with ZooKeeper"

    def prepare(self) -> None:
        """Write server.properties."""
        write_properties(self.directory / "server.properties", self.settings)
        (self.directory / "log4j2.properties").write_text(LOGGING)

    def command(self) -> list[str]:
        """The JVM with Kafka's main class."""
        logging = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}"
        properties = str(self.directory / "server.properties")
        return ["java", *HEAP, *JVM_FLAGS, logging, "-cp", self._class_path, "kafka.Kafka", properties]


class OdradekOnZooKeeper(OdradekBroker):
    """Odradek in the same place."""

    name: ClassVar[str] = "odradek-on-zookeeper"

    def __init__(
        self, directory: Path, broker_id: int, zookeeper: str, settings: Mapping[str, str] | None = None
    ) -> None:
        """`zookeeper` is an address with a path."""
        super().__init__(directory)
        self.settings = _settings(self, broker_id, zookeeper) | dict(settings or {})
