"""How what is served differs from Apache Kafka 4.3.1: versions, APIs, defaults and bounds of settings.

`compat_page` prints these tables in docs/compat.md. Tests hold them to Kafka's own definitions, so that
nothing differs without a word: `compat/test_message_definitions.py`, `tests/base/settings/test_bounds.py`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

NEWER: Final[Mapping[str, int]] = {"ApiVersions": 5, "DeleteGroups": 3, "TxnOffsetCommit": 6}
"""The highest version of the APIs that are served in versions of Kafka 4.4.0."""

UNSTABLE: Final[Mapping[str, int]] = {"InitProducerId": 6}
"""Versions that Kafka has and offers only if it is told to (`unstable.api.versions.enable`)."""


class Absent(NamedTuple):
    """APIs of Kafka 4.4.0's brokers that this broker does not serve."""

    keys: Mapping[int, str]
    why: str


ABSENT: Final = (
    Absent(
        {
            38: "CreateDelegationToken",
            39: "RenewDelegationToken",
            40: "ExpireDelegationToken",
            41: "DescribeDelegationToken",
        },
        "there are no delegation tokens",
    ),
    Absent(
        {
            64: "UnregisterBroker",
            80: "AddRaftVoter",
            81: "RemoveRaftVoter",
            94: "UnregisterController",
        },
        "there is no KRaft quorum",
    ),
    Absent(
        {71: "GetTelemetrySubscriptions", 72: "PushTelemetry"},
        "the broker collects no metrics of clients (KIP-714)",
    ),
    Absent(
        {
            83: "InitializeShareGroupState",
            84: "ReadShareGroupState",
            85: "WriteShareGroupState",
            86: "DeleteShareGroupState",
            87: "ReadShareGroupStateSummary",
            90: "DescribeShareGroupOffsets",
            91: "AlterShareGroupOffsets",
            92: "DeleteShareGroupOffsets",
        },
        "there are no share groups (KIP-932)",
    ),
    Absent(
        {
            88: "StreamsGroupHeartbeat",
            89: "StreamsGroupDescribe",
            93: "StreamsGroupTopologyDescriptionUpdate",
        },
        "there are no groups of the streams protocol (KIP-1071); Kafka Streams uses the classic protocol",
    ),
)

DEFAULTS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0 for one broker, 3000 for more; in Kafka 3000",
    "listeners": "PLAINTEXT://127.0.0.1:9092, loopback alone; in Kafka PLAINTEXT://:9092",
    "log.dirs": "data, in the working directory; in Kafka /tmp/kafka-logs",
    "node.id": "0, so that a broker starts without a file; in Kafka none",
    "replica.lag.time.max.ms": "10000; in Kafka 30000",
}
"""Defaults that differ, with Kafka's."""

TIGHTER: Final = frozenset(
    {
        *("broker.session.timeout.ms", "connections.max.idle.ms", "default.replication.factor"),
        *("delete.records.purgatory.purge.interval.requests", "fetch.purgatory.purge.interval.requests"),
        *("producer.purgatory.purge.interval.requests", "group.initial.rebalance.delay.ms"),
        *("group.max.session.timeout.ms", "group.min.session.timeout.ms", "offset.metadata.max.bytes"),
        *("log.cleaner.dedupe.buffer.size", "log.cleaner.io.max.bytes.per.second"),
        *("log.flush.interval.ms", "log.flush.scheduler.interval.ms", "log.roll.jitter.ms", "log.roll.ms"),
        *("log.retention.hours", "log.retention.minutes", "log.retention.ms"),
        *("max.connections", "max.connections.per.ip", "offsets.topic.compression.codec"),
        *("replica.fetch.min.bytes", "replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
        *("replica.high.watermark.checkpoint.interval.ms", "replica.socket.timeout.ms"),
        *("socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
        *("socket.receive.buffer.bytes", "socket.send.buffer.bytes"),
    }
)
"""Settings with a bound where Kafka names none, or one with which nothing works."""
