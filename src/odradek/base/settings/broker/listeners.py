"""The identity of a broker, its listeners, and the limits of its connections."""

from dataclasses import dataclass

from odradek.base.settings.definition import Kind, Update, setting


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ListenerSettings:
    """The identity of a broker, its listeners, and the limits of its connections."""

    node_id: int = setting(Kind.INT, "node.id", 0, "This broker's id in the cluster.", least=0)
    broker_rack: str | None = setting(
        Kind.STRING, "broker.rack", None, "The rack of this broker; replicas are spread over racks."
    )
    listeners: tuple[str, ...] = setting(
        Kind.LIST,
        "listeners",
        ("PLAINTEXT://127.0.0.1:9092",),
        "Where to listen, as protocol://host:port; port 0 takes any free one.",
    )
    advertised_listeners: tuple[str, ...] = setting(
        Kind.LIST,
        "advertised.listeners",
        (),
        "The addresses given to clients; empty: those of the listeners, 0.0.0.0 as this machine's name.",
    )
    inter_broker_listener_name: str | None = setting(
        Kind.STRING,
        "inter.broker.listener.name",
        None,
        "The listener that the brokers of a cluster use among themselves, and no client. A broker that is "
        "alone in its cluster serves clients there, too; none: brokers of one machine use Unix sockets.",
    )
    listener_security_protocol_map: tuple[str, ...] = setting(
        Kind.LIST,
        "listener.security.protocol.map",
        ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL"),
        "The security protocol of each listener name.",
    )
    odradek_admin_host: str = setting(
        Kind.STRING,
        "odradek.admin.host",
        "127.0.0.1",
        "The address of the admin listener: an address or a name of this machine, 0.0.0.0 or :: for all.",
        fault=lambda host: None if host else "must name an address",
    )
    odradek_admin_port: int = setting(
        Kind.INT,
        "odradek.admin.port",
        -1,
        "The port of /metrics, /healthz and /describe; 0 takes any free one, -1 none.",
        least=-1,
        most=65535,
    )
    odradek_admin_allowed_hosts: tuple[str, ...] = setting(
        Kind.LIST,
        "odradek.admin.allowed.hosts",
        (),
        "The host names that requests to the admin listener may carry, besides localhost and addresses.",
    )
    odradek_metadata_file: str | None = setting(
        Kind.STRING,
        "odradek.metadata.file",
        None,
        "The file of the embedded metadata store; none: metadata.db in the first log directory.",
    )
    odradek_cluster_directory: str | None = setting(
        Kind.STRING,
        "odradek.cluster.directory",
        None,
        "The directory of the sockets of a cluster on this machine, made by `serve --brokers`: its metadata "
        "store and, unless inter.broker.listener.name is set, a listener between brokers for each of them; "
        "none: the broker is alone.",
    )
    odradek_cluster_brokers: int | None = setting(
        Kind.INT,
        "odradek.cluster.brokers",
        None,
        "How many brokers the cluster is meant to have: internal topics have so many replicas at most; none: "
        "with zookeeper.connect as many as their replication factors ask for, else 1.",
        least=1,
    )
    request_timeout_ms: int = setting(
        Kind.INT,
        "request.timeout.ms",
        30_000,
        "How long a request waits for a controller that decides it, if it has no timeout of its own.",
        least=0,
    )
    connections_max_idle_ms: int = setting(
        Kind.LONG,
        "connections.max.idle.ms",
        600_000,
        "After how long a connection without traffic is closed; no fetch or produce waits longer. "
        "Negative: never.",
        least=-1,
    )
    max_connections: int = setting(
        Kind.INT,
        "max.connections",
        2_147_483_647,
        "How many connections the broker holds at once.",
        least=1,
        update=Update.CLUSTER_WIDE,
    )
    max_connections_per_ip: int = setting(
        Kind.INT,
        "max.connections.per.ip",
        2_147_483_647,
        "How many connections one address may hold.",
        least=1,
        update=Update.CLUSTER_WIDE,
    )
    queued_max_requests: int = setting(
        Kind.INT,
        "queued.max.requests",
        500,
        "How many requests may be in flight on all connections together.",
        least=1,
        no_effect="each connection has one request in flight",
    )
    socket_connection_setup_timeout_ms: int = setting(
        Kind.LONG,
        "socket.connection.setup.timeout.ms",
        10_000,
        "How long a connection to another broker may take to be made; doubled with each failure in a row.",
        least=1,
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        Kind.LONG,
        "socket.connection.setup.timeout.max.ms",
        30_000,
        "The most that it is doubled to.",
        least=1,
    )
    socket_listen_backlog_size: int = setting(
        Kind.INT, "socket.listen.backlog.size", 50, "How many connections may wait to be accepted.", least=1
    )
    socket_receive_buffer_bytes: int = setting(
        Kind.INT,
        "socket.receive.buffer.bytes",
        102_400,
        "The receive buffer of a socket; -1 for the system's default.",
        least=-1,
        no_effect="the system sizes the buffers of sockets",
    )
    socket_request_max_bytes: int = setting(
        Kind.INT, "socket.request.max.bytes", 104_857_600, "The largest request that is read.", least=1
    )
    socket_send_buffer_bytes: int = setting(
        Kind.INT,
        "socket.send.buffer.bytes",
        102_400,
        "The send buffer of a socket; -1 for the system's default.",
        least=-1,
        no_effect="the system sizes the buffers of sockets",
    )
    odradek_loop_spin_max_us: int = setting(
        Kind.INT,
        "odradek.loop.spin.max.us",
        150,
        "How many microseconds the event loop polls without sleeping after a request, while requests come "
        "closer together than that. 0: never; nor on a machine with one processor.",
        least=0,
        most=10_000,
    )
    odradek_connection_write_buffer_bytes: int = setting(
        Kind.INT,
        "odradek.connection.write.buffer.bytes",
        65_536,
        "The unsent bytes of a connection above which the broker stops reading its requests.",
        least=65_536,
    )
