"""Apache Kafka as one KRaft broker and its own controller, with the JVM flags of Kafka's start script."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from peers.jars import class_path, kafka_version
from peers.process import HOST, BrokerFailed, BrokerProcess, free_port, write_properties

CLUSTER_ID = "odradekPeerCluster0000"
FORMAT_TIMEOUT_S = 60

HEAP = ("-Xmx1G", "-Xms1G")
JVM_FLAGS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)

LOGGING = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{1} - %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""


class KafkaBroker(BrokerProcess):
    """Apache Kafka, in the version of `pom.xml`. Raises JarsMissing when it cannot be fetched."""

    name: ClassVar[str] = "kafka"
    release: ClassVar[str | None] = None
    """A release other than that of `pom.xml`."""
    format_arguments: ClassVar[tuple[str, ...]] = ()
    """More arguments of the tool that formats the storage."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, settings)
        self._controller_port = free_port()

    @classmethod
    def version(cls) -> str:
        """The name and version for reports."""
        return f"Apache Kafka {cls.release or kafka_version()}"

    def prepare(self) -> None:
        """Write server.properties and format the storage, as Kafka demands before a first start."""
        properties = self.directory / "server.properties"
        if properties.exists():
            return
        # The file that means "formatted" to a later call gets its name last: the tool may fail or be killed.
        unformatted = self.directory / "unformatted.properties"
        write_properties(unformatted, self._base_settings() | self.settings)
        (self.directory / "log4j2.properties").write_text(LOGGING)
        arguments = ["format", "--cluster-id", CLUSTER_ID, "--config", str(unformatted), "--ignore-formatted"]
        arguments += self.format_arguments
        done = subprocess.run(
            [
                "java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                class_path(self.release),
                "kafka.tools.StorageTool",
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=FORMAT_TIMEOUT_S,
        )
        if done.returncode != 0:
            raise BrokerFailed(f"Kafka's storage could not be formatted: {done.stdout}{done.stderr}")
        unformatted.rename(properties)

    def command(self) -> list[str]:
        """The JVM with Kafka's main class."""
        logging = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}"
        properties = str(self.directory / "server.properties")
        return [
            "java",
            *HEAP,
            *JVM_FLAGS,
            logging,
            "-cp",
            class_path(self.release),
            "kafka.Kafka",
            properties,
        ]

    def _base_settings(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{HOST}:{self._controller_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.data_directory),
            # One broker cannot hold the three replicas that Kafka's defaults ask for.
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # Kafka waits a second between the assignments of a consumer group (KIP-1263), from 4.3 on.
            "group.consumer.assignment.interval.ms": "0",
        }


class Kafka41Broker(KafkaBroker):
    """Apache Kafka 4.1, for checks that differ between it and the current release."""

    name: ClassVar[str] = "kafka-4.1"
    release: ClassVar[str | None] = "4.1.2"
