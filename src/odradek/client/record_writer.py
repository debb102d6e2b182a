"""Writes records to one topic: batches by partition, acknowledged in order, each exactly once.

The writer is idempotent (KIP-98): a batch that is sent again after a lost answer is not stored twice.

    with RecordWriter(config, "flights") as writer:
        writer.write(OutgoingRecord(b"key", b"value"))
        writer.flush()
    writer.acknowledged     how many records the brokers have; also after an error
"""

import time
from dataclasses import replace
from typing import NamedTuple, Self

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_PRODUCER_ID, ProducerId, TopicPartition
from odradek.client.cluster import fetch_leaders
from odradek.client.configuration import CODECS, ClientConfig
from odradek.client.leader_connections import LeaderConnections
from odradek.client.partitioning import partition_of_key
from odradek.client.refusal import known_code, raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.builder import BatchBuilder
from odradek.records.framing import RecordHeaders
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

# The last version that names topics by name.
_PRODUCE_VERSION_MAX = 12
# How long a new topic may be without a leader.
CREATION_MAX_S = 10.0
_RETRY_S = 0.1
_SEQUENCES = 1 << 31


class OutgoingRecord(NamedTuple):
    """One record to write. Without a timestamp the writer's clock sets it; without a partition, its key."""

    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()
    timestamp_ms: int | None = None
    partition: int | None = None


class RecordWriter(Closing):
    """Raises ApiError if a broker refuses a batch, ConnectionFailed if brokers stay unreachable.

    A `with` block opens it. What it waits for may be read by another thread meanwhile.
    """

    def __init__(self, config: ClientConfig, topic: str) -> None:
        config = replace(
            config, request_timeout_ms=min(config.request_timeout_ms, config.delivery_timeout_ms)
        )
        self._config = config
        self._topic = topic
        self._codec = CODECS.index(config.compression_type)
        # None before `open`.
        self._connected: LeaderConnections | None = None
        self.has_made_topic = False
        """Whether the broker created the topic on this writer's request."""
        self._is_idempotent = config.enable_idempotence and config.acks == -1
        self._producer: tuple[ProducerId, int] = (NO_PRODUCER_ID, -1)
        # The next sequence number of each partition.
        self._sequences: dict[int, int] = {}
        # The unsent batches, by partition; none is empty.
        self._open: dict[int, BatchBuilder] = {}
        # The partition of records without a key, until its batch is sent.
        self._sticky = 0
        self.acknowledged = 0
        """How many records were acknowledged (with acks=0: sent)."""
        self.unanswered = 0
        """How many were sent at least once and not acknowledged; each may be stored or not."""
        self.waiting_since_s: float | None = None
        """Since when the batches being sent are unacknowledged, by `time.monotonic`; None between sends.

        Also since when `waits_for` is waited for, before the first batch.
        """
        self.waits_for = ""
        """What is needed before the first batch can be sent; "" while that is not waited for."""
        self.obstacle = ""
        """Why the last attempt failed; "" during the first one."""

    def open(self) -> None:
        """Connect, and wait until each partition of the topic, which the brokers may make now, has a leader.

        Raises ApiError after CREATION_MAX_S, and ConnectionFailed.
        """
        with self._config.connect() as connection:
            known = fetch_leaders(connection, [self._topic], may_create=False).counts
        started = time.monotonic()
        self.waits_for, self.obstacle, self.waiting_since_s = f"topic {self._topic}", "", started
        connections = LeaderConnections(self._config, [self._topic], may_create=True)
        try:
            connections.wait_for_topic(
                self._topic, lambda: time.monotonic() > started + CREATION_MAX_S, on_wait=self._on_obstacle
            )
        except BaseException:
            connections.close()
            raise
        self._connected = connections
        self.has_made_topic = self._topic not in known
        self.waiting_since_s, self.waits_for, self.obstacle = None, "", ""

    def __enter__(self) -> Self:
        self.open()
        return self

    @property
    def partition_count(self) -> int:
        """The number of the topic's partitions."""
        return self._connections.leaders.counts[self._topic]

    def write(self, record: OutgoingRecord) -> None:
        """Add a record; sends its batch when that is full."""
        number = self._partition_of(record)
        batch = self._open.get(number)
        if batch is None:
            batch = self._open[number] = self._new_builder(number)
        timestamp_ms = int(time.time() * 1000) if record.timestamp_ms is None else record.timestamp_ms
        batch.append(timestamp_ms, record.key, record.value, record.headers)
        if batch.size_bytes >= self._config.batch_size:
            self._send([number])
            self._sticky = (self._sticky + 1) % self.partition_count

    def flush(self) -> None:
        """Send what waits, and return when all of it is acknowledged."""
        if self._open:
            self._send(list(self._open))
            self._sticky = (self._sticky + 1) % self.partition_count

    def close(self) -> None:
        """End the connections; what was not flushed is dropped."""
        if self._connected is not None:
            self._connected.close()

    @property
    def _connections(self) -> LeaderConnections:
        assert self._connected is not None, "a writer is opened before it is used"
        return self._connected

    def _on_obstacle(self, reason: str) -> None:
        self.obstacle = reason

    def _partition_of(self, record: OutgoingRecord) -> int:
        count = self.partition_count
        if record.partition is not None:
            if not 0 <= record.partition < count:
                existing = "partition 0 only" if count == 1 else f"partitions 0 to {count - 1}"
                raise ApiError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"there is no partition {record.partition} of topic {self._topic}: it has {existing}",
                )
            return record.partition
        return self._sticky if record.key is None else partition_of_key(record.key, count)

    def _new_builder(self, number: int) -> BatchBuilder:
        if not self._is_idempotent:
            return BatchBuilder(codec=self._codec)
        if self._producer[0] == NO_PRODUCER_ID:
            self._producer = self._new_producer()
        producer_id, epoch = self._producer
        sequence = self._sequences.get(number, 0)
        return BatchBuilder(
            codec=self._codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )

    def _new_producer(self) -> tuple[ProducerId, int]:
        """A producer id and its epoch; any broker is asked until the delivery timeout is over."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
        started = time.monotonic()
        self.waits_for, self.obstacle, self.waiting_since_s = "a producer id", "", started
        deadline = started + self._config.delivery_timeout_ms / 1000
        while True:
            try:
                with self._config.connect() as connection:
                    answer = connection.ask(request, InitProducerIdResponse)
                raise_for(answer.error_code, about="the broker returned no producer id")
            except ApiError as failure:
                if not failure.code.is_retriable:
                    raise
                self.obstacle = str(failure)
                if time.monotonic() > deadline:
                    raise self._too_late(failure) from failure
                time.sleep(_RETRY_S)
            else:
                self.waiting_since_s, self.waits_for = None, ""
                return answer.producer_id, answer.producer_epoch

    def _send(self, numbers: list[int]) -> None:
        """Send the batches of these partitions until each is acknowledged."""
        batches = {number: self._open.pop(number) for number in numbers}
        data = {number: bytes(builder.build()) for number, builder in batches.items()}
        self.unanswered += sum(builder.record_count for builder in batches.values())
        self.waiting_since_s, self.obstacle = time.monotonic(), ""
        deadline = self.waiting_since_s + self._config.delivery_timeout_ms / 1000
        while data:
            failure = self._attempt(data, batches)
            if failure is None:
                continue
            self.obstacle = str(failure)
            if time.monotonic() > deadline:
                raise self._too_late(failure)
            time.sleep(_RETRY_S)
            try:
                self._connections.refresh()
            except ConnectionFailed as unreachable:
                self.obstacle = str(unreachable)
                if time.monotonic() > deadline:
                    raise self._too_late(unreachable) from failure
        self.waiting_since_s = None

    def _too_late(self, failure: ApiError) -> ApiError:
        waited_s = self._config.delivery_timeout_ms / 1000
        return ApiError(failure.code, f"not acknowledged within {waited_s:g} s: {failure}")

    def _attempt(self, data: dict[int, bytes], batches: dict[int, BatchBuilder]) -> ApiError | None:
        """Send each batch once and remove the acknowledged ones; returns a retriable error, or None."""
        wanted = [TopicPartition(self._topic, number) for number in data]
        failure: ApiError | None = None
        try:
            asked = self._connections.by_broker(wanted)
        except ConnectionFailed as failed:
            return failed
        if not asked:
            return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"no partition of {self._topic} has a leader")
        for connection, partitions in asked:
            try:
                answers = self._produce(
                    connection, {one.partition: data[one.partition] for one in partitions}
                )
            except ConnectionFailed as failed:
                self._connections.drop(connection)
                failure = failed
                continue
            for answer in answers:
                failure = self._judge(answer) or failure
                if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    del data[answer.index]
                    self._acknowledge(answer.index, batches[answer.index])
        return failure

    def _produce(
        self, connection: BrokerConnection, data: dict[int, bytes]
    ) -> list[PartitionProduceResponse]:
        parts = [PartitionProduceData(index=number, records=records) for number, records in data.items()]
        request = ProduceRequest(
            acks=self._config.acks,
            timeout_ms=self._config.request_timeout_ms,
            topic_data=[TopicProduceData(name=self._topic, partition_data=parts)],
        )
        version = connection.version_of(ProduceRequest, _PRODUCE_VERSION_MAX)
        if self._config.acks == 0:  # The broker does not answer.
            connection.send_unanswered(request, version)
            return [PartitionProduceResponse(index=number) for number in data]
        answer = connection.call(request, ProduceResponse, version)
        return [part for topic in answer.responses for part in topic.partition_responses]

    def _judge(self, answer: PartitionProduceResponse) -> ApiError | None:
        """Returns the retriable error of a batch, or None. Raises ApiError for any other error."""
        code = known_code(answer.error_code)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            return None
        words = answer.error_message or code.name.lower().replace("_", " ")
        error = ApiError(code, f"{self._topic}-{answer.index} refuses the records: {words}")
        if not code.is_retriable:
            raise error
        return error

    def _acknowledge(self, number: int, builder: BatchBuilder) -> None:
        self.acknowledged += builder.record_count
        self.unanswered -= builder.record_count
        self._sequences[number] = (self._sequences.get(number, 0) + builder.record_count) % _SEQUENCES
