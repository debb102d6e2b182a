"""Counts requests, bytes and errors of replication (R8); the server exports them and computes rates.

The counters are plain integers that only rise, so a hot path pays one addition. Totals are sums over the
topics, computed when they are read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition

EXPECTED_ERRORS: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""Errors caused by clients or by a change of leaders; all other errors are failures of the broker."""


@dataclass(slots=True)
class TopicMeter:
    """The counts of one topic's partitions on this broker since it started."""

    produce_requests: int = 0
    """Requested appends, one per partition of a request."""
    fetch_requests: int = 0
    """Requested reads, one per partition of a request; the second read of a parked fetch is not counted."""
    failed_produce_requests: int = 0
    failed_fetch_requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    """Bytes sent to consumers."""
    replication_bytes_out: int = 0
    """Bytes sent to followers."""
    messages_in: int = 0
    """The sum of (last offset - first offset + 1)."""

    def add(self, other: "TopicMeter") -> None:
        """Add another's counts to these."""
        self.produce_requests += other.produce_requests
        self.fetch_requests += other.fetch_requests
        self.failed_produce_requests += other.failed_produce_requests
        self.failed_fetch_requests += other.failed_fetch_requests
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.replication_bytes_out += other.replication_bytes_out
        self.messages_in += other.messages_in

    def note_produce_error(self, error_code: ErrorCode) -> None:
        """Count a failed append, unless its error is an expected one."""
        if error_code not in EXPECTED_ERRORS:
            self.failed_produce_requests += 1

    def note_fetch_error(self, error_code: ErrorCode) -> None:
        """Count a failed read, unless its error is an expected one."""
        if error_code not in EXPECTED_ERRORS:
            self.failed_fetch_requests += 1


class Meters:
    """All counts of one broker. Only hosted topics are counted, so a name in a request adds no entry."""

    __slots__ = (
        "_topics",
        "consumer_fetch_expirations",
        "follower_fetch_expirations",
        "isr_expansions",
        "isr_shrinks",
        "isr_update_failures",
        "produce_expirations",
    )

    def __init__(self) -> None:
        self._topics: dict[str, TopicMeter] = {}
        self.isr_shrinks = 0
        """ISRs written with fewer members, one for each partition and write."""
        self.isr_expansions = 0
        self.isr_update_failures = 0
        """ISR changes that were decided and not written: another write came first, or the store failed."""
        self.produce_expirations: dict[TopicPartition, int] = {}
        """Partitions that were still pending when their produce expired (P4)."""
        self.consumer_fetch_expirations = 0
        self.follower_fetch_expirations = 0

    def of_topic(self, topic: str) -> TopicMeter:
        """The counts of a topic hosted here, made on first use."""
        meter = self._topics.get(topic)
        if meter is None:
            meter = self._topics[topic] = TopicMeter()
        return meter

    def topics(self) -> Iterable[tuple[str, TopicMeter]]:
        """All topics counted so far, with their counts."""
        return self._topics.items()

    def forget_topic(self, topic: str) -> None:
        """Drop the counts of a topic that this broker no longer hosts."""
        self._topics.pop(topic, None)
        for topic_partition in [known for known in self.produce_expirations if known.topic == topic]:
            del self.produce_expirations[topic_partition]

    def note_produce_expiration(self, topic_partition: TopicPartition) -> None:
        """Count a produce that expired while this partition was pending."""
        self.produce_expirations[topic_partition] = self.produce_expirations.get(topic_partition, 0) + 1

    def note_fetch_expiration(self, *, from_follower: bool) -> None:
        """Count a fetch that was answered at its deadline."""
        if from_follower:
            self.follower_fetch_expirations += 1
        else:
            self.consumer_fetch_expirations += 1

    def total(self) -> TopicMeter:
        """The counts over all topics."""
        total = TopicMeter()
        for meter in self._topics.values():
            total.add(meter)
        return total
