"""Reads the records of some partitions from their leaders, from given offsets on, without a group.

with RecordReader(config, {TopicPartition("flights", 0): 0}) as reader:
    while True:
        for record in reader.poll(wait_ms=500):
            ...
"""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.cluster import EARLIEST, list_offsets_of_leader
from odradek.client.configuration import ClientConfig
from odradek.client.fetched_batches import whole_batches
from odradek.client.leader_connections import LeaderConnections
from odradek.client.refusal import known_code, name_of
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.control import is_abort_marker
from odradek.records.framing import RecordHeaders, iter_records
from odradek.records.header import BatchHeader, check_crc
from odradek.records.isolation import AbortedTransactions
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

# The last version that names topics by name.
_FETCH_VERSION_MAX = 12
FETCH_BYTES_MAX = 8 << 20
PARTITION_BYTES_MAX = 1 << 20
# How long a leader may be unreachable before reading fails.
UNAVAILABLE_MAX_S = 30.0
_RETRY_S = 0.2


class FetchedRecord(NamedTuple):
    """One record as a reader gets it; the bytes are copies."""

    topic: str
    partition: int
    offset: Offset
    timestamp_ms: int
    # "create" or "append": who gave the timestamp, the producer or the broker.
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders
    leader_epoch: int
    producer_id: ProducerId
    batch_codec: int


class RecordReader(Closing):
    """Raises OdradekError if a partition cannot be read, ConnectionFailed if its broker stays unreachable."""

    def __init__(
        self,
        config: ClientConfig,
        positions: Mapping[TopicPartition, Offset],
        connections: LeaderConnections | None = None,
    ) -> None:
        topics = sorted({partition.topic for partition in positions})
        self._isolation = config.isolation_level
        self._connections = connections or LeaderConnections(config, topics)
        self._aborted = {partition: AbortedTransactions() for partition in positions}
        # Since when a leader has been unreachable; None while all answer.
        self._away_since: float | None = None
        self.positions = dict(positions)
        """The offset after the last record returned, per partition that is read."""
        self.ends: dict[TopicPartition, Offset] = {}
        """Where the records that may be read end, as the last answers said."""
        self.notes: list[str] = []
        """Sentences about records that no longer exist, and about unreachable brokers; the caller removes
        them."""

    def assign(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """From now on read these partitions, from these offsets."""
        self.positions = dict(positions)
        self._aborted = {partition: AbortedTransactions() for partition in positions}

    def keep(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """From now on read only these of the current partitions."""
        self.positions = dict(positions)

    def lag(self) -> int | None:
        """How many offsets are still to be read; None before every partition has answered."""
        if not self.positions.keys() <= self.ends.keys():
            return None
        return sum(max(0, self.ends[one] - position) for one, position in self.positions.items())

    def poll(self, wait_ms: int) -> Iterator[FetchedRecord]:
        """The records that come within `wait_ms`; a record counts as read when it is returned."""
        try:
            asked = self._connections.by_broker(self._in_turn())
        except ConnectionFailed as failed:
            self._wait_for_leader(failed)
            return
        if not asked:
            reason = ErrorCode.LEADER_NOT_AVAILABLE
            self._wait_for_leader(ApiError(reason, f"no partition of {self._names()} has a leader"))
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
                self._connections.drop(connection)
                self._wait_for_leader(failed)
        for connection in sent:
            try:
                answer = connection.receive(FetchResponse)
            except ConnectionFailed as failed:
                self._connections.drop(connection)
                self._wait_for_leader(failed)
                continue
            for topic in answer.responses:
                for part in topic.partitions:
                    named = TopicPartition(topic.topic, part.partition_index)
                    yield from self._records(connection, named, part)

    def close(self) -> None:
        """End the connections."""
        self._connections.close()

    def _in_turn(self) -> list[TopicPartition]:
        """The partitions, with another one first each time: an answer may be full before the last one."""
        partitions = list(self.positions)
        if partitions:
            first = partitions[0]
            self.positions[first] = self.positions.pop(first)
        return partitions

    def _request(self, partitions: list[TopicPartition], wait_ms: int) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for partition in partitions:
            topic = topics.setdefault(partition.topic, FetchTopic(topic=partition.topic))
            topic.partitions.append(
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=self.positions[partition],
                    partition_max_bytes=PARTITION_BYTES_MAX,
                )
            )
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            isolation_level=ISOLATION_LEVELS[self._isolation],
            session_id=0,
            session_epoch=-1,
            topics=list(topics.values()),
        )

    def _records(
        self, connection: BrokerConnection, partition: TopicPartition, part: PartitionData
    ) -> Iterator[FetchedRecord]:
        code = known_code(part.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._go_on_after_loss(connection, partition)
            return
        if code.is_retriable:
            self._wait_for_leader(ApiError(code, f"{partition} cannot be read: {name_of(code)}"))
            return
        if code is not ErrorCode.NONE:
            raise ApiError(code, f"{partition} cannot be read: {name_of(code)}")
        self._away_since = None
        is_committed_only = self._isolation == "read_committed"
        self.ends[partition] = part.last_stable_offset if is_committed_only else part.high_watermark
        aborted = self._aborted[partition]
        if is_committed_only:
            aborted.learn(part.aborted_transactions or [])
        records = memoryview(part.records or b"")
        for position, header in whole_batches(records):
            batch = records[position : position + header.size_bytes]
            check_crc(batch, header)
            is_abort = header.is_control and is_abort_marker(batch)
            is_hidden = aborted.hides(header, is_abort) if is_committed_only else header.is_control
            if not is_hidden:
                yield from self._records_of(partition, header, batch)
            if partition in self.positions:
                self.positions[partition] = max(self.positions[partition], header.next_offset)

    def _records_of(
        self, partition: TopicPartition, header: BatchHeader, batch: memoryview
    ) -> Iterator[FetchedRecord]:
        topic, number = partition
        by = "append" if header.is_log_append_time else "create"
        epoch, producer_id, codec = header.leader_epoch, header.producer_id, header.codec
        for record in iter_records(batch, header):
            if record.offset < self.positions[partition]:
                continue  # A fetch from within a batch is answered with the whole batch.
            self.positions[partition] = record.offset + 1
            _, timestamp_ms, key, value, headers = record
            yield FetchedRecord(
                topic, number, record.offset, timestamp_ms, by, key, value, headers, epoch, producer_id, codec
            )

    def _go_on_after_loss(self, connection: BrokerConnection, partition: TopicPartition) -> None:
        position = self.positions[partition]
        start = list_offsets_of_leader(connection, EARLIEST, [partition], self._isolation)[partition]
        if start <= position:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition} ends before offset {position}: it was truncated, or deleted and created again",
            )
        self.notes.append(f"{partition} no longer has offset {position}; reading goes on at {start}")
        self.positions[partition] = start

    def _wait_for_leader(self, error: OdradekError) -> None:
        """Pause, then look up the leaders again. Raises `error` if they were unreachable for too long."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            if isinstance(error, ConnectionFailed):
                self.notes.append(f"{error}; trying again for {UNAVAILABLE_MAX_S:g} s")
        if now - self._away_since > UNAVAILABLE_MAX_S:
            raise error
        time.sleep(_RETRY_S)
        try:
            self._connections.refresh()
        except ConnectionFailed:
            pass  # Tried again by the next poll.

    def _names(self) -> str:
        return ", ".join(sorted({partition.topic for partition in self.positions}))
