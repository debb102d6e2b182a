"""Reads and writes a broker's topics for a test, with requests as any client sends.

It works the same for a broker in this process and in a separate process, and returns what a consumer would
see: no aborted transactions, and nothing beyond the last stable offset unless the test asks for it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, Offsets, list_offsets_of_leader
from odradek.client.configuration import ISOLATION_LEVELS
from odradek.client.fetched_batches import AbortedTransactions, whole_batches
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.builder import BatchBuilder
from odradek.records.control import is_abort_marker
from odradek.records.framing import iter_records
from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.own_client import own_client
from odradek.testing.topic_records import Content, TestRecord, as_bytes, header_bytes, of_log, partition_of
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

FETCH_BYTES_MAX: Final = 8 << 20
FETCH_WAIT_MS: Final = 100
"""How long a fetch waits for records; after it the topic is described again: it may have been deleted."""
BATCH_BYTES_MAX: Final = 512 << 10
PRODUCE_TIMEOUT_MS: Final = 30_000
SHOWN_MAX: Final = 5
"""How many records the message of a failed wait shows."""
# The last versions that name topics by name; later ones name them by id.
_METADATA_VERSION_MAX: Final = 9
_FETCH_VERSION_MAX: Final = 12
_PRODUCE_VERSION_MAX: Final = 12

_NOT_YET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""Errors that may go away soon: the application is about to create the topic."""


class Reader:
    """Reads all partitions of a topic from their starts, once."""

    def __init__(
        self, connection: BrokerConnection, topic: str, isolation: str, partition: int | None
    ) -> None:
        """Raises ApiError if there is no such topic or partition."""
        if isolation not in ISOLATION_LEVELS:
            raise ValueError(f"isolation is one of {', '.join(ISOLATION_LEVELS)}, not {isolation!r}")
        self._connection = connection
        self._isolation = isolation
        count = partition_count(connection, topic)
        if partition is not None and not 0 <= partition < count:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {partition} of topic {topic}: it has {count}",
            )
        numbers = range(count) if partition is None else [partition]
        self.partitions = [TopicPartition(topic, number) for number in numbers]
        # The next offset to read.
        self._positions: Offsets = list_offsets_of_leader(connection, EARLIEST, self.partitions, isolation)
        self._aborted = {one: AbortedTransactions() for one in self.partitions}
        self.records: dict[TopicPartition, list[TestRecord]] = {one: [] for one in self.partitions}
        """The records read so far, by partition."""

    def skip_to(self, offset: int) -> None:
        """Begin at an offset instead."""
        self._positions = {one: max(offset, start) for one, start in self._positions.items()}

    def all(self) -> list[TestRecord]:
        """All records read so far: partition by partition, in offset order."""
        return [record for records in self.records.values() for record in records]

    def read_to_end(self) -> None:
        """Read up to the current end of each partition."""
        ends = list_offsets_of_leader(self._connection, LATEST, self.partitions, self._isolation)
        while behind := [one for one in self.partitions if self._positions[one] < ends[one]]:
            self.read_some(behind, wait_ms=0)

    def read_some(self, partitions: Sequence[TopicPartition], wait_ms: int) -> None:
        """Fetch once, and wait up to `wait_ms` for the first record."""
        wanted = [
            FetchPartition(
                partition=one.partition,
                fetch_offset=self._positions[one],
                partition_max_bytes=FETCH_BYTES_MAX,
            )
            for one in partitions
        ]
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            isolation_level=ISOLATION_LEVELS[self._isolation],
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.partitions[0].topic, partitions=wanted)],
        )
        answer = self._connection.ask(request, FetchResponse, _FETCH_VERSION_MAX)
        raise_for(answer.error_code, about="reading")
        for topic in answer.responses:
            for part in topic.partitions:
                self._take(TopicPartition(topic.topic, part.partition_index), part)

    def _take(self, partition: TopicPartition, part: PartitionData) -> None:
        raise_for(part.error_code, about=f"reading {partition}")
        aborted, position = self._aborted[partition], self._positions[partition]
        if self._isolation == "read_committed":
            aborted.learn(part.aborted_transactions or [])
        data = bytes(part.records or b"")
        for at, header in whole_batches(data):
            is_abort = header.is_control and is_abort_marker(data[at : at + header.size_bytes])
            is_hidden = aborted.hides(header, is_abort)
            if not is_hidden or (self._isolation == "read_uncommitted" and not header.is_control):
                for record in iter_records(data, header, at):
                    if record.offset >= position:
                        self.records[partition].append(of_log(*partition, record))
            position = max(position, header.next_offset)
        self._positions[partition] = position


class TopicAccess:
    """Topics of the broker at an address."""

    def __init__(self, bootstrap_servers: Callable[[], str]) -> None:
        self._bootstrap_servers = bootstrap_servers

    def connect(self) -> BrokerConnection:
        """A connection to the broker. Raises ConnectionFailed."""
        return own_client(self._bootstrap_servers()).connect()

    def records(self, topic: str, *, partition: int | None, isolation: str) -> list[TestRecord]:
        """The records that a topic holds now. Raises ApiError if there is no such topic."""
        with self.connect() as connection:
            reader = Reader(connection, topic, isolation, partition)
            reader.read_to_end()
            return reader.all()

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
                with self.connect() as connection:
                    reader = Reader(connection, topic, isolation, partition)
                    while True:
                        reader.read_some(reader.partitions, min(FETCH_WAIT_MS, deadline.left_ms()))
                        found = [one for one in reader.all() if where is None or where(one)]
                        if len(found) >= count:
                            return found
                        if deadline.is_over():
                            raise WaitTimeout(_too_few(topic, count, found, len(reader.all()), timeout_s))
            except (ApiError, ConnectionFailed) as error:
                if isinstance(error, ApiError) and error.code not in _NOT_YET:
                    raise
                fault = str(error)
            if deadline.is_over():
                raise WaitTimeout(f"{_too_few(topic, count, found, len(found), timeout_s)}; {fault}")
            time.sleep(0.02)

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
        with self.connect() as connection:
            count = partition_count(connection, topic, make=True)
            by_partition: dict[int, list[bytes | None]] = defaultdict(list)
            for number, value in enumerate(values):
                if partition is not None:
                    chosen = partition
                else:
                    chosen = number % count if key_sent is None else partition_of(key_sent, count)
                by_partition[chosen].append(as_bytes(value))
            for chosen, contents in sorted(by_partition.items()):
                where = TopicPartition(topic, chosen)
                for built in _batches(contents, key_sent, headers_sent, timestamp_ms):
                    first = _append(connection, where, built)
                    (_, header), *_ = whole_batches(built)
                    sent += [
                        of_log(topic, chosen, one._replace(offset=first + one.offset))
                        for one in iter_records(built, header)
                    ]
        return sent


def partition_count(connection: BrokerConnection, topic: str, *, make: bool = False) -> int:
    """Returns a topic's number of partitions. With `make` a broker that auto-creates topics may create it.

    Raises ApiError if there is no such topic.
    """
    deadline = Deadline(PRODUCE_TIMEOUT_MS / 1000)
    while True:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=make)
        (found,) = connection.ask(request, MetadataResponse, _METADATA_VERSION_MAX).topics
        if not make or found.error_code != ErrorCode.LEADER_NOT_AVAILABLE or deadline.is_over():
            raise_for(found.error_code, about=f"topic {topic}")
            return len(found.partitions)
        time.sleep(0.02)


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


def _append(connection: BrokerConnection, partition: TopicPartition, batch: bytes) -> int:
    """Append a batch; returns the offset of its first record."""
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
