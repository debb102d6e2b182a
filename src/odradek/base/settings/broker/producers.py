"""Idempotent and transactional producers."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, Update, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ProducerSettings:
    """Idempotent and transactional producers."""

    odradek_transactional_ids_max: int = setting(
        Kind.INT,
        "odradek.transactional.ids.max",
        100_000,
        "The most transactional ids that the broker coordinates.",
        least=1,
    )
    producer_id_expiration_ms: int = setting(
        Kind.INT,
        "producer.id.expiration.ms",
        86_400_000,
        "After how long without a write a producer id is forgotten.",
        least=1,
        update=Update.CLUSTER_WIDE,
    )
    producer_id_expiration_check_interval_ms: int = setting(
        Kind.INT,
        "producer.id.expiration.check.interval.ms",
        600_000,
        "How often expired producer ids are removed.",
        least=1,
    )
    transactional_id_expiration_ms: int = setting(
        Kind.INT,
        "transactional.id.expiration.ms",
        604_800_000,
        "After how long without use a transactional id is forgotten.",
        least=1,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        Kind.INT,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "How often open transactions are checked for their timeout.",
        least=1,
    )
    transaction_max_timeout_ms: int = setting(
        Kind.INT,
        "transaction.max.timeout.ms",
        900_000,
        "The longest timeout of a transaction that a producer may set.",
        least=1,
    )
    transaction_partition_verification_enable: bool = setting(
        Kind.BOOLEAN,
        "transaction.partition.verification.enable",
        True,
        "Whether a partition asks the coordinator before it takes a transactional write.",
        update=Update.CLUSTER_WIDE,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        Kind.INT,
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "How often expired transactional ids are removed.",
        least=1,
    )
    transaction_state_log_load_buffer_size: int = setting(
        Kind.INT,
        "transaction.state.log.load.buffer.size",
        5_242_880,
        "How many bytes are read at once when transaction state is loaded.",
        least=1,
        no_effect="the size of a read is fixed",
    )
    transaction_state_log_min_isr: int = setting(
        Kind.INT,
        "transaction.state.log.min.isr",
        2,
        "min.insync.replicas of the transaction state topic, at most the brokers present.",
        least=1,
    )
    transaction_state_log_num_partitions: int = setting(
        Kind.INT,
        "transaction.state.log.num.partitions",
        50,
        "The number of partitions of the transaction state topic.",
        least=1,
    )
    transaction_state_log_replication_factor: int = setting(
        Kind.SHORT,
        "transaction.state.log.replication.factor",
        3,
        "The replication factor of the transaction state topic, at most the brokers present.",
        least=1,
    )
    transaction_state_log_segment_bytes: int = setting(
        Kind.INT,
        "transaction.state.log.segment.bytes",
        104_857_600,
        "segment.bytes of the transaction state topic.",
        least=1,
    )
