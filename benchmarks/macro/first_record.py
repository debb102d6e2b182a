"""From starting a client's process to its first record through a new group, each broker with its defaults.

Apache Kafka's default is to wait 3 s for more members when a group begins (group.initial.rebalance.delay.ms);
its new protocol does not wait. The client's process is cold; the broker is not, except where a figure says
so.
"""

import itertools
import resource
import statistics
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from confluent_kafka import Producer
from peers import BrokerProcess
from peers.process import HOST

from benchmarks.macro.programs import java_program, python_program
from benchmarks.macro.scenario import Better, Figure, LeftOut, Scenario
from benchmarks.macro.topics import fresh_topic
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

ROUNDS = 5
ROUNDS_QUICK = 1
TIMEOUT_S = 60.0
DEFAULTS = {"kafka": {"group.initial.rebalance.delay.ms": "3000"}}

FIRST_RECORD = Figure("first record", "ms", Better.LOWER, goal=500)
OWN_START = Figure("of which the process's own start", "ms", Better.LOWER)
CLIENT_CPU = Figure("processor time of the client, its end included", "ms", Better.LOWER)
FIRST_GROUP = Figure("first record of a broker's first group ever", "ms", Better.LOWER)

_numbers = itertools.count()


class FirstRecord(Scenario):
    """One client; subclasses say which program it is."""

    figures = (FIRST_RECORD, OWN_START, CLIENT_CPU, FIRST_GROUP)
    protocol: ClassVar[str] = "classic"

    @abstractmethod
    def command(self, *arguments: str) -> list[str]:
        """The command; arguments are bootstrap, topic, group and protocol."""

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Start a broker of the same kind with its defaults, and the client some times after the other."""
        settings = {**broker.settings, **DEFAULTS.get(broker.name, {})}
        with tempfile.TemporaryDirectory() as directory, type(broker)(Path(directory), settings) as other:
            if self.protocol == "consumer":
                _require_new_protocol(other)
            with fresh_topic(other) as topic:
                _write_record(other, topic)
                _, first_group_ms, _ = self._consume(other, topic)
                rounds = [self._consume(other, topic) for _ in range(ROUNDS_QUICK if quick else ROUNDS)]
        ready_ms, record_ms, cpu_ms = zip(*rounds, strict=True)
        return {
            FIRST_RECORD.name: statistics.median(record_ms),
            OWN_START.name: statistics.median(ready_ms),
            CLIENT_CPU.name: statistics.median(cpu_ms),
            FIRST_GROUP.name: first_group_ms,
        }

    def _consume(self, broker: BrokerProcess, topic: str) -> tuple[float, float, float]:
        """Milliseconds from exec to the program's first statement, to its first record, and of processor."""
        command = self.command(broker.bootstrap, topic, f"first-{next(_numbers)}", self.protocol)
        cpu_before_s = _children_cpu_s()
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            ready = process.stdout.readline()
            ready_s = time.perf_counter() - began
            record = process.stdout.readline()
            record_s = time.perf_counter() - began
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        assert (ready, record) == (b"ready\n", b"record\n"), f"{self.name} said {ready!r} and {record!r}"
        return ready_s * 1000, record_s * 1000, (_children_cpu_s() - cpu_before_s) * 1000


def _children_cpu_s() -> float:
    """Processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write_record(broker: BrokerProcess, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"the first record")
    assert producer.flush(TIMEOUT_S) == 0, "the record was not acknowledged"


def _require_new_protocol(broker: BrokerProcess) -> None:
    with BrokerConnection(HOST, broker.port) as connection:
        answer = connection.ask(ApiVersionsRequest("bench", "1"), ApiVersionsResponse)
    if all(api.api_key != ConsumerGroupHeartbeatRequest.API_KEY for api in answer.api_keys):
        raise LeftOut("ConsumerGroupHeartbeat is not served")


class FirstRecordConfluent(FirstRecord):
    """confluent-kafka, which is librdkafka."""

    name = "first-record-confluent"
    title = "A cold process to its first record through a new group: confluent-kafka"

    def command(self, *arguments: str) -> list[str]:
        """See `FirstRecord.command`."""
        return python_program("first_record_confluent", *arguments)


class FirstRecordConfluentNew(FirstRecordConfluent):
    """The same on the new group protocol (KIP-848)."""

    name = "first-record-confluent-new"
    title = "A cold process to its first record through a new group: confluent-kafka, new protocol"
    protocol = "consumer"


class FirstRecordAiokafka(FirstRecord):
    """aiokafka."""

    name = "first-record-aiokafka"
    title = "A cold process to its first record through a new group: aiokafka"

    def command(self, *arguments: str) -> list[str]:
        """See `FirstRecord.command`."""
        return python_program("first_record_aiokafka", *arguments[:3])


class FirstRecordKafkaPython(FirstRecord):
    """kafka-python."""

    name = "first-record-kafka-python"
    title = "A cold process to its first record through a new group: kafka-python"

    def command(self, *arguments: str) -> list[str]:
        """See `FirstRecord.command`."""
        return python_program("first_record_kafka_python", *arguments[:3])


class FirstRecordJava(FirstRecord):
    """kafka-clients on a JVM without flags."""

    name = "first-record-java"
    title = "A cold process to its first record through a new group: Java"

    def command(self, *arguments: str) -> list[str]:
        """See `FirstRecord.command`."""
        return java_program("FirstRecord", *arguments)


class FirstRecordJavaNew(FirstRecordJava):
    """The same on the new group protocol (KIP-848)."""

    name = "first-record-java-new"
    title = "A cold process to its first record through a new group: Java, new protocol"
    protocol = "consumer"
