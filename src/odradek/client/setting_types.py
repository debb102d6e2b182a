"""The settings of clients as arguments, for type checkers and editors: names in Python, and types.

    def __init__(self, **named: Unpack[ConsumerSettings]) -> None

`client/settings` has the table of which this repeats the names; it takes text for numbers and switches, too.
"""

from typing import TypedDict


class ClientSettings(TypedDict, total=False):
    """Those of all clients, but the addresses, which have an argument of their own."""

    client_id: str
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    metrics_num_samples: int
    metrics_sample_window_ms: int
    metadata_max_age_ms: int
    socket_connection_setup_timeout_ms: int
    security_protocol: str
    ssl_truststore_type: str
    ssl_truststore_location: str
    ssl_truststore_certificates: str
    ssl_keystore_type: str
    ssl_keystore_location: str
    ssl_key_password: str
    ssl_enabled_protocols: str
    ssl_endpoint_identification_algorithm: str
    sasl_mechanism: str
    sasl_jaas_config: str
    sasl_username: str
    sasl_password: str


class ConsumerSettings(ClientSettings, total=False):
    """Those of a consumer."""

    bootstrap_servers: str | list[str]
    default_api_timeout_ms: int
    group_id: str
    group_instance_id: str
    group_protocol: str
    group_remote_assignor: str
    partition_assignment_strategy: str | list[str]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    isolation_level: str
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    check_crcs: bool
    client_rack: str
    allow_auto_create_topics: bool
    exclude_internal_topics: bool


class ProducerSettings(ClientSettings, total=False):
    """Those of a producer."""

    acks: int | str
    enable_idempotence: bool
    batch_size: int
    linger_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    delivery_timeout_ms: int
    retries: int
    max_in_flight_requests_per_connection: int
    transactional_id: str
    transaction_timeout_ms: int
    metadata_max_idle_ms: int
    partitioner_ignore_keys: bool
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int


class AdminSettings(ClientSettings, total=False):
    """Those of an admin client."""

    default_api_timeout_ms: int
