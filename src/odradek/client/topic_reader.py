"""Reads partitions of one topic from their starts to their ends; a subclass says what becomes of records.

It blocks and has no thread: a test looks at a topic in a quarter of the time that a consumer would take. What
comes is decoded by the consumer's core. A position that is gone goes on at the log's start, and a leader that
cannot be reached is looked up again for `UNAVAILABLE_MAX_S`.
"""

import time
from collections.abc import Collection, Mapping
from typing import Final

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.cluster import Offsets, list_offsets_of_leader
from odradek.client.configuration import ClientConfig
from odradek.client.core.consumer.completed_fetch import CompletedFetch, ConsumerRecord
from odradek.client.leader_connections import LeaderConnections
from odradek.client.refusal import name_of
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

# The last version that names topics by name.
_FETCH_VERSION_MAX: Final = 12
_FETCH_BYTES_MAX: Final = 8 << 20
_PARTITION_BYTES_MAX: Final = 1 << 20
_AT_ONCE: Final = 500
UNAVAILABLE_MAX_S: Final = 30.0
"""How long a leader may be unreachable before reading fails."""
_RETRY_S: Final = 0.2


class TopicReader(Closing):
    """What a consumer with the configuration's isolation level would get.

    Raises OdradekError if a partition cannot be read, ConnectionFailed if its broker stays unreachable.
    """

    def __init__(self, config: ClientConfig, topic: str, numbers: Collection[int] | None = None) -> None:
        """Without `numbers` all partitions are read.

        Raises ApiError if there is no such topic or partition, or one of them has no leader.
        """
        self._topic = topic
        self._isolation = config.isolation_level
        self._leaders = LeaderConnections(config, [topic])
        # Since when a leader has been unreachable; None while all answer.
        self._away_since_s: float | None = None
        try:
            known = self._leaders.partitions_of(topic)
            for number in numbers or ():
                if not 0 <= number < len(known):
                    raise ApiError(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        f"there is no partition {number} of topic {topic}: it has {len(known)}",
                    )
            self.partitions = (
                known if numbers is None else [TopicPartition(topic, number) for number in numbers]
            )
            # The offset after the last record that was read; the first partition is asked for first.
            self._positions = self._offsets(EARLIEST)
        except BaseException:
            self.close()
            raise

    def on_record(self, partition: TopicPartition, record: ConsumerRecord) -> None:
        """Called for each record, in the order of the offsets of its partition; does nothing by itself."""

    def skip_to(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Begin each partition at its offset instead."""
        self._positions = {one: max(offsets[one], start) for one, start in self._positions.items()}

    def read_to_end(self) -> None:
        """Read up to the current end of each partition."""
        ends = self._offsets(LATEST)
        while any(position < ends[one] for one, position in self._positions.items()):
            self.read_some(wait_ms=0)

    def read_some(self, wait_ms: int) -> None:
        """Fetch once, and wait up to `wait_ms` for the first record."""
        try:
            asked = self._leaders.by_broker(self._in_turn())
        except ConnectionFailed as failed:
            self._wait_for_leader(failed)
            return
        if not asked:
            reason = ErrorCode.LEADER_NOT_AVAILABLE
            self._wait_for_leader(ApiError(reason, f"no partition of {self._topic} has a leader"))
            return
        sent = []
        for connection, partitions in asked:
            # Several brokers are asked at once; only the last answer is waited for.
            last = connection is asked[-1][0]
            try:
                request = self._request(partitions, wait_ms if last else 0)
                connection.send(request, connection.version_of(FetchRequest, _FETCH_VERSION_MAX))
                sent.append(connection)
            except ConnectionFailed as failed:
                self._leaders.drop(connection)
                self._wait_for_leader(failed)
        for connection in sent:
            try:
                answer = connection.receive(FetchResponse)
            except ConnectionFailed as failed:
                self._leaders.drop(connection)
                self._wait_for_leader(failed)
                continue
            for topic in answer.responses:
                for part in topic.partitions:
                    self._take(connection, TopicPartition(topic.topic, part.partition_index), part)

    def close(self) -> None:
        """End the connections."""
        self._leaders.close()

    # --- helpers

    def _offsets(self, timestamp: int) -> Offsets:
        found: Offsets = {}
        for connection, led in self._leaders.by_broker(self.partitions):
            found |= list_offsets_of_leader(connection, timestamp, led, self._isolation)
        for partition in self.partitions:
            if partition not in found:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return found

    def _in_turn(self) -> list[TopicPartition]:
        """The partitions, with another one first each time: an answer may be full before the last one."""
        partitions = list(self._positions)
        if partitions:
            first = partitions[0]
            self._positions[first] = self._positions.pop(first)
        return partitions

    def _request(self, partitions: list[TopicPartition], wait_ms: int) -> FetchRequest:
        asked = [
            FetchPartition(
                partition=one.partition,
                fetch_offset=self._positions[one],
                partition_max_bytes=_PARTITION_BYTES_MAX,
            )
            for one in partitions
        ]
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=_FETCH_BYTES_MAX,
            isolation_level=ISOLATION_LEVELS[self._isolation],
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self._topic, partitions=asked)],
        )

    def _take(self, connection: BrokerConnection, partition: TopicPartition, part: PartitionData) -> None:
        code = known_code(part.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._go_on_after_loss(connection, partition)
            return
        if code is not ErrorCode.NONE:
            refused = ApiError(code, f"{partition} cannot be read: {name_of(code)}")
            if not code.is_retriable:
                raise refused
            self._wait_for_leader(refused)
            return
        self._away_since_s = None
        if not part.records:
            return
        fetched = CompletedFetch(
            partition,
            self._positions[partition],
            part,
            is_committed_only=self._isolation == "read_committed",
            checks_crc=True,
        )
        while not fetched.is_exhausted:
            records = fetched.take(_AT_ONCE)
            self._positions[partition] = fetched.next_offset
            for record in records:
                self.on_record(partition, record)
            if (away := fetched.away) is not None:
                fetched.has(away, away.call())

    def _go_on_after_loss(self, connection: BrokerConnection, partition: TopicPartition) -> None:
        position = self._positions[partition]
        start = list_offsets_of_leader(connection, EARLIEST, [partition], self._isolation)[partition]
        if start <= position:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition} ends before offset {position}: it was truncated, or deleted and created again",
            )
        self._positions[partition] = start

    def _wait_for_leader(self, error: ApiError) -> None:
        """Pause, then look up the leaders again. Raises `error` if they were unreachable for too long."""
        now_s = time.monotonic()
        if self._away_since_s is None:
            self._away_since_s = now_s
        if now_s - self._away_since_s > UNAVAILABLE_MAX_S:
            raise error
        time.sleep(_RETRY_S)
        try:
            self._leaders.refresh()
        except ConnectionFailed:
            pass  # tried again by the next call
