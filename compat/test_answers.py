"""Answers that clients act on, to raw requests: codes, offsets and epochs, not texts."""

import socket
import struct
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from peers import BrokerProcess
from peers.process import HOST
from peers.waiting import WAIT_S_MAX, wait_until

from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.header import read_header
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

UNKNOWN_ID = uuid.UUID(int=5)
TOPIC_OPERATIONS = 3576
NOT_ASKED_FOR = -(1 << 31)
HOUR_MS = 3_600_000
# From this version on requests name topics by their ids.
IDS_SINCE = 13


@pytest.fixture
def ready_topic(
    connection: BrokerConnection, broker: BrokerProcess, new_topic: Callable[..., str]
) -> Callable[..., str]:
    """Like `new_topic`, but waits until the broker leads the first partition, not only announces it.

    In a cluster it may lead the partition a little before it announces it.
    """

    def make(**settings: object) -> str:
        name = new_topic(led_by=broker.port, **settings)
        wait_until(lambda: list_offset(connection, name, -1).error_code == 0, f"nobody leads {name}")
        asked = MetadataRequestTopic(name=name)
        wait_until(lambda: describe(connection, asked)[0].error_code == 0, f"nobody announces {name}")
        return name

    return make


@pytest.fixture
def topic(ready_topic: Callable[..., str]) -> str:
    """A topic with one partition, only for this test."""
    return ready_topic()


def now_ms() -> int:
    return int(time.time() * 1000)


def batch(*values: bytes, key: bytes | None = b"k", timestamp_ms: int = 0, **header: Any) -> bytes:  # noqa: ANN401 - the builder's own arguments
    builder = BatchBuilder(**header)
    for value in values:
        builder.append(timestamp_ms or now_ms(), key, value)
    return bytes(builder.build())


def altered(field: str, value: int) -> bytes:
    """A batch of two records with a wrong header and a right CRC."""
    data = bytearray(batch(b"a", b"b"))
    header = read_header(data)
    setattr(header, field, value)
    header.seal_into(data)
    return bytes(data)


def produce(
    connection: BrokerConnection, topic: str, records: bytes | None, version: int = 12, acks: int = -1
) -> PartitionProduceResponse:
    parts = [PartitionProduceData(0, records)]
    request = ProduceRequest(None, acks, 5000, [TopicProduceData(topic, partition_data=parts)])
    (answer,) = connection.call(request, ProduceResponse, version).responses
    return answer.partition_responses[0]


def describe(connection: BrokerConnection, *topics: MetadataRequestTopic) -> list[MetadataResponseTopic]:
    request = MetadataRequest(
        list(topics), allow_auto_topic_creation=False, include_topic_authorized_operations=True
    )
    return connection.call(request, MetadataResponse, 12).topics


def id_of(connection: BrokerConnection, topic: str) -> uuid.UUID:
    return describe(connection, MetadataRequestTopic(name=topic))[0].topic_id


def fetch(
    connection: BrokerConnection,
    topic: str,
    offset: int,
    version: int = 12,
    **fields: Any,  # noqa: ANN401 - FetchRequest's own
) -> PartitionData:
    part = FetchPartition(
        0, fetch_offset=offset, partition_max_bytes=fields.pop("partition_max_bytes", 1 << 20)
    )
    request = FetchRequest(max_wait_ms=100, topics=[FetchTopic(topic, partitions=[part])], **fields)
    (answer,) = connection.call(request, FetchResponse, version).responses
    return answer.partitions[0]


def list_offset(
    connection: BrokerConnection, topic: str, timestamp_ms: int, version: int = 10
) -> ListOffsetsPartitionResponse:
    parts = [ListOffsetsPartition(0, timestamp=timestamp_ms)]
    request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic, parts)])
    return connection.call(request, ListOffsetsResponse, version).topics[0].partitions[0]


# --- answers to a producer


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (batch(b"a")[:-3], ErrorCode.INVALID_RECORD),
        (batch(b"a")[:30], ErrorCode.INVALID_RECORD),
        (batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
        (batch(b"a")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
        (altered("magic", 3), ErrorCode.CORRUPT_MESSAGE),
        (altered("magic", 1), ErrorCode.INVALID_RECORD),
        (altered("record_count", 3), ErrorCode.INVALID_RECORD),
        (altered("record_count", 0), ErrorCode.INVALID_RECORD),
        (altered("last_offset_delta", 5), ErrorCode.INVALID_RECORD),
        (altered("base_offset", 7), ErrorCode.INVALID_RECORD),
        (altered("attributes", 0x20), ErrorCode.INVALID_RECORD),
        (altered("producer_id", 5), ErrorCode.INVALID_RECORD),
        (batch(b"a", timestamp_ms=now_ms() + 10 * HOUR_MS), ErrorCode.INVALID_TIMESTAMP),
        (batch(b"a" * 1_100_000), ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else f"{len(value)}-bytes",
)
def test_a_batch_that_breaks_a_rule(
    connection: BrokerConnection, topic: str, records: bytes, code: ErrorCode
) -> None:
    answer = produce(connection, topic, records)
    assert (ErrorCode(answer.error_code), answer.base_offset) == (code, -1)
    assert produce(connection, topic, batch(b"good")).base_offset == 0


def test_the_records_to_blame_are_named(
    connection: BrokerConnection, ready_topic: Callable[..., str]
) -> None:
    compacted = ready_topic(cleanup_policy="compact")
    builder = BatchBuilder()
    for key in (b"k", None, b"k", None):
        builder.append(now_ms(), key, b"value")
    answer = produce(connection, compacted, bytes(builder.build()))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert answer.log_start_offset == 0


def test_zstd_is_for_producers_that_know_it(connection: BrokerConnection, topic: str) -> None:
    packed = batch(b"a" * 100, codec=Codec.ZSTD)
    assert produce(connection, topic, packed, 6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(connection, topic, packed, 7).error_code == ErrorCode.NONE


def test_acks_that_do_not_exist(connection: BrokerConnection, topic: str) -> None:
    answer = produce(connection, topic, batch(b"a"), acks=2)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)


def test_sequences_of_an_idempotent_producer(connection: BrokerConnection, topic: str) -> None:
    def send(sequence: int, epoch: int = 0, count: int = 1) -> tuple[str, int]:
        values = [b"v"] * count
        records = batch(*values, producer_id=1000, producer_epoch=epoch, base_sequence=sequence)
        answer = produce(connection, topic, records)
        return ErrorCode(answer.error_code).name, answer.base_offset

    assert send(5) == ("NONE", 0)  # an unknown producer may begin with any sequence
    assert send(0) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert [send(sequence) for sequence in range(6, 12)] == [("NONE", offset) for offset in range(1, 7)]
    assert send(8) == ("NONE", 3)
    assert send(6) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert send(11, count=2) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert send(3, epoch=1) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert send(0, epoch=1) == ("NONE", 7)
    assert send(12, epoch=0) == ("INVALID_PRODUCER_EPOCH", -1)


# --- answers to a consumer


@pytest.fixture
def written(connection: BrokerConnection, topic: str) -> str:
    """A topic with two batches of three records."""
    for _ in range(2):
        assert produce(connection, topic, batch(b"a", b"b", b"c")).error_code == ErrorCode.NONE
    return topic


@pytest.mark.parametrize("version", range(4, IDS_SINCE))
def test_offsets_and_what_lies_at_them(connection: BrokerConnection, written: str, version: int) -> None:
    read = {offset: fetch(connection, written, offset, version) for offset in (0, 4, 6, 7, -1)}
    assert {offset: ErrorCode(part.error_code).name for offset, part in read.items()} == {
        0: "NONE",
        4: "NONE",
        6: "NONE",
        7: "OFFSET_OUT_OF_RANGE",
        -1: "OFFSET_OUT_OF_RANGE",
    }
    assert [part.high_watermark for part in read.values()] == [6, 6, 6, -1, -1]
    assert read_header(read[4].records or b"").base_offset == 3  # the whole batch that holds it


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"max_bytes": 1}, {"partition_max_bytes": 0}])
def test_a_limit_never_holds_back_the_first_batch(
    connection: BrokerConnection, written: str, limits: dict[str, int]
) -> None:
    records = fetch(connection, written, 0, **limits).records or b""
    assert len(records) == read_header(records).size_bytes


def test_a_broker_that_has_no_replica_is_not_served(connection: BrokerConnection, written: str) -> None:
    assert fetch(connection, written, 0, replica_id=77).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "code"), [(-1, ErrorCode.NONE), (0, ErrorCode.NONE), (5, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_the_consumers_leader_epoch(
    connection: BrokerConnection, written: str, epoch: int, code: ErrorCode
) -> None:
    part = FetchPartition(0, current_leader_epoch=epoch, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=100, topics=[FetchTopic(written, partitions=[part])])
    (answer,) = connection.call(request, FetchResponse, 12).responses
    assert answer.partitions[0].error_code == code


@pytest.mark.parametrize("version", range(IDS_SINCE, 19))
def test_topics_by_id(connection: BrokerConnection, written: str, version: int) -> None:
    def ask(topic_id: uuid.UUID) -> PartitionData:
        part = FetchPartition(0, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=100, topics=[FetchTopic(topic_id=topic_id, partitions=[part])])
        return connection.call(request, FetchResponse, version).responses[0].partitions[0]

    assert ask(id_of(connection, written)).high_watermark == 6
    assert ask(UNKNOWN_ID).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [7, 12])
def test_a_session_tells_what_is_new(
    connection: BrokerConnection, ready_topic: Callable[..., str], version: int
) -> None:
    names = [ready_topic(), ready_topic()]
    session = 0

    def ask(epoch: int, *topics: str, forget: tuple[str, ...] = ()) -> tuple[str, list[str]]:
        nonlocal session
        part = FetchPartition(0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=10,
            session_id=session,
            session_epoch=epoch,
            topics=[FetchTopic(name, partitions=[part]) for name in topics],
            forgotten_topics_data=[ForgottenTopic(name, partitions=[0]) for name in forget],
        )
        answer = connection.call(request, FetchResponse, version)
        session = answer.session_id or session
        return ErrorCode(answer.error_code).name, sorted(topic.topic for topic in answer.responses)

    assert ask(0, *names) == ("NONE", sorted(names))
    assert ask(1) == ("NONE", [])
    produce(connection, names[0], batch(b"a"))
    assert ask(2) == ("NONE", [names[0]])
    assert ask(2) == ("INVALID_FETCH_SESSION_EPOCH", [])
    assert ask(3, forget=(names[0],)) == ("NONE", [])
    assert ask(-1) == ("NONE", [])
    assert ask(4) == ("FETCH_SESSION_ID_NOT_FOUND", [])


@pytest.mark.parametrize("version", range(4, 11))
def test_offsets_by_name(connection: BrokerConnection, written: str, version: int) -> None:
    latest, earliest = (list_offset(connection, written, name, version) for name in (-1, -2))
    assert (latest.offset, latest.leader_epoch, latest.timestamp) == (6, 0, -1)
    assert (earliest.offset, earliest.leader_epoch, earliest.timestamp) == (0, 0, -1)
    for name, since in ((-3, 7), (-4, 8), (-5, 9)):
        refused = ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION
        assert list_offset(connection, written, name, version).error_code == refused


# --- answers to all clients


def test_topics_that_are_not_there(connection: BrokerConnection, topic: str) -> None:
    asked = [MetadataRequestTopic(name=name) for name in (topic, topic, "no-such-topic", "no/name")]
    found = describe(connection, *asked)
    assert len(found) == 3
    assert {one.name: ErrorCode(one.error_code) for one in found} == {
        topic: ErrorCode.NONE,
        "no-such-topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "no/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert {one.topic_authorized_operations for one in found} == {TOPIC_OPERATIONS}
    (unknown,) = describe(connection, MetadataRequestTopic(UNKNOWN_ID, None))
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)
    assert unknown.topic_authorized_operations == NOT_ASKED_FOR


def test_partitions_are_described_a_page_at_a_time(
    connection: BrokerConnection, new_topic: Callable[..., str]
) -> None:
    names = sorted([new_topic(partitions=2), new_topic(partitions=3)])
    cursor = None
    pages: list[list[int]] = []
    while not pages or cursor is not None:
        topics = [TopicRequest(name) for name in names]
        answer = connection.call(
            DescribeTopicPartitionsRequest(topics, 2, cursor), DescribeTopicPartitionsResponse, 0
        )
        pages.append([len(topic.partitions) for topic in answer.topics])
        cursor = answer.next_cursor
    assert sum(map(sum, pages)) == 5
    assert all(sum(page) <= 2 for page in pages)
    lost = DescribeTopicPartitionsRequest([TopicRequest(names[0])], 2, Cursor(names[0], -1))
    (refused,) = connection.call(lost, DescribeTopicPartitionsResponse, 0).topics
    assert refused.error_code == ErrorCode.INVALID_REQUEST


def exchange(port: int, key: int, version: int, body: bytes) -> bytes | None:
    """The frame that answers a request of any bytes; None when the connection is closed instead."""
    return exchange_frame(port, struct.pack(">hhih", key, version, 7, -1) + body)


def exchange_frame(port: int, frame: bytes) -> bytes | None:
    """The frame that answers this one; None when the connection is closed instead."""
    with socket.create_connection((HOST, port), timeout=WAIT_S_MAX) as raw:
        raw.sendall(struct.pack(">i", len(frame)) + frame)
        received = raw.makefile("rb")
        length = received.read(4)
        return received.read(struct.unpack(">i", length)[0]) if length else None


def test_a_version_of_api_versions_that_nobody_knows_yet(broker: BrokerProcess) -> None:
    frame = exchange(broker.port, 18, 99, b"\x00")
    assert frame is not None, "the connection was closed"
    answer = ApiVersionsResponse.decode(frame, 0, 4)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {api.api_key: api.max_version for api in answer.api_keys}[18] in (4, 5), "Kafka 4.3, and 4.4"


def test_a_client_id_that_is_not_utf8(broker: BrokerProcess) -> None:
    frame = struct.pack(">hhih", 18, 0, 7, 1) + b"\xff"
    assert exchange_frame(broker.port, frame) is not None, "the connection was closed"


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (999, 0, b""),
        (-1, 0, b""),
        (0, 2, b""),
        (1, 3, b""),
        (5, 4, b"\x00"),
        (3, 1, b"\x00"),
        (3, 1, b"\x7f" * 4),
    ],
)
def test_requests_that_close_the_connection(
    broker: BrokerProcess, key: int, version: int, body: bytes
) -> None:
    assert exchange(broker.port, key, version, body) is None


# --- answers to an administrator


def elect(
    connection: BrokerConnection, request: ElectLeadersRequest, version: int = 2
) -> tuple[ErrorCode, list[tuple[str, list[tuple[int, ErrorCode]]]]]:
    answer = connection.call(request, ElectLeadersResponse, version)
    return ErrorCode(answer.error_code), [
        (topic.topic, [(row.partition_id, ErrorCode(row.error_code)) for row in topic.partition_result])
        for topic in answer.replica_election_results
    ]


@pytest.mark.needs_api("ElectLeaders")
@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("election", [0, 1])
def test_elections_that_are_not_needed(
    connection: BrokerConnection, topic: str, election: int, version: int
) -> None:
    named = [TopicPartitions(topic, [0, 7, 0]), TopicPartitions("none", [0]), TopicPartitions(topic, [])]
    assert elect(connection, ElectLeadersRequest(election, named), version) == (
        ErrorCode.NONE,
        [
            (
                topic,
                [
                    (0, ErrorCode.ELECTION_NOT_NEEDED),
                    (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    (0, ErrorCode.ELECTION_NOT_NEEDED),
                ],
            ),
            ("none", [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
            (topic, []),
        ],
    )


@pytest.mark.needs_api("ElectLeaders")
def test_an_election_of_all_leaders(connection: BrokerConnection, topic: str) -> None:
    code, topics = elect(connection, ElectLeadersRequest(0, None))
    assert code is ErrorCode.NONE
    assert (topic, []) in topics
    assert [rows for _, rows in topics if rows] == []


@pytest.mark.needs_api("ElectLeaders")
@pytest.mark.parametrize("election", [2, -1])
def test_an_election_of_an_unknown_type(connection: BrokerConnection, election: int) -> None:
    named = [TopicPartitions("none", [0, 1])]
    refused = ErrorCode.INVALID_REQUEST
    assert elect(connection, ElectLeadersRequest(election, named)) == (
        refused,
        [("none", [(0, refused), (1, refused)])],
    )
    assert elect(connection, ElectLeadersRequest(election, None)) == (refused, [])
