"""Hand-made Fetch requests, for readers that cost the driver almost nothing and for fetches that wait.

Version 4, the oldest that is still served everywhere: no session, one partition, its topic by name.
"""

import socket
import struct
from collections.abc import Iterator

from peers.process import HOST

FETCH_KEY = 1
FETCH_VERSION = 4
FETCH_BYTES_MAX = 50 * 1024 * 1024
CLIENT_ID = b"bench"

# In a response after its length: correlation id, throttle time, one topic with its name, one partition:
# index, error code, high watermark, last stable offset, number of aborted transactions.
RESPONSE_BEFORE_NAME = struct.Struct(">iiih")
PARTITION = struct.Struct(">iihqqi")

# A record batch: base offset, length of what follows these two, and further on the last offset's delta.
BATCH_START = struct.Struct(">qi")
LAST_OFFSET_DELTA = struct.Struct(">i")
LAST_OFFSET_DELTA_AT = 23
BATCH_BYTES_MIN = 61


def fetch_request(
    topic: str,
    offset: int,
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    partition_bytes_max: int = 1024 * 1024,
) -> bytes:
    """The bytes of a Fetch v4 for partition 0, with its length in front."""
    name = topic.encode()
    body = struct.pack(">hhih", FETCH_KEY, FETCH_VERSION, 0, len(CLIENT_ID)) + CLIENT_ID
    body += struct.pack(">iiiib", -1, max_wait_ms, min_bytes, FETCH_BYTES_MAX, 0)
    body += struct.pack(">ih", 1, len(name)) + name
    body += struct.pack(">iiqi", 1, 0, offset, partition_bytes_max)
    return struct.pack(">i", len(body)) + body


def connect(port: int) -> socket.socket:
    """A connection to the broker on a loopback port."""
    connection = socket.create_connection((HOST, port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Reader:
    """Reads partition 0 of a topic from its beginning, one request at a time, and skips the records."""

    def __init__(self, port: int, topic: str) -> None:
        self._connection = connect(port)
        self._topic = topic
        self._buffer = bytearray(64 * 1024)

    def read_until(self, end_offset: int) -> int:
        """Fetch up to an offset; returns the bytes of all batches on the way."""
        offset = 0
        read_bytes = 0
        while offset < end_offset:
            self._connection.sendall(fetch_request(self._topic, offset))
            records = self._receive_records()
            before = offset
            for last_offset, size_bytes in _batches(records):
                if last_offset >= offset:
                    offset = last_offset + 1
                    read_bytes += size_bytes
            assert offset > before, f"nothing at offset {offset}"
        return read_bytes

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _receive_records(self) -> memoryview:
        (length,) = struct.unpack(">i", self._receive(4))
        response = self._receive(length)
        *_, name_length = RESPONSE_BEFORE_NAME.unpack_from(response)
        position = RESPONSE_BEFORE_NAME.size + name_length
        _, _, error, _, _, aborted = PARTITION.unpack_from(response, position)
        assert error == 0, f"error {error}"
        position += PARTITION.size + 16 * max(0, aborted)
        return response[position + 4 :]

    def _receive(self, count: int) -> memoryview:
        if count > len(self._buffer):
            self._buffer = bytearray(2 * count)
        view = memoryview(self._buffer)[:count]
        received = 0
        while received < count:
            got = self._connection.recv_into(view[received:])
            assert got > 0, "the broker closed the connection"
            received += got
        return view


def _batches(records: memoryview) -> Iterator[tuple[int, int]]:
    # The last batch may be cut off.
    position = 0
    while position + BATCH_BYTES_MIN <= len(records):
        base_offset, length = BATCH_START.unpack_from(records, position)
        size_bytes = BATCH_START.size + length
        if position + size_bytes > len(records):
            return
        (delta,) = LAST_OFFSET_DELTA.unpack_from(records, position + LAST_OFFSET_DELTA_AT)
        yield base_offset + delta, size_bytes
        position += size_bytes
