"""A cluster whose metadata store is ZooKeeper; names and defaults are those of Apache Kafka 3.9."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ZooKeeperSettings:
    """A cluster whose metadata store is ZooKeeper."""

    zookeeper_connect: str | None = setting(
        Kind.STRING,
        "zookeeper.connect",
        None,
        "The ZooKeeper ensemble of a cluster of several machines, as host:port,host:port/path; none: the "
        "embedded store.",
    )
    zookeeper_session_timeout_ms: int = setting(
        Kind.INT,
        "zookeeper.session.timeout.ms",
        18_000,
        "The session timeout that the broker requests from ZooKeeper; others lead its partitions after that.",
        least=1,
    )
    zookeeper_connection_timeout_ms: int | None = setting(
        Kind.INT,
        "zookeeper.connection.timeout.ms",
        None,
        "How long the opening of a session may take; none: as long as the session timeout.",
        least=1,
    )
    zookeeper_max_in_flight_requests: int = setting(
        Kind.INT,
        "zookeeper.max.in.flight.requests",
        10,
        "How many requests to ZooKeeper may be without a reply at once.",
        least=1,
    )
