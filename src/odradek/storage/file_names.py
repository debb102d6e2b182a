"""The names of the files in a log directory (L1). They are Kafka's, so that its tools can read the directory.

<log dir>/orders-3/00000000000000000042.log           one segment's batches, from offset 42
<log dir>/orders-3/00000000000000000042.snapshot      producer state as of offset 42
<log dir>/orders-3.1f0c...-delete/                    a deleted log whose delay is not over yet
<log dir>/orders-3.1f0c...-stray/                     a log whose topic the metadata store does not know
<log dir>/orders-3.1f0c...-future/                    a copy of a log that is moved to this directory
"""

import re
from uuid import UUID

from odradek.base.ids import Offset, TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
PRODUCER_SNAPSHOT = ".snapshot"

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMPORARY = ".tmp"
CORRUPTED = ".corrupted-"

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
TRANSACTION_SUMS = "transaction-index-checkpoint"
MOVED_AWAY = "moved-away-checkpoint"  # in a log that moves to another directory: see `move_marks`
MOVED_HERE = "moved-here-checkpoint"  # in a log that moved to this directory
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANED_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"

_OFFSET_DIGITS = 20
_PARTITION_DIRECTORY = re.compile(r"(.+)-(0|[1-9][0-9]*)\Z")
_DELETED_DIRECTORY = re.compile(r".+-[0-9]+\.[0-9a-f]{32}-delete\Z")
_STRAY_DIRECTORY = re.compile(r".+-([0-9]+)\.[0-9a-f]{32}-stray\Z")
_FUTURE_DIRECTORY = re.compile(r"(.+)-(0|[1-9][0-9]*)\.[0-9a-f]{32}-future\Z")
_SEGMENT_FILE = re.compile(r"([0-9]{20})(\.[a-z]+)\Z")


def segment_file(base_offset: Offset, suffix: str) -> str:
    """The name of a segment's file: `00000000000000000042.log`."""
    return f"{base_offset:0{_OFFSET_DIGITS}d}{suffix}"


def offset_and_suffix(name: str) -> tuple[Offset, str] | None:
    """The base offset and the suffix of a segment's file, or None for any other name."""
    match = _SEGMENT_FILE.match(name)
    return (int(match[1]), match[2]) if match else None


def offset_of_snapshot(name: str) -> Offset | None:
    """The offset of a producer snapshot, or None for any other name."""
    found = offset_and_suffix(name)
    return found[0] if found is not None and found[1] == PRODUCER_SNAPSHOT else None


def topic_partition_of(directory_name: str) -> TopicPartition | None:
    """The partition whose log a directory holds, or None when it holds none."""
    match = _PARTITION_DIRECTORY.match(directory_name)
    return TopicPartition(match[1], int(match[2])) if match else None


def deleted_directory(topic_partition: TopicPartition, unique: UUID) -> str:
    """The directory name of a deleted log; the topic is cut where the name would be too long for a disk."""
    return _set_aside(topic_partition, f"{unique.hex}-delete")


def stray_directory(topic_partition: TopicPartition, unique: UUID) -> str:
    """The directory name of a log of an unknown topic; the topic is cut where the name would be too long."""
    return _set_aside(topic_partition, f"{unique.hex}-stray")


def partition_of_stray(name: str) -> int | None:
    """The partition's number in the name of a stray, or None for any other name."""
    match = _STRAY_DIRECTORY.match(name)
    return int(match[1]) if match else None


def future_directory(topic_partition: TopicPartition, unique: UUID) -> str:
    """The directory name of a copy that is to become the log; too long for a disk for some topics."""
    return f"{topic_partition}.{unique.hex}-future"


def partition_of_future(name: str) -> TopicPartition | None:
    """The partition in the name of a copy that was to become its log, or None for any other name."""
    match = _FUTURE_DIRECTORY.match(name)
    return TopicPartition(match[1], int(match[2])) if match else None


def _set_aside(topic_partition: TopicPartition, ending: str) -> str:
    suffix = f"-{topic_partition.partition}.{ending}"
    return topic_partition.topic[: 255 - len(suffix)] + suffix


def is_deleted_directory(name: str) -> bool:
    """Whether a directory is a log that was deleted and whose files are still there."""
    return _DELETED_DIRECTORY.match(name) is not None
