"""Apache Kafka's own command-line tools, run on any broker."""

import subprocess
from collections.abc import Sequence
from typing import ClassVar

from peers.jars import class_path
from peers.tool_server import can_serve, served

TOOL_TIMEOUT_S = 120.0

# A tool runs for a second: compile little and keep the heap small.
SHORT_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M")
LONG_JVM = ("-Xmx512M",)
QUIET = "-Dlog4j2.level=ERROR"


class ToolFailed(Exception):
    """A tool exited with a code other than 0; the message is what it printed."""


class KafkaTools:
    """The tools, for one broker. Every method returns the tool's output, or raises ToolFailed."""

    MAIN_CLASSES: ClassVar[dict[str, str]] = {
        "configs": "kafka.admin.ConfigCommand",
        "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "console-producer": "org.apache.kafka.tools.ConsoleProducer",
        "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "consumer-performance": "org.apache.kafka.tools.ConsumerPerformance",
        "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
        "dump-log": "org.apache.kafka.tools.DumpLogSegments",
        "features": "org.apache.kafka.tools.FeatureCommand",
        "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
        "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
        "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
        "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
        "producer-performance": "org.apache.kafka.tools.ProducerPerformance",
        "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
        "topics": "org.apache.kafka.tools.TopicCommand",
        "transactions": "org.apache.kafka.tools.TransactionsCommand",
        "api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    }

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @staticmethod
    def java(main_class: str, *arguments: str, flags: Sequence[str] = SHORT_JVM) -> list[str]:
        """The command that runs a class of Apache Kafka. Raises JarsMissing."""
        return ["java", *flags, QUIET, "-cp", class_path(), main_class, *arguments]

    def run(self, tool: str, *arguments: str, stdin: str = "", long: bool = False) -> str:
        """Run a tool by the name of its script, without `kafka-`, and without adding the broker's address.

        `long` gives it the full compiler, for tools that measure, and a JVM of its own.
        """
        main_class = self.MAIN_CLASSES[tool]
        if long or not can_serve():
            command = self.java(main_class, *arguments, flags=LONG_JVM if long else SHORT_JVM)
            done = subprocess.run(
                command, input=stdin, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S
            )
        else:
            flags = (*SHORT_JVM, QUIET)
            done = served(flags, class_path(), main_class, arguments, stdin, TOOL_TIMEOUT_S)
        if done.returncode != 0:
            raise ToolFailed(f"{tool} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def on_broker(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """Run a tool on the broker."""
        return self.run(tool, "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)

    def replica_verification(self, topic: str, *, seconds: int) -> str:
        """Let the tool compare the replicas of a topic for some time, as it ends by a signal alone.

        Returns its reports, of one a second.
        """
        command = self.java(self.MAIN_CLASSES["replica-verification"], "--broker-list", self.bootstrap)
        command += ["--topics-include", topic, "--report-interval-ms", "1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:
            try:
                return tool.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                tool.terminate()
                return tool.communicate(timeout=TOOL_TIMEOUT_S)[0]

    def producer_performance(
        self,
        topic: str,
        *,
        record_count: int,
        record_bytes: int,
        properties: Sequence[str],
        throughput: int = -1,
    ) -> str:
        """Run ProducerPerformance as fast as it goes; `properties` are `key=value`. Returns its report."""
        return self.run(
            "producer-performance",
            "--topic",
            topic,
            "--num-records",
            str(record_count),
            "--record-size",
            str(record_bytes),
            "--throughput",
            "-1",
            "--producer-props",
            f"bootstrap.servers={self.bootstrap}",
            *properties,
            long=True,
        )
