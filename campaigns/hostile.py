"""Valid requests that are built to cost much: few bytes on the wire, much work or memory for a broker.

Each class is a way that once held a broker for seconds: compressed batches that hold next to nothing or very
much, millions of tiny records, arrays and tagged fields in large numbers, many requests in one write, and
connections that announce much and send little, or ask much and read nothing.
"""

import random
import socket
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

import cramjam

from campaigns.corpus import TOPIC, WRITTEN_TOPIC, framed
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec, compress
from odradek.records.framing import append_record
from odradek.records.header import HEADER_BYTES, read_header
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_NOW_MS: Final = 1_700_000_000_000
_CLIENT: Final = "fuzz"
_XERIAL_HEADER: Final = b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2
_SKIPPABLE_FRAME: Final = b"\x50\x2a\x4d\x18" + bytes(4)
_LZ4_EMPTY: Final = bytes(cramjam.lz4.compress(b""))
# A frame without checksums, up to its first block; its end is a block of size 0.
_LZ4_OPENING: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_END: Final = bytes(4)
_ZSTD_EMPTY: Final = bytes(cramjam.zstd.compress(b""))
# Eight blocks of ten bits, the first bit lowest: not the last block, fixed codes (01), end of block.
_FIXED_DEFLATE_BLOCKS: Final = int(("010" + "0000000")[::-1] * 8, 2).to_bytes(10, "little")
_STORED_DEFLATE_BLOCK: Final = b"\x00\x00\x00\xff\xff"
_ANNOUNCED_BYTES: Final = 100_000_000


def _gzip_of(deflate_blocks: bytes) -> bytes:
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflate_blocks + b"\x01\x00\x00\xff\xff" + bytes(8)


class Padding(NamedTuple):
    """A stream of pieces that hold next to nothing; a decompressor without bounds reads all of it."""

    codec: Codec
    opening: bytes
    piece: bytes
    closing: bytes

    def packed(self, size_bytes: int) -> bytes:
        """As many pieces as fit in `size_bytes`, with the stream's beginning and end."""
        return self.opening + self.piece * (size_bytes // len(self.piece)) + self.closing


_GZIP_OPENING: Final = _gzip_of(b"")[:10]
_GZIP_END: Final = _gzip_of(b"")[10:]
DEFLATE_BLOCKS: Final = (
    Padding(Codec.GZIP, _GZIP_OPENING, _FIXED_DEFLATE_BLOCKS, _GZIP_END),
    Padding(Codec.GZIP, _GZIP_OPENING, _STORED_DEFLATE_BLOCK, _GZIP_END),
)
EMPTY_PIECES: Final = (
    Padding(Codec.GZIP, b"", _gzip_of(b""), b""),
    Padding(Codec.SNAPPY, _XERIAL_HEADER, b"\x00\x00\x00\x01\x00", b""),
    Padding(Codec.SNAPPY, b"", _XERIAL_HEADER, b""),
    Padding(Codec.SNAPPY, _XERIAL_HEADER, b"\x00\x00\x00\x03\x01\x00x", b""),
    Padding(Codec.LZ4, _LZ4_OPENING, b"\x01\x00\x00\x00\x00", _LZ4_END),
    Padding(Codec.LZ4, b"", _LZ4_EMPTY, b""),
    Padding(Codec.LZ4, b"", _SKIPPABLE_FRAME, b""),
    Padding(Codec.ZSTD, b"", _ZSTD_EMPTY, b""),
    Padding(Codec.ZSTD, b"", _SKIPPABLE_FRAME, b""),
    Padding(Codec.ZSTD, b"\x28\xb5\x2f\xfd\x00\x58", bytes(3), b"\x01\x00\x00"),
)


def packed_batch(codec: Codec, packed: bytes, record_count: int) -> bytes:
    """A batch with a right CRC around any compressed bytes."""
    builder = BatchBuilder()
    builder.append(_NOW_MS, None, b"")
    batch = bytearray(builder.build()[:HEADER_BYTES]) + packed
    header = read_header(builder.build())
    header.attributes = codec
    header.record_count, header.last_offset_delta = record_count, record_count - 1
    header.size_bytes = len(batch)
    header.seal_into(batch)
    return bytes(batch)


def compression_work(chance: random.Random) -> bytes:
    """A produce request whose batch decompresses to nothing, in as many pieces as fit."""
    size_bytes = chance.choice((1_000, 30_000, 200_000, 900_000))
    padding = chance.choice(DEFLATE_BLOCKS if chance.random() < 0.3 else EMPTY_PIECES)
    packed = padding.packed(size_bytes)
    return _produce(packed_batch(padding.codec, packed, chance.choice((1, 1_000, 5_000_000))), chance)


def tiny_records(chance: random.Random) -> bytes:
    """A produce request of very many records, or of records with very many headers."""
    codec = chance.choice(list(Codec))
    body = bytearray()
    count = chance.choice((500, 5_000, 50_000) if codec is Codec.NONE else (5_000, 50_000, 200_000))
    if chance.random() < 0.2:
        append_record(body, 0, 0, None, b"", ((b"", None),) * count)
        records = 1
    else:
        for number in range(count):
            append_record(body, 0, number, None, None)
        records = count
    return _produce(packed_batch(codec, bytes(compress(codec, body)), records), chance)


def bomb(chance: random.Random) -> bytes:
    """A produce request of few KB that holds tens of MB."""
    codec = chance.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD))
    body = bytearray()
    append_record(body, 0, 0, None, bytes(chance.choice((1, 9, 60, 70)) << 20))
    packed = bytes(compress(codec, body))
    return _produce(packed_batch(codec, packed, 1), chance)


def lookups_by_time(chance: random.Random) -> bytes:
    """Many lookups by time in the written records, one after another."""
    version = chance.randrange(1, 9)
    timestamp = chance.choice((_NOW_MS, _NOW_MS + 1, 0, -3 if version > 6 else _NOW_MS))
    topic = ListOffsetsTopic(WRITTEN_TOPIC, [ListOffsetsPartition(0, -1, timestamp)])
    request = ListOffsetsRequest(-1, 0, [topic]).encode(version)
    return framed(RequestHeader(2, version, 1, _CLIENT), request) * chance.choice((1, 20))


def many_elements(chance: random.Random) -> bytes:
    """A request of tens of thousands of array elements of the smallest size."""
    count = chance.choice((1_000, 20_000, 99_000, 120_000))
    topics = [MetadataRequestTopic(name=TOPIC)] * count
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return framed(RequestHeader(3, 9, 1, _CLIENT), request.encode(9))


def tagged_fields(chance: random.Random) -> bytes:
    """A request with large numbers of unknown tagged fields, in its header or at its end."""
    count = chance.choice((100, 1_900, 9_000, 12_000, 90_000))
    tags = _uvarint(count) + b"".join(_uvarint(100 + number) + b"\x00" for number in range(count))
    body = ListGroupsRequest().encode(4)[:-1]
    header = RequestHeader(16, 4, 1, _CLIENT)
    if chance.random() < 0.5:
        return framed(header, body + tags)
    content = encode_request_header(header)[:-1] + tags + body + b"\x00"
    return struct.pack(">i", len(content)) + content


def pipelined(chance: random.Random) -> bytes:
    """Very many requests in one write; the most are nearly what the broker reads of a socket at once."""
    one = framed(RequestHeader(16, 2, 1, _CLIENT), ListGroupsRequest().encode(2))
    return one * chance.choice((50, 1_000, 14_000))


HOSTILE: Final[tuple[Callable[[random.Random], bytes], ...]] = (
    compression_work,
    compression_work,
    tiny_records,
    bomb,
    lookups_by_time,
    many_elements,
    tagged_fields,
    pipelined,
)


def hostile_requests(chance: random.Random, count: int) -> list[bytes]:
    """Some of each kind; making them takes longer than sending them."""
    return [HOSTILE[number % len(HOSTILE)](chance) for number in range(count)]


def hold_memory(address: tuple[str, int], chance: random.Random, count: int) -> list[socket.socket]:
    """Open connections that announce large frames and send little of them, or ask much and read nothing."""
    held = []
    questions = framed(RequestHeader(3, 1, 1, _CLIENT), MetadataRequest(topics=None).encode(1)) * 200
    for _ in range(count):
        one = socket.create_connection(address)
        held.append(one)
        if chance.random() < 0.5:
            one.sendall(struct.pack(">i", _ANNOUNCED_BYTES) + bytes(chance.choice((0, 300, 5_000))))
        else:
            one.setblocking(False)
            try:
                one.send(questions)
            except BlockingIOError:
                pass  # as much as fits: the broker reads no more
    return held


def _produce(batch: bytes, chance: random.Random) -> bytes:
    topic = TopicProduceData(WRITTEN_TOPIC, partition_data=[PartitionProduceData(0, batch)])
    request = ProduceRequest(acks=chance.choice((1, -1)), timeout_ms=100, topic_data=[topic])
    return framed(RequestHeader(0, 9, 1, _CLIENT), request.encode(9))


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
