"""Settings that occur in files written for Kafka and that have no effect, or are not served yet."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, Update, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class AcceptedSettings:
    """Settings that occur in files written for Kafka and that have no effect, or are not served yet."""

    background_threads: int = setting(
        Kind.INT,
        "background.threads",
        10,
        "How many threads do background work.",
        least=1,
        update=Update.CLUSTER_WIDE,
        no_effect="one thread does all the work",
    )
    num_io_threads: int = setting(
        Kind.INT,
        "num.io.threads",
        8,
        "How many threads handle requests.",
        least=1,
        update=Update.CLUSTER_WIDE,
        no_effect="one thread does all the work",
    )
    num_network_threads: int = setting(
        Kind.INT,
        "num.network.threads",
        3,
        "How many threads serve connections.",
        least=1,
        update=Update.CLUSTER_WIDE,
        no_effect="one thread does all the work",
    )
    authorizer_class_name: str = setting(
        Kind.CLASS,
        "authorizer.class.name",
        "",
        "The class that decides what clients may do; none: everything is allowed.",
    )
    controller_listener_names: tuple[str, ...] = setting(
        Kind.LIST,
        "controller.listener.names",
        (),
        "The listeners that only KRaft controllers have; they are not opened.",
    )
    controller_quorum_bootstrap_servers: tuple[str, ...] = setting(
        Kind.LIST,
        "controller.quorum.bootstrap.servers",
        (),
        "The members of a KRaft quorum.",
        no_effect="this broker is its own controller, without a KRaft quorum",
    )
    controller_quorum_voters: tuple[str, ...] = setting(
        Kind.LIST,
        "controller.quorum.voters",
        (),
        "The members of a KRaft quorum.",
        no_effect="this broker is its own controller, without a KRaft quorum",
    )
    group_consumer_regex_refresh_interval_ms: int = setting(
        Kind.INT,
        "group.consumer.regex.refresh.interval.ms",
        600_000,
        "How often subscriptions by expression are looked up.",
        least=10_000,
        no_effect="expressions are looked up again whenever a topic is created or deleted",
    )
    group_coordinator_append_linger_ms: int = setting(
        Kind.INT,
        "group.coordinator.append.linger.ms",
        -1,
        "How long a record waits for others before it is appended.",
        least=-1,
        no_effect="records are appended at once",
    )
    group_coordinator_threads: int = setting(
        Kind.INT,
        "group.coordinator.threads",
        4,
        "How many threads run the group coordinator.",
        least=1,
        no_effect="one thread does all the work",
    )
    process_roles: tuple[str, ...] = setting(
        Kind.LIST,
        "process.roles",
        (),
        "The roles of a machine in a KRaft cluster.",
        no_effect="this broker is its own controller, without a KRaft quorum",
    )
