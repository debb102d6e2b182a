"""Consumer groups and the offsets that they commit."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, fault_if_empty, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class GroupSettings:
    """Consumer groups and the offsets that they commit."""

    group_initial_rebalance_delay_ms: int | None = setting(
        Kind.INT,
        "group.initial.rebalance.delay.ms",
        None,
        "How long the first rebalance of a group waits for members; none: 0 for one broker, 3000 for more.",
        least=0,
    )
    group_max_session_timeout_ms: int = setting(
        Kind.INT,
        "group.max.session.timeout.ms",
        1_800_000,
        "The longest session timeout of a member.",
        least=1,
    )
    group_max_size: int = setting(
        Kind.INT, "group.max.size", 2_147_483_647, "How many members a group may have.", least=1
    )
    group_min_session_timeout_ms: int = setting(
        Kind.INT,
        "group.min.session.timeout.ms",
        6000,
        "The shortest session timeout of a member.",
        least=1,
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        Kind.LIST,
        "group.consumer.assignors",
        ("uniform", "range"),
        "The assignors of the consumer protocol; the first one is used if members name none.",
        choices=("uniform", "range"),
        fault=fault_if_empty,
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        Kind.INT,
        "group.consumer.heartbeat.interval.ms",
        5000,
        "How often members of the consumer protocol send heartbeats.",
        least=1,
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        Kind.INT,
        "group.consumer.max.heartbeat.interval.ms",
        15_000,
        "The longest heartbeat interval of a consumer group.",
        least=1,
    )
    group_consumer_max_session_timeout_ms: int = setting(
        Kind.INT,
        "group.consumer.max.session.timeout.ms",
        60_000,
        "The longest session timeout of a consumer group.",
        least=1,
    )
    group_consumer_max_size: int = setting(
        Kind.INT,
        "group.consumer.max.size",
        2_147_483_647,
        "How many members a consumer group may have.",
        least=1,
    )
    group_consumer_migration_policy: str = setting(
        Kind.STRING,
        "group.consumer.migration.policy",
        "bidirectional",
        "Whether groups with members may change their protocol: from classic, to classic, both, none.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_consumer_min_heartbeat_interval_ms: int = setting(
        Kind.INT,
        "group.consumer.min.heartbeat.interval.ms",
        5000,
        "The shortest heartbeat interval of a consumer group.",
        least=1,
    )
    group_consumer_min_session_timeout_ms: int = setting(
        Kind.INT,
        "group.consumer.min.session.timeout.ms",
        45_000,
        "The shortest session timeout of a consumer group.",
        least=1,
    )
    group_consumer_session_timeout_ms: int = setting(
        Kind.INT,
        "group.consumer.session.timeout.ms",
        45_000,
        "The session timeout of members of the consumer protocol.",
        least=1,
    )
    odradek_group_members_max: int = setting(
        Kind.INT,
        "odradek.group.members.max",
        100_000,
        "The most members, and member ids given out, in all groups of the broker together.",
        least=1,
    )
    odradek_groups_max: int = setting(
        Kind.INT, "odradek.groups.max", 100_000, "The most groups that the broker coordinates.", least=1
    )
    offset_metadata_max_bytes: int = setting(
        Kind.INT,
        "offset.metadata.max.bytes",
        4096,
        "The longest metadata that a commit may carry.",
        least=0,
    )
    offsets_commit_timeout_ms: int = setting(
        Kind.INT, "offsets.commit.timeout.ms", 5000, "How long a commit waits for its replicas.", least=1
    )
    offsets_load_buffer_size: int = setting(
        Kind.INT,
        "offsets.load.buffer.size",
        5_242_880,
        "How many bytes are read at once when offsets are loaded.",
        least=1,
        no_effect="the size of a read is fixed",
    )
    offsets_retention_check_interval_ms: int = setting(
        Kind.LONG,
        "offsets.retention.check.interval.ms",
        600_000,
        "How often expired offsets are removed.",
        least=1,
    )
    offsets_retention_minutes: int = setting(
        Kind.INT,
        "offsets.retention.minutes",
        10_080,
        "How long the offsets of an empty group are kept.",
        least=1,
    )
    offsets_topic_compression_codec: int = setting(
        Kind.INT,
        "offsets.topic.compression.codec",
        0,
        "The codec of the offsets topic, by its number.",
        no_effect="committed offsets are stored uncompressed",
        least=0,
        most=4,
    )
    offsets_topic_num_partitions: int = setting(
        Kind.INT,
        "offsets.topic.num.partitions",
        50,
        "The number of partitions of the offsets topic.",
        least=1,
    )
    offsets_topic_replication_factor: int = setting(
        Kind.SHORT,
        "offsets.topic.replication.factor",
        3,
        "The replication factor of the offsets topic, at most the brokers present.",
        least=1,
    )
    offsets_topic_segment_bytes: int = setting(
        Kind.INT, "offsets.topic.segment.bytes", 104_857_600, "segment.bytes of the offsets topic.", least=1
    )
