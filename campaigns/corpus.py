"""The requests that campaigns mutate: every API and version with random values, and some of real clients."""

import dataclasses
import random
import struct
import typing
import uuid

from odradek.base.ids import NO_PRODUCER_ID
from odradek.records.builder import BatchBuilder
from odradek.records.header import HEADER_BYTES, OVERHEAD_BYTES, computed_crc, read_header
from odradek.server.handlers.registry import Handlers
from odradek.wire.apis import APIS, Api
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message, Structure
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

# Requests of every kind name it, so it is sometimes deleted and changed.
TOPIC = "fuzzed"
# Only produce requests name it, so their records are still there at the end.
WRITTEN_TOPIC = "written"

# Where a batch's header holds its length and its CRC, and where what the CRC covers begins.
_LENGTH_AT, _CRC_AT, _AFTER_CRC = 8, 17, 21

_INTS = (-(1 << 63), -(1 << 31), -2, -1, 0, 1, 2, 3, 100, 1000, (1 << 31) - 1, (1 << 63) - 1)
_STRINGS = (TOPIC, "", "a", "__consumer_offsets", "../etc", "x" * 300, "é", "compact", "0")


def framed(header: RequestHeader, body: bytes) -> bytes:
    """A request as it goes over the wire."""
    content = encode_request_header(header) + body
    return struct.pack(">i", len(content)) + content


def seeds(chance: random.Random, per_version: int = 8) -> list[bytes]:
    """Framed requests of all APIs that are served, and a few of others; each decodes in its own version."""
    served = Handlers().api_keys
    found = []
    for api in APIS.values():
        if api.key in served:
            for version in api.versions.span():
                found += [_seed(api, version, chance) for _ in range(per_version)]
        else:
            found.append(_seed(api, api.versions.highest, chance))
    found += [produce(sound_batch(chance), chance) for _ in range(200)]
    return found


def sound_batch(chance: random.Random) -> bytearray:
    """A batch as a client sends it: any codec, some with a producer's id and sequence."""
    is_idempotent = chance.random() < 0.3
    builder = BatchBuilder(
        codec=chance.randrange(5),
        producer_id=chance.randrange(4) if is_idempotent else NO_PRODUCER_ID,
        producer_epoch=0 if is_idempotent else -1,
        base_sequence=chance.randrange(3) if is_idempotent else -1,
    )
    for number in range(chance.randrange(1, 4)):
        headers = ((b"h", b"v"),) if chance.random() < 0.3 else ()
        key = chance.choice((b"k", None, b""))
        builder.append(1_700_000_000_000 + number, key, b"v" * chance.choice((0, 1, 100, 3_000)), headers)
    return builder.build()


def lying_batch(chance: random.Random) -> bytearray:
    """A batch with a right CRC and a wrong header or body, which only validation finds."""
    batch = sound_batch(chance)
    for _ in range(chance.choice((1, 1, 2, 4))):
        batch[chance.randrange(_AFTER_CRC, len(batch))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
    if chance.random() < 0.2:
        del batch[chance.randrange(HEADER_BYTES, len(batch) + 1) :]
        struct.pack_into(">i", batch, _LENGTH_AT, len(batch) - OVERHEAD_BYTES)
    struct.pack_into(">I", batch, _CRC_AT, computed_crc(batch, read_header(batch)))
    return batch


def produce(batch: bytes | bytearray, chance: random.Random) -> bytes:
    """A framed request that writes the batch."""
    data = PartitionProduceData(index=0, records=bytes(batch))
    topic = TopicProduceData(name=WRITTEN_TOPIC, partition_data=[data])
    request = ProduceRequest(acks=chance.choice((0, 1, -1)), timeout_ms=100, topic_data=[topic])
    version = chance.randrange(3, 13)
    return framed(RequestHeader(0, version, 1, "fuzz"), request.encode(version))


def _seed(api: Api, version: int, chance: random.Random) -> bytes:
    header = RequestHeader(api.key, version, chance.randrange(1 << 31), chance.choice((None, "fuzz")))
    for _ in range(50):
        try:
            return framed(header, _filled(api.request_class, chance).encode(version))
        except (struct.error, OverflowError, ValueError, TypeError, AttributeError, AssertionError):
            continue  # This version cannot carry the value: draw another.
    return framed(header, api.request_class().encode(version))


def _filled(kind: type[Message] | type[Structure], chance: random.Random, depth: int = 0) -> typing.Any:
    """An instance with small random values in its fields."""
    hints = typing.get_type_hints(kind)
    values = {
        field.name: _value(hints[field.name], chance, depth)
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        if chance.random() < 0.8
    }
    return kind(**values)


def _value(hint: typing.Any, chance: random.Random, depth: int) -> typing.Any:
    arguments = typing.get_args(hint)
    if type(None) in arguments and chance.random() < 0.2:
        return None
    choices = [one for one in arguments if one is not type(None)]
    if typing.get_origin(hint) is list:
        count = chance.choice((0, 1, 1, 2)) if depth < 4 else 0
        return [_value(arguments[0], chance, depth + 1) for _ in range(count)]
    if choices:
        return _value(choices[0], chance, depth)
    if hint is bool:
        return chance.random() < 0.5
    if hint is int:
        return chance.choice(_INTS) if chance.random() < 0.3 else chance.randrange(-2, 5)
    if hint is str:
        return chance.choice(_STRINGS)
    if hint is float:
        return chance.random()
    if hint is uuid.UUID:
        return uuid.UUID(int=chance.getrandbits(128))
    if hint in (bytes, bytearray, memoryview):
        return chance.randbytes(chance.randrange(64))
    return _filled(hint, chance, depth + 1)
