"""The broker settings that give topics their defaults."""

from dataclasses import dataclass, replace
from typing import Any

from odradek.base.settings.definition import Kind, Update, setting
from odradek.base.settings.topic import TOPIC_SETTINGS


def _topic_default(
    name: str, topic_name: str, *, update: Update = Update.CLUSTER_WIDE, **changes: Any
) -> Any:
    """Declare the broker setting that gives the topic setting `topic_name` its default."""
    own = TOPIC_SETTINGS[topic_name]
    doc = own.doc if name == topic_name else f"The default of the topic setting {topic_name}."
    changed = replace(own, name=name, doc=doc, broker_names=(), update=update, **changes)
    return setting(
        changed.kind,
        changed.name,
        changed.default,
        changed.doc,
        least=changed.least,
        most=changed.most,
        choices=changed.choices,
        update=changed.update,
        fault=changed.fault,
        no_effect=changed.no_effect,
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class TopicDefaults:
    """The broker settings that give topics their defaults; None leaves the choice to a coarser unit."""

    compression_gzip_level: int = _topic_default("compression.gzip.level", "compression.gzip.level")
    compression_lz4_level: int = _topic_default("compression.lz4.level", "compression.lz4.level")
    compression_type: str = _topic_default("compression.type", "compression.type")
    compression_zstd_level: int = _topic_default("compression.zstd.level", "compression.zstd.level")
    log_cleanup_policy: frozenset[str] = _topic_default("log.cleanup.policy", "cleanup.policy")
    log_cleaner_delete_retention_ms: int = _topic_default(
        "log.cleaner.delete.retention.ms", "delete.retention.ms"
    )
    log_cleaner_max_compaction_lag_ms: int = _topic_default(
        "log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"
    )
    log_cleaner_min_cleanable_ratio: float = _topic_default(
        "log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"
    )
    log_cleaner_min_compaction_lag_ms: int = _topic_default(
        "log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"
    )
    log_flush_interval_messages: int = _topic_default("log.flush.interval.messages", "flush.messages")
    log_flush_interval_ms: int | None = _topic_default("log.flush.interval.ms", "flush.ms", default=None)
    log_index_interval_bytes: int = _topic_default("log.index.interval.bytes", "index.interval.bytes")
    log_index_size_max_bytes: int = _topic_default("log.index.size.max.bytes", "segment.index.bytes")
    log_message_timestamp_after_max_ms: int = _topic_default(
        "log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"
    )
    log_message_timestamp_before_max_ms: int = _topic_default(
        "log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"
    )
    log_message_timestamp_type: str = _topic_default("log.message.timestamp.type", "message.timestamp.type")
    log_preallocate: bool = _topic_default("log.preallocate", "preallocate")
    log_retention_bytes: int = _topic_default("log.retention.bytes", "retention.bytes")
    log_retention_ms: int | None = _topic_default("log.retention.ms", "retention.ms", default=None)
    log_retention_minutes: int | None = _topic_default(
        "log.retention.minutes", "retention.ms", default=None, kind=Kind.INT, update=Update.READ_ONLY
    )
    log_retention_hours: int = _topic_default(
        "log.retention.hours", "retention.ms", default=168, kind=Kind.INT, update=Update.READ_ONLY
    )
    log_roll_ms: int | None = _topic_default("log.roll.ms", "segment.ms", default=None)
    log_roll_hours: int = _topic_default(
        "log.roll.hours", "segment.ms", default=168, kind=Kind.INT, update=Update.READ_ONLY
    )
    log_roll_jitter_ms: int | None = _topic_default("log.roll.jitter.ms", "segment.jitter.ms", default=None)
    log_roll_jitter_hours: int = _topic_default(
        "log.roll.jitter.hours", "segment.jitter.ms", default=0, kind=Kind.INT, update=Update.READ_ONLY
    )
    log_segment_bytes: int = _topic_default("log.segment.bytes", "segment.bytes")
    log_segment_delete_delay_ms: int = _topic_default("log.segment.delete.delay.ms", "file.delete.delay.ms")
    message_max_bytes: int = _topic_default("message.max.bytes", "max.message.bytes")
    min_insync_replicas: int = _topic_default("min.insync.replicas", "min.insync.replicas")
    odradek_log_flush_before_ack: bool = _topic_default(
        "odradek.log.flush.before.ack", "odradek.log.flush.before.ack"
    )
    odradek_record_validation: str = _topic_default("odradek.record.validation", "odradek.record.validation")
    unclean_leader_election_enable: bool = _topic_default(
        "unclean.leader.election.enable", "unclean.leader.election.enable"
    )
