"""Reads and writes topics for a test, at the partitions' leaders, with requests as any client sends.

It works the same for brokers in this process and in processes of their own, and returns what a consumer would
see: no aborted transactions, and nothing beyond the last stable offset unless the test asks for it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.configuration import ClientConfig
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.leader_connections import LeaderConnections
from odradek.client.partitioning import partition_of_key
from odradek.client.refusal import raise_for
from odradek.client.topic_reader import TopicReader
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.builder import BatchBuilder
from odradek.records.framing import iter_records
from odradek.records.header import read_header
from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.own_client import own_client
from odradek.testing.topic_records import Content, TestRecord, as_bytes, header_bytes, of_consumer, of_log
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

FETCH_WAIT_MS: Final = 100
"""How long a fetch waits for records; after it the deadline is looked at."""
BATCH_BYTES_MAX: Final = 512 << 10
PRODUCE_TIMEOUT_MS: Final = 30_000
SHOWN_MAX: Final = 5
"""How many records the message of a failed wait shows."""
# The last version that names topics by name; later ones name them by id.
_PRODUCE_VERSION_MAX: Final = 12
_RETRY_S: Final = 0.02

_NOT_YET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""Errors that may go away soon: the application is about to create the topic, or a leader moves."""
_NOT_WRITTEN: Final = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors after which a batch may be sent again without being doubled; they end with the next leader."""


class Reader(TopicReader):
    """Keeps what it has read."""

    def __init__(self, config: ClientConfig, topic: str, numbers: Collection[int] | None = None) -> None:
        """See `TopicReader`."""
        super().__init__(config, topic, numbers)
        self.records: dict[TopicPartition, list[TestRecord]] = {one: [] for one in self.partitions}
        """The records read so far, by partition."""

    def all(self) -> list[TestRecord]:
        """All records read so far: partition by partition, in offset order."""
        return [record for records in self.records.values() for record in records]

    def on_record(self, partition: TopicPartition, record: ConsumerRecord) -> None:
        """See `TopicReader.on_record`."""
        self.records[partition].append(of_consumer(record))


class TopicAccess:
    """Topics of the brokers at some addresses."""

    def __init__(self, bootstrap_servers: Callable[[], str]) -> None:
        self._bootstrap_servers = bootstrap_servers

    def records(self, topic: str, *, partition: int | None, isolation: str) -> list[TestRecord]:
        """The records that a topic holds now. Raises ApiError if there is no such topic."""
        with self.reader(topic, _only(partition), isolation) as reader:
            reader.read_to_end()
            return reader.all()

    def reader(
        self, topic: str, numbers: Collection[int] | None = None, isolation: str = "read_committed"
    ) -> Reader:
        """See `Reader`. Raises ValueError for an unknown isolation."""
        if isolation not in ISOLATION_LEVELS:
            raise ValueError(f"isolation is one of {', '.join(ISOLATION_LEVELS)}, not {isolation!r}")
        return Reader(replace(self._client(), isolation_level=isolation), topic, numbers)

    def wait_for(
        self,
        topic: str,
        count: int,
        *,
        where: Callable[[TestRecord], bool] | None,
        partition: int | None,
        isolation: str,
        timeout_s: float,
    ) -> list[TestRecord]:
        """Returns the records of a topic that `where` accepts, once there are `count`. Raises WaitTimeout."""
        deadline = Deadline(timeout_s)
        found: list[TestRecord] = []
        fault = ""
        while True:
            try:
                with self.reader(topic, _only(partition), isolation) as reader:
                    while True:
                        reader.read_some(min(FETCH_WAIT_MS, deadline.left_ms()))
                        found = [one for one in reader.all() if where is None or where(one)]
                        if len(found) >= count:
                            return found
                        if deadline.is_over():
                            raise WaitTimeout(_too_few(topic, count, found, len(reader.all()), timeout_s))
            except ApiError as error:  # also ConnectionFailed: another broker may answer
                if not isinstance(error, ConnectionFailed) and error.code not in _NOT_YET:
                    raise
                fault = str(error)
            if deadline.is_over():
                raise WaitTimeout(f"{_too_few(topic, count, found, len(found), timeout_s)}; {fault}")
            time.sleep(_RETRY_S)

    def produce(
        self,
        topic: str,
        values: Sequence[Content],
        *,
        key: Content,
        headers: Mapping[str, Content] | None,
        partition: int | None,
        timestamp_ms: int,
    ) -> list[TestRecord]:
        """Append records with acks=all; returns them with their offsets. Raises ApiError."""
        key_sent, headers_sent = as_bytes(key), header_bytes(headers)
        sent: list[TestRecord] = []
        with LeaderConnections(self._client(), [topic], may_create=True) as leaders:
            if not leaders.partitions_of(topic):  # it is being made, or cannot be
                deadline = Deadline(PRODUCE_TIMEOUT_MS / 1000)
                leaders.wait_for_topic(topic, deadline.is_over, unknown_may_come=False)
            count = len(leaders.partitions_of(topic))
            by_partition: dict[int, list[bytes | None]] = defaultdict(list)
            for number, value in enumerate(values):
                if partition is not None:
                    chosen = partition
                else:
                    chosen = number % count if key_sent is None else partition_of_key(key_sent, count)
                by_partition[chosen].append(as_bytes(value))
            for chosen, contents in sorted(by_partition.items()):
                where = TopicPartition(topic, chosen)
                for built in _batches(contents, key_sent, headers_sent, timestamp_ms):
                    first = _append(leaders, where, built)
                    header = read_header(built)
                    sent += [
                        of_log(topic, chosen, one._replace(offset=first + one.offset))
                        for one in iter_records(built, header)
                    ]
        return sent

    def _client(self) -> ClientConfig:
        return own_client(self._bootstrap_servers())


def _only(partition: int | None) -> Collection[int] | None:
    return None if partition is None else (partition,)


def _batches(
    values: Sequence[bytes | None],
    key: bytes | None,
    headers: tuple[tuple[bytes, bytes | None], ...],
    timestamp_ms: int,
) -> Iterator[bytes]:
    """Returns the values as batches that every broker accepts; a larger record gets a separate batch."""
    builder = BatchBuilder()
    for value in values:
        if builder.record_count and builder.size_bytes + len(value or b"") > BATCH_BYTES_MAX:
            yield bytes(builder.build())
            builder = BatchBuilder()
        builder.append(timestamp_ms, key, value, headers)
    if builder.record_count:
        yield bytes(builder.build())


def _append(leaders: LeaderConnections, partition: TopicPartition, batch: bytes) -> Offset:
    """Append a batch at the partition's leader; returns the offset of its first record.

    Raises ApiError, and ConnectionFailed if it is unknown whether the batch was written.
    """
    deadline = Deadline(PRODUCE_TIMEOUT_MS / 1000)
    while True:
        try:
            placed = leaders.by_broker([partition])
        except ConnectionFailed:
            if deadline.is_over():
                raise
            placed = []
        for connection, _ in placed:
            try:
                return _append_at(connection, partition, batch)
            except ApiError as refused:
                if refused.code not in _NOT_WRITTEN or deadline.is_over():
                    raise
        if not placed and deadline.is_over():
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        time.sleep(_RETRY_S)
        leaders.refresh()


def _append_at(connection: BrokerConnection, partition: TopicPartition, batch: bytes) -> Offset:
    data = TopicProduceData(
        partition.topic, partition_data=[PartitionProduceData(partition.partition, batch)]
    )
    request = ProduceRequest(acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[data])
    (topic,) = connection.ask(request, ProduceResponse, _PRODUCE_VERSION_MAX).responses
    (answered,) = topic.partition_responses
    raise_for(answered.error_code, answered.error_message, about=f"writing to {partition}")
    return answered.base_offset


def _too_few(topic: str, count: int, found: Sequence[TestRecord], seen: int, timeout_s: float) -> str:
    """The message of a wait that timed out."""
    others = f" ({seen} including other records)" if seen > len(found) else ""
    shown = "".join(f"\n    {record}" for record in found[-SHOWN_MAX:])
    return f"{topic} has {len(found)} of {count} records{others} after {timeout_s:g} s{shown}"
