"""Settings that stand in files written for Kafka and on which nothing here depends."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, Update, setting


@dataclass(frozen=True)
class AcceptedSettings:
    """Settings that stand in files written for Kafka and on which nothing here depends."""

    background_threads: int = setting(
        Kind.INT,
        "background.threads",
        10,
        "Accepted; the executor's size is fixed.",
        least=1,
        update=Update.CLUSTER_WIDE,
    )
    num_io_threads: int = setting(
        Kind.INT,
        "num.io.threads",
        8,
        "Accepted; one thread owns all state.",
        least=1,
        update=Update.CLUSTER_WIDE,
    )
    num_network_threads: int = setting(
        Kind.INT,
        "num.network.threads",
        3,
        "Accepted; one thread owns all connections.",
        least=1,
        update=Update.PER_BROKER,
    )
    authorizer_class_name: str = setting(
        Kind.CLASS, "authorizer.class.name", "", "The authorizer; none: everything is allowed."
    )
    controller_listener_names: tuple[str, ...] = setting(
        Kind.LIST, "controller.listener.names", (), "Accepted; KRaft's controller listeners."
    )
    controller_quorum_bootstrap_servers: tuple[str, ...] = setting(
        Kind.LIST, "controller.quorum.bootstrap.servers", (), "Accepted; KRaft's quorum."
    )
    controller_quorum_voters: tuple[str, ...] = setting(
        Kind.LIST, "controller.quorum.voters", (), "Accepted; KRaft's quorum."
    )
    group_consumer_regex_refresh_interval_ms: int = setting(
        Kind.INT,
        "group.consumer.regex.refresh.interval.ms",
        600_000,
        "Accepted; expressions are looked up again whenever topics come or go.",
        least=10_000,
    )
    group_coordinator_append_linger_ms: int = setting(
        Kind.INT, "group.coordinator.append.linger.ms", 5, "Accepted; nothing lingers.", least=0
    )
    group_coordinator_threads: int = setting(
        Kind.INT, "group.coordinator.threads", 4, "Accepted; one thread owns all state.", least=1
    )
    process_roles: tuple[str, ...] = setting(Kind.LIST, "process.roles", (), "Accepted; KRaft's roles.")
    zookeeper_connection_timeout_ms: int | None = setting(
        Kind.INT,
        "zookeeper.connection.timeout.ms",
        None,
        "How long the first connection to ZooKeeper may take.",
    )
    zookeeper_session_timeout_ms: int = setting(
        Kind.INT, "zookeeper.session.timeout.ms", 18_000, "The session timeout asked of ZooKeeper."
    )
