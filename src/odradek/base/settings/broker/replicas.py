"""Fetching, by consumers and by followers, and the replicas' leadership."""

from dataclasses import dataclass
from typing import Final

from odradek.base.settings.definition import LONG_MAX, Kind, Update, setting

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ReplicaSettings:
    """Fetching, by consumers and by followers, and the replicas' leadership."""

    fetch_max_bytes: int = setting(
        Kind.INT, "fetch.max.bytes", 57_671_680, "The most bytes in the answer to one fetch.", least=1024
    )
    fetch_purgatory_purge_interval_requests: int = setting(
        Kind.INT,
        "fetch.purgatory.purge.interval.requests",
        1000,
        "The number of completed fetches after which the purgatory is swept.",
        least=0,
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        Kind.INT,
        "max.incremental.fetch.session.cache.slots",
        1000,
        "How many fetch sessions are kept.",
        least=0,
    )
    producer_purgatory_purge_interval_requests: int = setting(
        Kind.INT,
        "producer.purgatory.purge.interval.requests",
        1000,
        "The number of completed produces after which the purgatory is swept.",
        least=0,
    )
    delete_records_purgatory_purge_interval_requests: int = setting(
        Kind.INT,
        "delete.records.purgatory.purge.interval.requests",
        1,
        "The number of completed deletions after which the purgatory is swept.",
        least=0,
    )
    auto_leader_rebalance_enable: bool = setting(
        Kind.BOOLEAN,
        "auto.leader.rebalance.enable",
        True,
        "Whether leadership returns to preferred replicas by itself.",
    )
    broker_session_timeout_ms: int = setting(
        Kind.INT,
        "broker.session.timeout.ms",
        9000,
        "After how long without a sign of life a broker counts as dead, where brokers share a store.",
        least=1,
    )
    controlled_shutdown_enable: bool = setting(
        Kind.BOOLEAN,
        "controlled.shutdown.enable",
        True,
        "Whether a stopping broker moves its leaderships to other brokers first.",
    )
    controlled_shutdown_max_retries: int = setting(
        Kind.INT,
        "controlled.shutdown.max.retries",
        3,
        "How often a stopping broker asks for that (Apache Kafka until 3.9).",
        least=0,
    )
    controlled_shutdown_retry_backoff_ms: int = setting(
        Kind.LONG,
        "controlled.shutdown.retry.backoff.ms",
        5000,
        "How long it waits before it asks again (Apache Kafka until 3.9).",
        least=0,
    )
    leader_imbalance_check_interval_seconds: int = setting(
        Kind.LONG,
        "leader.imbalance.check.interval.seconds",
        300,
        "How often partitions are given back to their preferred leaders.",
        least=1,
    )
    leader_imbalance_per_broker_percentage: int = setting(
        Kind.INT,
        "leader.imbalance.per.broker.percentage",
        10,
        "The share of a broker's lost leaderships from which they are given back (Apache Kafka until 3.9).",
        no_effect="every leadership is given back, as in Apache Kafka 4.3",
        least=0,
        most=100,
    )
    follower_replication_throttled_rate: int = setting(
        Kind.LONG,
        "follower.replication.throttled.rate",
        LONG_MAX,
        "The most bytes per second that the broker fetches of throttled replicas that are behind "
        "(`follower.replication.throttled.replicas` of the topics).",
        update=Update.CLUSTER_WIDE,
        least=0,
    )
    leader_replication_throttled_rate: int = setting(
        Kind.LONG,
        "leader.replication.throttled.rate",
        LONG_MAX,
        "The most bytes per second that the broker sends of throttled replicas to followers out of the ISR "
        "(`leader.replication.throttled.replicas` of the topics).",
        update=Update.CLUSTER_WIDE,
        least=0,
    )
    alter_log_dirs_replication_quota_window_num: int = setting(
        Kind.INT,
        "alter.log.dirs.replication.quota.window.num",
        11,
        "Over how many windows the rate of logs that move to another log directory is measured.",
        least=1,
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = setting(
        Kind.INT,
        "alter.log.dirs.replication.quota.window.size.seconds",
        1,
        "How long each of these windows is.",
        least=1,
    )
    num_replica_alter_log_dirs_threads: int | None = setting(
        Kind.INT,
        "num.replica.alter.log.dirs.threads",
        None,
        "How many logs move to another log directory at a time; none: as many as there are log directories.",
        least=1,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = setting(
        Kind.LONG,
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG_MAX,
        "The most bytes per second of logs that move to another log directory, all together.",
        update=Update.CLUSTER_WIDE,
        least=0,
    )
    num_replica_fetchers: int = setting(
        Kind.INT,
        "num.replica.fetchers",
        1,
        "How many fetchers a broker runs for each source broker.",
        update=Update.CLUSTER_WIDE,
        least=1,
    )
    replica_fetch_backoff_ms: int = setting(
        Kind.INT,
        "replica.fetch.backoff.ms",
        1000,
        "How long a partition rests after a failed fetch.",
        least=0,
    )
    replica_fetch_max_bytes: int = setting(
        Kind.INT,
        "replica.fetch.max.bytes",
        1_048_576,
        "The most bytes of one partition in a follower's fetch.",
        least=0,
    )
    replica_fetch_min_bytes: int = setting(
        Kind.INT,
        "replica.fetch.min.bytes",
        1,
        "The fewest bytes that a follower's fetch waits for.",
        least=0,
    )
    replica_fetch_response_max_bytes: int = setting(
        Kind.INT,
        "replica.fetch.response.max.bytes",
        10_485_760,
        "The most bytes of one answer to a follower's fetch.",
        least=0,
    )
    replica_fetch_wait_max_ms: int = setting(
        Kind.INT,
        "replica.fetch.wait.max.ms",
        500,
        "How long a follower's fetch may wait.",
        least=0,
    )
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        Kind.LONG,
        "replica.high.watermark.checkpoint.interval.ms",
        5000,
        "How often high watermarks are written.",
        least=1,
    )
    replica_lag_time_max_ms: int = setting(
        Kind.LONG,
        "replica.lag.time.max.ms",
        10_000,
        "After how long behind the leader a replica leaves the ISR (Kafka: 30000).",
        least=1,
    )
    replication_quota_window_num: int = setting(
        Kind.INT,
        "replication.quota.window.num",
        11,
        "Over how many windows the rate of throttled replicas is measured.",
        least=1,
    )
    replication_quota_window_size_seconds: int = setting(
        Kind.INT,
        "replication.quota.window.size.seconds",
        1,
        "How long each of these windows is.",
        least=1,
    )
    replica_selector_class: str | None = setting(
        Kind.CLASS,
        "replica.selector.class",
        None,
        "Which replica a consumer is sent to: one in its own rack, or the leader; none: the leader.",
        choices=(RACK_AWARE_SELECTOR, LEADER_SELECTOR),
    )
    replica_socket_timeout_ms: int = setting(
        Kind.INT,
        "replica.socket.timeout.ms",
        30_000,
        "How long a follower waits for an answer.",
        least=1,
    )
