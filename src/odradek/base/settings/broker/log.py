"""Topics that clients make, and the logs that hold them."""

from dataclasses import dataclass

from odradek.base.settings.definition import LONG_MAX, Kind, Update, fault_if_empty, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LogSettings:
    """Topics that clients make, and the logs that hold them."""

    auto_create_topics_enable: bool = setting(
        Kind.BOOLEAN,
        "auto.create.topics.enable",
        True,
        "Whether a Metadata request may create the topics that it names.",
    )
    default_replication_factor: int = setting(
        Kind.INT,
        "default.replication.factor",
        1,
        "The replication factor of a topic whose creator names none.",
        least=1,
    )
    delete_topic_enable: bool = setting(
        Kind.BOOLEAN, "delete.topic.enable", True, "Whether topics can be deleted."
    )
    num_partitions: int = setting(
        Kind.INT,
        "num.partitions",
        1,
        "The number of partitions of a topic whose creator names none.",
        least=1,
    )
    max_request_partition_size_limit: int = setting(
        Kind.INT,
        "max.request.partition.size.limit",
        2000,
        "The most partitions in one answer of DescribeTopicPartitions.",
        least=1,
    )
    log_dirs: tuple[str, ...] = setting(
        Kind.LIST,
        "log.dirs",
        ("data",),
        "The directories that hold the partitions' logs.",
        fault=fault_if_empty,
    )
    log_cleaner_enable: bool = setting(
        Kind.BOOLEAN, "log.cleaner.enable", True, "Whether compacted topics are compacted."
    )
    log_cleaner_backoff_ms: int = setting(
        Kind.LONG,
        "log.cleaner.backoff.ms",
        15_000,
        "How long the cleaner waits when there is nothing to clean.",
        least=0,
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        Kind.LONG,
        "log.cleaner.dedupe.buffer.size",
        134_217_728,
        "The memory of the cleaner's offset maps.",
        update=Update.CLUSTER_WIDE,
        least=1048577,
    )
    log_cleaner_io_max_bytes_per_second: float = setting(
        Kind.DOUBLE,
        "log.cleaner.io.max.bytes.per.second",
        1.7976931348623157e308,
        "The most bytes per second that the cleaner reads and writes.",
        update=Update.CLUSTER_WIDE,
        least=1,
    )
    log_cleaner_threads: int = setting(
        Kind.INT,
        "log.cleaner.threads",
        1,
        "How many logs are cleaned at once.",
        least=0,
        update=Update.CLUSTER_WIDE,
    )
    log_flush_offset_checkpoint_interval_ms: int = setting(
        Kind.INT,
        "log.flush.offset.checkpoint.interval.ms",
        60_000,
        "How often recovery points are written.",
        least=0,
    )
    log_flush_scheduler_interval_ms: int = setting(
        Kind.LONG,
        "log.flush.scheduler.interval.ms",
        LONG_MAX,
        "How often logs are checked for a flush that is due.",
        least=1,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        Kind.INT,
        "log.flush.start.offset.checkpoint.interval.ms",
        60_000,
        "How often log start offsets are written.",
        least=0,
    )
    log_initial_task_delay_ms: int = setting(
        Kind.LONG,
        "log.initial.task.delay.ms",
        30_000,
        "How long after the start the log's periodic tasks begin.",
        least=0,
    )
    log_retention_check_interval_ms: int = setting(
        Kind.LONG, "log.retention.check.interval.ms", 300_000, "How often retention is applied.", least=1
    )
    num_recovery_threads_per_data_dir: int = setting(
        Kind.INT,
        "num.recovery.threads.per.data.dir",
        2,
        "How many logs of a directory are recovered at once.",
        least=1,
        update=Update.CLUSTER_WIDE,
        no_effect="logs are recovered one after another",
    )
