"""The plainest clients there are: one that follows the protocol, and one that need not."""

import socket
import struct
from typing import Self, TypeAlias

from odradek.net.blocking_connection import BrokerConnection
from odradek.records.framing import iter_records
from odradek.records.header import iter_headers
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

WAIT_S = 20.0


class RawClient:
    """A socket to a broker, for bytes that no proper client sends."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), WAIT_S)

    def send(self, payload: bytes) -> None:
        """Send a frame with this payload."""
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def receive(self) -> bytes | None:
        """The payload of the next frame, or None when the broker closed the connection instead."""
        length = self._exactly(4)
        return None if length is None else self._exactly(struct.unpack(">i", length)[0])

    def is_closed(self) -> bool:
        """Wait for what comes next; whether that was the end."""
        return self._exactly(1) is None

    def _exactly(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                received = self.socket.recv(count - len(data))
            except ConnectionError:
                received = b""
            if not received:
                return None
            data += received
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


class PlainClient:
    """A connection that follows the protocol, with what these tests do most."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self.connection = BrokerConnection(host, int(port), timeout_s=WAIT_S)

    def produce(
        self, topic: str, records: bytes | bytearray, *, version: int = 9
    ) -> PartitionProduceResponse:
        """Write these bytes to partition 0 with acks=all; what the broker says of it."""
        data = PartitionProduceData(index=0, records=bytes(records))
        topic_data = [TopicProduceData(topic, partition_data=[data])]
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topic_data)
        answer = self.connection.ask(request, ProduceResponse, version)
        return answer.responses[0].partition_responses[0]

    def values(self, topic: str) -> list[bytes]:
        """Every value in partition 0; asserts that offsets are dense from 0 on."""
        values: list[bytes] = []
        while True:
            records = self._fetch(topic, len(values))
            read = [
                record
                for position, header in iter_headers(records)
                for record in iter_records(records, header, position)
                if record.offset >= len(values)
            ]
            assert [record.offset for record in read] == list(range(len(values), len(values) + len(read)))
            if not read:
                return values
            values += [bytes(record.value or b"") for record in read]

    def _fetch(self, topic: str, offset: int) -> bytes | bytearray | memoryview:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[wanted])]
        )
        answer = self.connection.ask(request, FetchResponse, 12).responses[0].partitions[0]
        assert answer.error_code == 0, f"reading {topic} at {offset}: error {answer.error_code}"
        return answer.records or b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()


Connect: TypeAlias = type[PlainClient]
"""Call it with host:port."""
ConnectRaw: TypeAlias = type[RawClient]
"""Call it with host:port."""
