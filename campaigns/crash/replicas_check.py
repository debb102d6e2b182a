"""What must hold of the replicas of a partition when their brokers have stopped.

`directories` are the log directories of all brokers, and each partition is in all of them.

- Each replica has everything below the partition's HW, the highest that a broker recorded.
- Below it the logs are byte-identical, batch by batch.
- Each broker compacts the internal topics by itself, and a group may still change there while one broker
  after another stops. So below the lowest HW: what has the same offset is the same, and so is what a reader
  knows in the end, the last value of each key.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.crash.campaign import Broken
from odradek.base.ids import BrokerId, Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.records.framing import iter_records
from odradek.storage.reading import PartitionFiles, topic_partitions

COMPACTED = (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)

_Batch = tuple[Offset, Offset, str]
"""First and last offset, and a digest of the bytes."""


def check_replicas(directories: Mapping[BrokerId, Path]) -> int:
    """Compare the replicas of all partitions; returns how many partitions there are. Raises Broken."""
    held = {broker_id: topic_partitions(str(directory)) for broker_id, directory in directories.items()}
    partitions = sorted({partition for those in held.values() for partition in those})
    for partition in partitions:
        missing = [broker_id for broker_id, those in held.items() if partition not in those]
        if missing:
            raise Broken(f"{partition} has no replica at the brokers {missing}")
        replicas = {
            broker_id: PartitionFiles(str(directory / str(partition)))
            for broker_id, directory in directories.items()
        }
        if partition.topic in COMPACTED:
            _check_compacted(partition, replicas)
        else:
            _check_bytes(partition, replicas)
    return len(partitions)


def _check_bytes(partition: TopicPartition, replicas: Mapping[BrokerId, PartitionFiles]) -> None:
    high_watermark = max(files.high_watermark() for files in replicas.values())
    (first_id, expected), *others = (
        (broker_id, list(_batches(files, high_watermark))) for broker_id, files in replicas.items()
    )
    for broker_id, batches in [(first_id, expected), *others]:
        end = batches[-1][1] + 1 if batches else 0
        if end != high_watermark:
            raise Broken(f"{partition} ends at {end} at broker {broker_id}, its HW is {high_watermark}")
    for broker_id, batches in others:
        for one, other in zip(expected, batches, strict=False):
            if one != other:
                raise Broken(
                    f"{partition} differs below HW {high_watermark}: {one} at broker {first_id},"
                    f" {other} at broker {broker_id}"
                )
        if len(batches) != len(expected):
            raise Broken(
                f"{partition} has {len(expected)} batches at broker {first_id},"
                f" {len(batches)} at broker {broker_id}, below HW {high_watermark}"
            )


def _batches(files: PartitionFiles, below: Offset) -> Iterator[_Batch]:
    for _, header, batch in files.batches(end_offset=below):
        if header.last_offset < below:
            yield header.base_offset, header.last_offset, hashlib.blake2b(batch, digest_size=16).hexdigest()


@dataclass
class _Content:
    """What a compacted log holds."""

    records: dict[Offset, bytes] = field(default_factory=dict)
    """Offset to a digest of key and value."""
    latest: dict[bytes, bytes] = field(default_factory=dict)
    """Key to its last value, outside of transactions: compaction removes what was aborted at some time. Keys
    whose last value is a tombstone are not there."""


def _check_compacted(partition: TopicPartition, replicas: Mapping[BrokerId, PartitionFiles]) -> None:
    below = min(files.high_watermark() for files in replicas.values())
    (first_id, expected), *others = (
        (broker_id, _content(files, below)) for broker_id, files in replicas.items()
    )
    for broker_id, content in others:
        for offset in expected.records.keys() & content.records.keys():
            if expected.records[offset] != content.records[offset]:
                raise Broken(
                    f"{partition} has different records at offset {offset}, below HW {below},"
                    f" at the brokers {first_id} and {broker_id}"
                )
        if expected.latest != content.latest:
            unlike = [key for key, _ in sorted(expected.latest.items() ^ content.latest.items())]
            raise Broken(
                f"{partition} has different last values below HW {below} at the brokers {first_id}"
                f" and {broker_id}, {len(unlike)} in all: {unlike[:5]}"
            )


def _content(files: PartitionFiles, below: Offset) -> _Content:
    found = _Content()
    for _, header, batch in files.batches(end_offset=below):
        for record in iter_records(batch, header):
            if record.offset >= below:
                break
            text = repr((header.is_control, record.key, record.value)).encode()
            found.records[record.offset] = hashlib.blake2b(text, digest_size=8).digest()
            if header.is_transactional or record.key is None:
                continue
            key = bytes(record.key)
            if record.value is None:
                found.latest.pop(key, None)
            else:
                found.latest[key] = bytes(record.value)
    return found
