"""Reading a partition of `__consumer_offsets` into memory when this broker comes to lead it.

It works in steps of a fraction of a millisecond, so that a million offsets delay no other client. Its inner
loop is optimized for speed: it decodes offset records in place; all other kinds go to the wire decoder.

    log   g1 t-0 7 │ g1 t-0 8 │ g2 members │ pid 9: g1 t-1 3 │ g1 t-0 null │ marker: 9 committed
    →     g1: t-1 3        g2: its members, Stable
"""

import logging
from collections.abc import Generator
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from odradek.base.errors import InvalidRecord, LogError, MalformedRequest
from odradek.base.execution import Steps
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.coordinator.classic.classic_membership import GroupSnapshot
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.groups.consumer_records import CONSUMER_KEY_VERSIONS, read_record
from odradek.coordinator.groups.log_records import (
    GROUP_KEY_VERSION,
    OFFSET_KEY_VERSION,
    OFFSET_VALUE_VERSION,
    read_group,
    read_group_key,
    read_offset,
    read_offset_key,
)
from odradek.coordinator.groups.offsets import (
    NO_EXPIRY,
    CommittedOffset,
    GroupOffsets,
    StoredOffset,
    log_offset_of,
)
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.ports import PartitionReader, UnreadablePartition
from odradek.records.control import read_marker
from odradek.records.framing import DECOMPRESSED_USUAL_BYTES_MAX, body_of
from odradek.records.header import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    read_header,
)
from odradek.records.varint import read_varint
from odradek.wire.versioned import version_of

_log = logging.getLogger(__name__)

RECORDS_PER_STEP: Final = 50
"""What is replayed in one step: a fraction of a millisecond."""
GROUPS_PER_STEP: Final = 10
READ_BYTES: Final = 64 << 10
"""How much is read at once: a fraction of a millisecond from the page cache."""

# Of a batch's header: base offset, length, attributes, last offset delta.
_BATCH: Final = Struct(">qi9xhi").unpack_from
# What makes a batch another than a row of records as they stand.
_SPECIAL: Final = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT
_OFFSET_VALUE: Final = Struct(">hqih").unpack_from
_OFFSET_VALUE_BYTES: Final = 16
_TIMESTAMP: Final = Struct(">q").unpack_from

_Offsets = dict[TopicPartition, StoredOffset]


@dataclass(slots=True)
class _Replay:
    """What the records say so far."""

    # By the group's id in UTF-8: decoding it once per record would cost more than everything else.
    offsets: dict[bytes, _Offsets] = field(default_factory=dict)
    # Of transactions that are open at this point of the log; None for an offset taken back in one.
    staged: dict[ProducerId, dict[bytes, dict[TopicPartition, StoredOffset | None]]] = field(
        default_factory=dict
    )
    snapshots: dict[str, GroupSnapshot] = field(default_factory=dict)
    # Groups of the consumer protocol, those included that were taken back.
    consumers: dict[str, ConsumerMembership] = field(default_factory=dict)
    # Partitions by their bytes in a key: few, and named by every record.
    partitions: dict[bytes, TopicPartition] = field(default_factory=dict)
    # Records taken in this step.
    taken: int = 0


def load(shard: Shard, reader: PartitionReader) -> Steps[None]:
    """Read the shard's partition and put its groups in place, as long as it is led; yields between steps.

    Raises LogError when it cannot be read to its end. A single record that cannot be decoded is left out.
    """
    replay = _Replay()
    end = yield from _read(shard, reader, replay)
    yield from _install(shard, replay)
    if not shard.is_closed:
        shard.is_loading = False
        # Not every in-sync replica may have all of that yet (R19).
        shard.log.await_replication(end)


def _read(shard: Shard, reader: PartitionReader, replay: _Replay) -> Generator[None, None, Offset]:
    """Replay the partition; where it ends."""
    bounds = reader.bounds(shard.topic_partition)
    if bounds is None:
        return 0
    position, end = bounds
    while position < end and not shard.is_closed:
        data = bytes(reader.read(shard.topic_partition, position, READ_BYTES))
        before, at = position, 0
        while at + HEADER_BYTES <= len(data):
            base_offset, length, attributes, last_delta = _BATCH(data, at)
            behind = at + OVERHEAD_BYTES + length
            if length < HEADER_BYTES - OVERHEAD_BYTES or behind > len(data):
                break
            yield from _take_batch(replay, data, at, behind, base_offset, attributes)
            position, at = base_offset + last_delta + 1, behind
        if position <= before:
            raise UnreadablePartition(f"{shard.topic_partition} holds no batch at offset {position}")
        yield
    return end


def _take_batch(
    replay: _Replay, data: bytes, at: int, behind: int, base_offset: Offset, attributes: int
) -> Steps[None]:
    """Replay one batch, which begins at `at` and ends before `behind`.

    What cannot be read in it is logged and left out.
    """
    body, position, end, producer_id = data, at + HEADER_BYTES, behind, None
    try:
        if attributes & _SPECIAL:
            header = read_header(data, at)
            if header.is_control:
                marker = read_marker(data[at:behind])
                if marker is not None:
                    _complete(replay, header.producer_id, committed=marker.committed)
                return
            body = body_of(data, header, at, bytes_max=DECOMPRESSED_USUAL_BYTES_MAX)
            position, end = 0, len(body)
            producer_id = header.producer_id if header.is_transactional else None
        while position < end:
            position = _take_records(replay, body, position, end, base_offset, producer_id)
            if replay.taken >= RECORDS_PER_STEP:
                replay.taken = 0
                yield
    except (LogError, IndexError) as error:
        _log.error("the rest of the batch at offset %d is left out: %s", base_offset, error)


def _take_records(
    replay: _Replay,
    body: bytes,
    position: int,
    end: int,
    log_offset: Offset,
    producer_id: ProducerId | None,
) -> int:
    """Replay records until the end, or the end of the turn; how far that went.

    Raises InvalidRecord, IndexError.
    """
    while position < end and replay.taken < RECORDS_PER_STEP:
        replay.taken += 1
        length, position = read_varint(body, position)
        record_end = position + length
        if length < 0 or record_end > end:
            raise InvalidRecord(f"a record of {length} bytes ends outside its batch")
        # Attributes; then the deltas of timestamp and offset, which tell us nothing.
        position += 1
        while body[position] > 0x7F:
            position += 1
        position += 1
        while body[position] > 0x7F:
            position += 1
        length, position = read_varint(body, position + 1)
        if length >= 0:
            key = body[position : position + length]
            length, position = read_varint(body, position + length)
            value = None if length < 0 else body[position : position + length]
            try:
                _take_record(replay, key, value, log_offset, producer_id)
            except MalformedRequest as error:
                _log.error("a record of the batch at offset %d is left out: %s", log_offset, error)
        position = record_end
    return position


def _take_record(
    replay: _Replay, key: bytes, value: bytes | None, log_offset: Offset, producer_id: ProducerId | None
) -> None:
    version = version_of(key)
    if version <= OFFSET_KEY_VERSION:
        cut = 4 + (key[2] << 8 | key[3]) if len(key) > 4 else 0
        suffix = key[cut:]
        topic_partition = replay.partitions.get(suffix)
        if topic_partition is None:
            topic_partition = replay.partitions[suffix] = read_offset_key(key)[1]
        offset = None if value is None else _offset(value, log_offset)
        group = key[4:cut]
        if producer_id is not None:
            staged = replay.staged.setdefault(producer_id, {})
            staged.setdefault(group, {})[topic_partition] = offset
            return
        committed = replay.offsets.get(group)
        if committed is None:
            committed = replay.offsets[group] = {}
        if offset is None:
            committed.pop(topic_partition, None)
            for by_group in replay.staged.values():
                by_group.get(group, {}).pop(topic_partition, None)
        else:
            committed[topic_partition] = offset
    elif version == GROUP_KEY_VERSION:
        group_id = read_group_key(key)
        if value is None:
            replay.snapshots.pop(group_id, None)
        else:
            replay.snapshots[group_id] = read_group(value)
    elif version in CONSUMER_KEY_VERSIONS:
        read = read_record(key, value)
        if read.change is not None:
            consumer = replay.consumers.get(read.group_id)
            if consumer is None:
                consumer = replay.consumers[read.group_id] = ConsumerMembership(read.group_id)
            consumer.apply(read.change)


def _offset(value: bytes, log_offset: Offset) -> StoredOffset:
    """`read_offset`, quickly where the value is of the version that all brokers write."""
    if len(value) > _OFFSET_VALUE_BYTES:
        version, offset, leader_epoch, length = _OFFSET_VALUE(value)
        behind = _OFFSET_VALUE_BYTES + length
        if version == OFFSET_VALUE_VERSION and len(value) == behind + 8 and length >= 0:
            try:
                metadata = value[_OFFSET_VALUE_BYTES:behind].decode() if length else ""
            except UnicodeDecodeError as error:
                raise MalformedRequest(f"metadata that is not UTF-8: {error}") from None
            (commit_ms,) = _TIMESTAMP(value, behind)
            return offset, leader_epoch, metadata, commit_ms, NO_EXPIRY, log_offset
    return read_offset(value, log_offset)[:]


def _complete(replay: _Replay, producer_id: ProducerId, *, committed: bool) -> None:
    for group, staged in replay.staged.pop(producer_id, {}).items():
        if not committed:
            continue
        offsets = replay.offsets.setdefault(group, {})
        for topic_partition, offset in staged.items():
            known = offsets.get(topic_partition)
            if offset is None:
                offsets.pop(topic_partition, None)
            elif known is None or log_offset_of(known) <= log_offset_of(offset):
                offsets[topic_partition] = offset


def _install(shard: Shard, replay: _Replay) -> Steps[None]:
    """Make groups of what was read."""
    for count, (raw_id, offsets) in enumerate(replay.offsets.items(), 1):
        if offsets:
            group_id = raw_id.decode(errors="replace")
            shard.groups[group_id] = shard.new_group(group_id, GroupOffsets(offsets))
        if count % GROUPS_PER_STEP == 0:
            yield
    for producer_id, by_group in replay.staged.items():
        for raw_id, staged in by_group.items():
            pending = [
                (key, CommittedOffset(*offset)) for key, offset in staged.items() if offset is not None
            ]
            shard.stage(producer_id, shard.group(raw_id.decode(errors="replace")), pending)
    for count, (group_id, snapshot) in enumerate(replay.snapshots.items(), 1):
        group = shard.group(group_id)
        group.is_stored = True
        group.membership.restore(snapshot)
        if count % GROUPS_PER_STEP == 0:
            yield
    for count, (group_id, consumer) in enumerate(replay.consumers.items(), 1):
        consumer.end_replay()
        if consumer.is_stored or consumer.members:
            shard.group(group_id).consumer = shard.new_consumer(consumer)
        if count % GROUPS_PER_STEP == 0:
            yield
    # Nobody could send heartbeats until now.
    for count, group in enumerate(list(shard.groups.values()), 1):
        if not shard.is_closed:
            group.resume()
        if count % GROUPS_PER_STEP == 0:
            yield
