"""The records of KRaft's metadata log, as far as they say what topics a cluster has.

A value is a frame version, an API key and a version as unsigned varints, then the message. Kinds that are not
known here are counted by their key: a later release may have others.

    01 02 00 ...     frame 1, TopicRecord, version 0
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.wire.message import Message
from odradek.wire.messages.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)

_FRAME_VERSIONS: Final = (0, 1)
_VARINT_BYTES_MAX: Final = 5

KINDS: Final[dict[int, type[Message]]] = {
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    9: RemoveTopicRecord,
    15: ProducerIdsRecord,
}
"""The records that are read, by their API keys."""
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
"""Records between them count together or not at all (KIP-868)."""

MetadataRecord: TypeAlias = Message | int
"""A message, or the API key of a kind that is not read."""


def decode_record(value: Buffer) -> MetadataRecord:
    """The record in a value. Raises MalformedRequest, also for a version that is not known here."""
    frame, position = _read_varint(value, 0)
    if frame not in _FRAME_VERSIONS:
        raise MalformedRequest(f"a metadata record of frame version {frame}")
    key, position = _read_varint(value, position)
    version, position = _read_varint(value, position)
    kind = KINDS.get(key)
    return key if kind is None else kind.decode(value, version, position)


def committed_records(values: Iterable[Buffer]) -> Iterator[MetadataRecord]:
    """The records of a log in order, without those of transactions that were aborted or are still open."""
    pending: list[MetadataRecord] | None = None
    for value in values:
        record = decode_record(value)
        match record:
            case 23:
                pending = []
            case 24:
                yield from pending or ()
                pending = None
            case 25:
                pending = None
            case _ if pending is not None:
                pending.append(record)
            case _:
                yield record


def _read_varint(data: Buffer, position: int) -> tuple[int, int]:
    number = 0
    for place in range(_VARINT_BYTES_MAX):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position
    raise MalformedRequest("a metadata record ends within its header")
