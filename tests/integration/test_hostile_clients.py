"""Clients that do not follow the protocol: each gets the right error or loses its connection, and only it."""

import os
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crc32c import crc32c

from odradek.base.error_codes import ErrorCode
from odradek.records.builder import assemble_batch
from odradek.records.compression import Codec
from odradek.records.header import HEADER_BYTES, blank_header
from odradek.testing import Broker
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.batches import BatchOf
from tests.integration.plain_clients import Connect, ConnectRaw, PlainClient, RawClient
from tests.integration.processes import NewProcess

pytestmark = [pytest.mark.slow, pytest.mark.integration]

FRAME_BYTES_MAX = 4_000_000
WRITE_BUFFER_BYTES = 100_000
INT32_MAX = (1 << 31) - 1


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    settings = {
        "socket.request.max.bytes": str(FRAME_BYTES_MAX),
        "odradek.connection.write.buffer.bytes": str(WRITE_BUFFER_BYTES),
        "connections.max.idle.ms": "600000",
    }
    with Broker(settings=settings) as running:
        yield running


@pytest.fixture
def raw(broker: Broker, connect_raw: ConnectRaw) -> Iterator[RawClient]:
    with connect_raw(broker.bootstrap_servers) as client:
        yield client


@pytest.fixture
def client(broker: Broker, connect: Connect) -> Iterator[PlainClient]:
    """An ordinary client, which must be served whatever the others do."""
    with connect(broker.bootstrap_servers) as ordinary:
        yield ordinary


def request_of(api_key: int, version: int, body: bytes = b"") -> bytes:
    return encode_request_header(RequestHeader(api_key, version, 7, "hostile")) + body


def is_served(client: PlainClient, topic: str, batch_of: BatchOf) -> bool:
    return client.produce(topic, batch_of(b"ordinary")).error_code == 0


# --- frames


@pytest.mark.parametrize("length", [FRAME_BYTES_MAX + 1, INT32_MAX, -1, -(1 << 31)])
def test_a_frame_of_an_impossible_length_ends_its_connection(
    broker: Broker, raw: RawClient, client: PlainClient, batch_of: BatchOf, length: int
) -> None:
    raw.socket.sendall(struct.pack(">i", length) + b"x" * 100)
    assert raw.is_closed()
    assert is_served(client, broker.create_topic(), batch_of)


def test_the_longest_frame_is_read(broker: Broker, raw: RawClient) -> None:
    request = request_of(18, 3, b"\x02x\x02y\x00")
    raw.send(request + bytes(FRAME_BYTES_MAX - len(request)))
    assert raw.receive() is not None


@pytest.mark.parametrize(
    ("api_key", "version"), [(-1, 0), (4, 0), (999, 0), (32767, 32767), (0, 2), (0, 99), (3, -1), (1, 3)]
)
def test_an_unknown_api_or_version_ends_its_connection(
    broker: Broker, raw: RawClient, client: PlainClient, batch_of: BatchOf, api_key: int, version: int
) -> None:
    raw.send(struct.pack(">hhih", api_key, version, 7, -1) + bytes(16))
    assert raw.is_closed()
    assert is_served(client, broker.create_topic(), batch_of)


def test_an_unknown_version_of_api_versions_is_answered_in_the_first_layout(raw: RawClient) -> None:
    """KIP-511"""
    raw.send(struct.pack(">hhih", API_VERSIONS, 99, 7, -1) + bytes(16))
    payload = raw.receive()
    assert payload is not None, "the connection stays open"
    assert payload[:4] == struct.pack(">i", 7)
    answer = ApiVersionsResponse.decode(payload, 0, 4)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert API_VERSIONS in [api.api_key for api in answer.api_keys]


@pytest.mark.parametrize(
    "name", ["Produce", "Fetch", "Metadata", "CreateTopics", "ListOffsets", "DeleteRecords"]
)
@pytest.mark.parametrize("count", [INT32_MAX, 100_001, -2])
def test_a_hostile_count_ends_its_connection(
    broker: Broker, raw: RawClient, client: PlainClient, batch_of: BatchOf, name: str, count: int
) -> None:
    """The first array of a request that is not flexible, as a count and nothing behind it."""
    api = next(api for api in APIS.values() if api.name == name)
    version = min(api.request_class.FLEXIBLE_FROM - 1, api.versions.highest)
    body = api.request_class().encode(version)
    position = body.find(struct.pack(">i", 0))
    hostile = body[: max(position, 0)] + struct.pack(">i", count) * 40
    raw.send(request_of(api.key, version, hostile))
    assert raw.is_closed()
    assert is_served(client, broker.create_topic(), batch_of)


# --- time


def test_half_a_frame_holds_up_nobody_else_and_is_closed_as_idle(
    broker: Broker, raw: RawClient, client: PlainClient, batch_of: BatchOf
) -> None:
    raw.socket.sendall(struct.pack(">i", 1000) + b"half of it")
    assert is_served(client, broker.create_topic(), batch_of)
    broker.clock.advance(seconds=1300)
    assert raw.is_closed()


def handling(broker: Broker, port: str) -> bool:
    """Whether a request of the client at that port is at work or parked."""
    return any(row["is_handling"] for row in broker.describe("connections") if row["client"].endswith(port))


def test_an_idle_connection_is_closed_also_when_it_has_waited_for_data(
    broker: Broker, raw: RawClient, connect_raw: ConnectRaw, batch_of: BatchOf
) -> None:
    topic = broker.create_topic()
    with connect_raw(broker.bootstrap_servers) as parked:
        wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
        request = FetchRequest(max_wait_ms=INT32_MAX, min_bytes=1, topics=[wanted])
        parked.send(request_of(1, 4, request.encode(4)))
        port = f":{parked.socket.getsockname()[1]}"
        while not handling(broker, port):
            raw.send(request_of(18, 0))
            assert raw.receive() is not None
        broker.clock.advance(seconds=1300)
        assert raw.is_closed()
        while parked.receive() is not None:
            continue  # its wait has ended, and then it was idle, too


def test_a_peer_that_takes_no_answers_stops_being_read(
    broker: Broker, raw: RawClient, client: PlainClient, batch_of: BatchOf
) -> None:
    """What it can make the broker hold is one answer and its write buffer; later it gets all, in order."""
    topic = broker.create_topic()
    assert client.produce(topic, batch_of(b"x" * 500_000)).error_code == 0
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
    body = FetchRequest(max_bytes=1 << 20, topics=[wanted]).encode(4)
    requests = 200
    for number in range(requests):
        header = encode_request_header(RequestHeader(1, 4, number, "slow"))
        raw.send(header + body)
    assert is_served(client, broker.create_topic(), batch_of)
    mine = f":{raw.socket.getsockname()[1]}"
    (row,) = [row for row in broker.describe("connections") if row["client"].endswith(mine)]
    assert row["unsent_bytes"] < WRITE_BUFFER_BYTES + 600_000
    for number in range(requests):
        answer = raw.receive()
        assert answer is not None, f"closed after {number} answers"
        assert answer[:4] == struct.pack(">i", number)
        assert len(answer) > 500_000


# --- names


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "a b", "é", "a\0b", "x" * 250, "con:1"]
)
def test_a_name_that_is_none_reaches_no_path(
    broker: Broker, client: PlainClient, batch_of: BatchOf, name: str
) -> None:
    connection = client.connection
    created = connection.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1)]), CreateTopicsResponse)
    assert created.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    described = connection.ask(asked, MetadataResponse, 9)
    assert described.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    wrote = client.produce(name, batch_of(b"x"))
    assert wrote.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)
    read = FetchTopic(topic=name, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
    fetched = connection.ask(FetchRequest(topics=[read]), FetchResponse, 12)
    assert fetched.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_names_that_differ_in_dots_and_underscores_alone_collide(broker: Broker, client: PlainClient) -> None:
    broker.create_topic("collides.with_me")
    request = CreateTopicsRequest([CreatableTopic("collides_with.me", 1, 1)])
    answer = client.connection.ask(request, CreateTopicsResponse).topics[0]
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "collides.with_me" in (answer.error_message or "")


# --- batches


def sealed(batch: bytearray) -> bytearray:
    """The batch with the CRC that its bytes have."""
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch


def with_field(layout: str, position: int, value: int) -> Callable[[bytearray], bytearray]:
    def change(batch: bytearray) -> bytearray:
        struct.pack_into(layout, batch, position, value)
        return sealed(batch)

    return change


def with_record_byte(index: int, value: int) -> Callable[[bytearray], bytearray]:
    return with_field(">B", HEADER_BYTES + index, value)


def without_tail(batch: bytearray) -> bytearray:
    del batch[-3:]
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    return sealed(batch)


def with_trailing_bytes(batch: bytearray) -> bytearray:
    batch += b"\0\0\0"
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    return sealed(batch)


def with_a_wrong_crc(batch: bytearray) -> bytearray:
    batch[17] ^= 1
    return batch


def cut_short(batch: bytearray) -> bytearray:
    return batch[:-5]


LIES: dict[str, Callable[[bytearray], bytearray]] = {
    "a count above the records": with_field(">i", 57, 3),
    "a count below the records": with_field(">i", 57, 1),
    "a negative count": with_field(">i", 57, -2),
    "a huge count": with_field(">i", 57, INT32_MAX),
    "no records": with_field(">i", 57, 0),
    "another last offset": with_field(">i", 23, 9),
    "an unknown codec": with_field(">h", 21, 7),
    "a codec that was not used": with_field(">h", 21, 4),
    "a control batch": with_field(">h", 21, 0x20),
    "magic 1": with_field(">b", 16, 1),
    "magic 3": with_field(">b", 16, 3),
    "a negative magic": with_field(">b", 16, -1),
    "a length below a header": with_field(">i", 8, 20),
    "a length above what came": with_field(">i", 8, 100_000),
    "a negative length": with_field(">i", 8, -1),
    "a record longer than the batch": with_record_byte(0, 0x7E),
    "a record of negative length": with_record_byte(0, 0x01),
    "a key longer than its record": with_record_byte(4, 0x7E),
    "cut records": without_tail,
    "bytes behind the records": with_trailing_bytes,
    "a wrong CRC": with_a_wrong_crc,
    "cut short": cut_short,
    "empty": lambda batch: bytearray(),
    "two batches": lambda batch: batch + batch,
    "noise": lambda batch: bytearray(b"\xa5" * 200),
}
REFUSALS = {
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorCode.INVALID_TIMESTAMP,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_batch_that_lies_is_refused_and_nothing_is_stored(
    broker: Broker, client: PlainClient, batch_of: BatchOf, lie: str
) -> None:
    """R6"""
    topic = broker.create_topic()
    version = 9 if lie != "an unknown codec" else 7
    answer = client.produce(topic, LIES[lie](bytearray(batch_of(b"one", b"two"))), version=version)
    assert (answer.error_code in REFUSALS, answer.base_offset) == (True, -1), ErrorCode(answer.error_code)
    assert client.values(topic) == []
    assert client.produce(topic, batch_of(b"sound")).base_offset == 0


@pytest.mark.parametrize("timestamp_ms", [-5, 1 << 50, (1 << 63) - 1, -(1 << 63)])
def test_timestamps_far_from_now_are_refused(
    broker: Broker, client: PlainClient, batch_of: BatchOf, timestamp_ms: int
) -> None:
    """KIP-937: an hour ahead at most, by default."""
    topic = broker.create_topic()
    answer = client.produce(topic, batch_of(b"x", timestamp_ms=timestamp_ms))
    if timestamp_ms < 0:
        assert answer.error_code in (ErrorCode.NONE, *REFUSALS)
    else:
        assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
        assert client.values(topic) == []


def test_a_batch_above_the_limit_of_its_topic_is_refused(
    broker: Broker, client: PlainClient, batch_of: BatchOf
) -> None:
    """R6"""
    topic = broker.create_topic(configs={"max.message.bytes": "1000"})
    assert client.produce(topic, batch_of(b"x" * 1000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert client.values(topic) == []
    assert client.produce(topic, batch_of(b"x" * 900)).error_code == 0


def test_without_acks_a_failure_ends_the_connection(
    broker: Broker, raw: RawClient, batch_of: BatchOf
) -> None:
    """P1"""
    data = TopicProduceData("nowhere", partition_data=[PartitionProduceData(5, bytes(batch_of(b"x")))])
    raw.send(request_of(0, 8, ProduceRequest(acks=0, timeout_ms=1000, topic_data=[data]).encode(8)))
    assert raw.is_closed()


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused(broker: Broker, client: PlainClient, batch_of: BatchOf, acks: int) -> None:
    """P1"""
    topic = broker.create_topic()
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch_of(b"x")))])
    answer = client.connection.ask(ProduceRequest(acks=acks, topic_data=[data]), ProduceResponse, 9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert client.values(topic) == []


def zeros(codec: int, size_bytes: int) -> bytearray:
    """A batch whose one record claims to be most of `size_bytes` zeros, uncompressed."""
    header = blank_header()
    header.record_count, header.last_offset_delta = 1, 0
    header.base_timestamp = header.max_timestamp = 1_700_000_000_000
    return assemble_batch(header, bytes(size_bytes), codec)


def peak_mb(process_id: int) -> float:
    """The most memory that a process has had resident, in MB."""
    status = Path(f"/proc/{process_id}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_decompression_bombs_are_refused_within_bounded_memory(
    new_process: NewProcess, connect: Connect
) -> None:
    broker = new_process(socket_request_max_bytes="104857600", message_max_bytes="90000000")
    broker.start()
    with connect(broker.bootstrap_servers) as client:
        client.connection.ask(CreateTopicsRequest([CreatableTopic("bombs", 1, 1)]), CreateTopicsResponse)
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
            for _ in range(3):
                answer = client.produce("bombs", zeros(codec, 400_000_000))
                assert answer.error_code == ErrorCode.INVALID_RECORD, codec
        assert client.values("bombs") == []
    assert peak_mb(broker.pid) < 300


def test_a_bomb_within_a_bomb_claims_a_size_of_its_own(broker: Broker, client: PlainClient) -> None:
    """A snappy or zstd frame may state any size in its header; what is reserved must not depend on it."""
    topic = broker.create_topic()
    header = blank_header()
    header.record_count, header.last_offset_delta = 1, 0
    header.base_timestamp = header.max_timestamp = 1_700_000_000_000
    claims = {
        Codec.SNAPPY: b"\xff\xff\xff\xff\x0f" + b"\0" * 20,
        Codec.ZSTD: b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x3f" + b"\0" * 20,
        Codec.LZ4: b"\x04\x22\x4d\x18\x6c\x70" + b"\xff" * 8 + b"\0" * 20,
        Codec.GZIP: zlib.compress(b"no gzip")[:-4],
    }
    for codec, body in claims.items():
        batch = assemble_batch(header, b"x", Codec.NONE)
        batch[HEADER_BYTES:] = body
        struct.pack_into(">i", batch, 8, len(batch) - 12)
        struct.pack_into(">h", batch, 21, codec)
        answer = client.produce(topic, sealed(batch))
        assert answer.error_code in REFUSALS, codec
    assert client.values(topic) == []


# --- requests that ask for too much


def test_a_fetch_without_measure_is_answered_within_the_brokers(
    broker: Broker, client: PlainClient, batch_of: BatchOf
) -> None:
    topic = broker.create_topic()
    assert client.produce(topic, batch_of(b"x" * 900_000)).error_code == 0
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=INT32_MAX)
    nowhere = [FetchPartition(partition=number, partition_max_bytes=INT32_MAX) for number in range(1, 20_000)]
    topics = [FetchTopic(topic=topic, partitions=[partition] * 200 + nowhere)]
    request = FetchRequest(max_wait_ms=0, max_bytes=INT32_MAX, topics=topics)
    answer = client.connection.ask(request, FetchResponse, 12)
    size_bytes = sum(len(one.records or b"") for found in answer.responses for one in found.partitions)
    assert 900_000 <= size_bytes < 60_000_000
    errors = {one.error_code for found in answer.responses for one in found.partitions if one.partition_index}
    assert errors == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_offsets_of_partitions_that_are_not_there(broker: Broker, client: PlainClient) -> None:
    topic = broker.create_topic()
    asked = [ListOffsetsPartition(partition_index=number, timestamp=-1) for number in (-1, 1, INT32_MAX)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=asked)])
    answer = client.connection.ask(request, ListOffsetsResponse, 6)
    codes = [one.error_code for one in answer.topics[0].partitions]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3


@pytest.mark.parametrize("offset", [1, -1, -(1 << 63), (1 << 63) - 1])
def test_an_offset_outside_the_log_is_out_of_range(broker: Broker, client: PlainClient, offset: int) -> None:
    """L3"""
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    topics = [FetchTopic(topic=broker.create_topic(), partitions=[wanted])]
    answer = client.connection.ask(FetchRequest(max_wait_ms=0, topics=topics), FetchResponse, 12)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.fixture
def poor_broker(tmp_path: Path) -> Iterator[str]:
    """A broker that may open 200 files and begins a new segment with almost every batch; its host:port."""
    serve = [sys.executable, "-m", "odradek.cli.main", "serve", "--port", "0", "--data-dir", str(tmp_path)]
    serve += ["--set", "log.roll.ms=1"]
    limited = ["sh", "-c", 'ulimit -n 200 && exec "$@"', "sh", *serve]
    with subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()
        assert process.wait(20) == 0


def test_no_number_of_connections_makes_a_write_fail(
    poor_broker: str, connect: Connect, batch_of: BatchOf
) -> None:
    """Open files are shared by connections and logs: without a share of their own, logs would go offline."""
    host, _, port = poor_broker.rpartition(":")
    with connect(poor_broker) as client:
        client.connection.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]), CreateTopicsResponse)
        crowd = [socket.create_connection((host, int(port))) for _ in range(400)]
        more = client.connection.ask(CreateTopicsRequest([CreatableTopic("u", 10, 1)]), CreateTopicsResponse)
        assert more.topics[0].error_code == 0
        assert client.produce("u", batch_of(b"x")).error_code == 0
        for number in range(5):
            batch = batch_of(b"x", timestamp_ms=1_700_000_000_000 + 10 * number)
            assert client.produce("t", batch).error_code == 0
        for one in crowd:
            one.close()
    with connect(poor_broker) as client:
        assert len(client.values("t")) == 5
