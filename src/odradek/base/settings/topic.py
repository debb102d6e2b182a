"""The settings of a topic, with the broker settings that give their defaults."""

import re

from odradek.base.settings.definition import LONG_MAX, Kind, Setting, setting, settings_of
from odradek.base.values import value

_REPLICA = re.compile("[0-9]{1,10}:[0-9]{1,10}")
_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS
_DAY_MS = 24 * _HOUR_MS


def _one(name: str) -> tuple[tuple[str, int], ...]:
    return ((name, 1),)


def _throttle_fault(replicas: tuple[str, ...]) -> str | None:
    if replicas == ("*",):
        return None
    wrong = next((replica for replica in replicas if not _REPLICA.fullmatch(replica)), None)
    return None if wrong is None else f"must be '*' or a list of partition:broker, not '{wrong}'"


@value
class TopicConfig:
    """The settings in force for one topic; `TopicConfig()` holds Kafka's defaults."""

    cleanup_policy: frozenset[str] = setting(
        Kind.LIST,
        "cleanup.policy",
        frozenset({"delete"}),
        "What happens to old segments: 'delete' drops them, 'compact' keeps the last record of each key, "
        "none keeps everything.",
        choices=("compact", "delete"),
        broker_names=_one("log.cleanup.policy"),
    )
    compression_gzip_level: int = setting(
        Kind.INT,
        "compression.gzip.level",
        -1,
        "The gzip level where compression.type is gzip; -1 is the codec's own default.",
        broker_names=_one("compression.gzip.level"),
        most=9,
        fault=lambda level: None if level == -1 or level >= 1 else "must be -1 or between 1 and 9",
        least=-1,
    )
    compression_lz4_level: int = setting(
        Kind.INT,
        "compression.lz4.level",
        9,
        "The lz4 level where compression.type is lz4.",
        least=1,
        most=17,
        broker_names=_one("compression.lz4.level"),
    )
    compression_type: str = setting(
        Kind.STRING,
        "compression.type",
        "producer",
        "The codec of stored batches; 'producer' keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        broker_names=_one("compression.type"),
    )
    compression_zstd_level: int = setting(
        Kind.INT,
        "compression.zstd.level",
        3,
        "The zstd level where compression.type is zstd.",
        least=-131072,
        most=22,
        broker_names=_one("compression.zstd.level"),
    )
    delete_retention_ms: int = setting(
        Kind.LONG,
        "delete.retention.ms",
        _DAY_MS,
        "How long a compacted topic keeps a tombstone for readers to see.",
        least=0,
        broker_names=_one("log.cleaner.delete.retention.ms"),
    )
    file_delete_delay_ms: int = setting(
        Kind.LONG,
        "file.delete.delay.ms",
        60_000,
        "How long a deleted file stays on disk, for the readers that have it open.",
        least=0,
        broker_names=_one("log.segment.delete.delay.ms"),
    )
    flush_messages: int = setting(
        Kind.LONG,
        "flush.messages",
        LONG_MAX,
        "After how many records the log is forced to disk.",
        least=1,
        broker_names=_one("log.flush.interval.messages"),
    )
    flush_ms: int = setting(
        Kind.LONG,
        "flush.ms",
        LONG_MAX,
        "After how long an unflushed record is forced to disk.",
        least=0,
        broker_names=(("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        Kind.LIST,
        "follower.replication.throttled.replicas",
        (),
        "The replicas that are throttled where they follow: partition:broker, the follower's id, or '*'.",
        fault=_throttle_fault,
    )
    index_interval_bytes: int = setting(
        Kind.INT,
        "index.interval.bytes",
        4096,
        "How many bytes of log lie between two entries of the offset index.",
        least=0,
        broker_names=_one("log.index.interval.bytes"),
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        Kind.LIST,
        "leader.replication.throttled.replicas",
        (),
        "The replicas that are throttled where they lead: partition:broker, the leader's id, or '*'.",
        fault=_throttle_fault,
    )
    max_compaction_lag_ms: int = setting(
        Kind.LONG,
        "max.compaction.lag.ms",
        LONG_MAX,
        "After how long a record is due for compaction whatever the dirty ratio is.",
        least=1,
        broker_names=_one("log.cleaner.max.compaction.lag.ms"),
    )
    max_message_bytes: int = setting(
        Kind.INT,
        "max.message.bytes",
        1_048_588,
        "The largest record batch that is accepted, after compression.",
        least=0,
        broker_names=_one("message.max.bytes"),
    )
    message_timestamp_after_max_ms: int = setting(
        Kind.LONG,
        "message.timestamp.after.max.ms",
        _HOUR_MS,
        "How far a CreateTime timestamp may lie in the broker's future.",
        least=0,
        broker_names=_one("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = setting(
        Kind.LONG,
        "message.timestamp.before.max.ms",
        LONG_MAX,
        "How far a CreateTime timestamp may lie in the broker's past.",
        least=0,
        broker_names=_one("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_type: str = setting(
        Kind.STRING,
        "message.timestamp.type",
        "CreateTime",
        "Whether a record keeps its producer's timestamp or gets the time of its append.",
        choices=("CreateTime", "LogAppendTime"),
        broker_names=_one("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = setting(
        Kind.DOUBLE,
        "min.cleanable.dirty.ratio",
        0.5,
        "The share of uncompacted bytes from which a log is due for compaction.",
        least=0,
        most=1,
        broker_names=_one("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = setting(
        Kind.LONG,
        "min.compaction.lag.ms",
        0,
        "How long a record is not compacted.",
        least=0,
        broker_names=_one("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = setting(
        Kind.INT,
        "min.insync.replicas",
        1,
        "How many replicas must be in sync for acks=all to succeed.",
        least=1,
        broker_names=_one("min.insync.replicas"),
    )
    odradek_log_flush_before_ack: bool = setting(
        Kind.BOOLEAN,
        "odradek.log.flush.before.ack",
        False,
        "Whether acknowledgements wait until the records are on disk (one fsync for several requests).",
        broker_names=_one("odradek.log.flush.before.ack"),
    )
    odradek_record_validation: str = setting(
        Kind.STRING,
        "odradek.record.validation",
        "full",
        "'header' checks a batch by its header and CRC; 'full' also walks the framing of its records.",
        choices=("full", "header"),
        broker_names=_one("odradek.record.validation"),
    )
    preallocate: bool = setting(
        Kind.BOOLEAN,
        "preallocate",
        False,
        "Whether a new segment's file is allocated at its full size.",
        broker_names=_one("log.preallocate"),
        no_effect="files grow as they are written",
    )
    retention_bytes: int = setting(
        Kind.LONG,
        "retention.bytes",
        -1,
        "The size above which a partition's oldest segments are deleted; negative for no limit.",
        broker_names=_one("log.retention.bytes"),
        least=-LONG_MAX - 1,
    )
    retention_ms: int = setting(
        Kind.LONG,
        "retention.ms",
        _WEEK_MS,
        "The age above which segments are deleted; -1 for no limit.",
        least=-1,
        broker_names=(
            ("log.retention.ms", 1),
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", _HOUR_MS),
        ),
    )
    segment_bytes: int = setting(
        Kind.INT,
        "segment.bytes",
        1 << 30,
        "The size at which a segment is full.",
        least=1 << 20,
        broker_names=_one("log.segment.bytes"),
    )
    segment_index_bytes: int = setting(
        Kind.INT,
        "segment.index.bytes",
        10 << 20,
        "The size at which an offset or time index is full.",
        least=4,
        broker_names=_one("log.index.size.max.bytes"),
    )
    segment_jitter_ms: int = setting(
        Kind.LONG,
        "segment.jitter.ms",
        0,
        "The most that is taken off segment.ms at random, so that not all segments roll at once.",
        least=0,
        broker_names=(("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)),
    )
    segment_ms: int = setting(
        Kind.LONG,
        "segment.ms",
        _WEEK_MS,
        "The age at which a segment is rolled although it is not full.",
        least=1,
        broker_names=(("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    )
    unclean_leader_election_enable: bool = setting(
        Kind.BOOLEAN,
        "unclean.leader.election.enable",
        False,
        "Whether a replica out of sync may lead when no other is left, losing records.",
        broker_names=_one("unclean.leader.election.enable"),
    )


TOPIC_SETTINGS: dict[str, Setting] = settings_of(TopicConfig)
