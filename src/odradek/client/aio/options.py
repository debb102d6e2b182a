"""How a client reaches its cluster, as its settings say."""

from odradek.client.aio.driver import DriverOptions
from odradek.client.settings import (
    BOOTSTRAP_SERVERS,
    CLIENT_ID,
    METADATA_MAX_AGE_MS,
    RECONNECT_BACKOFF_MAX_MS,
    RECONNECT_BACKOFF_MS,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    SETUP_TIMEOUT_MS,
    Settings,
)


def driver_options(
    settings: Settings, *, allow_auto_create_topics: bool = False, metadata_max_idle_ms: int | None = None
) -> DriverOptions:
    """The options of a driver; `allow_auto_create_topics` lets brokers make the topics that are wanted."""
    bootstrap = settings[BOOTSTRAP_SERVERS]
    return DriverOptions(
        bootstrap,
        settings[CLIENT_ID],
        retry_backoff_ms=settings[RETRY_BACKOFF_MS],
        retry_backoff_max_ms=settings[RETRY_BACKOFF_MAX_MS],
        reconnect_backoff_ms=settings[RECONNECT_BACKOFF_MS],
        reconnect_backoff_max_ms=settings[RECONNECT_BACKOFF_MAX_MS],
        metadata_max_age_ms=settings[METADATA_MAX_AGE_MS],
        metadata_max_idle_ms=metadata_max_idle_ms,
        socket_connection_setup_timeout_ms=settings[SETUP_TIMEOUT_MS],
        allow_auto_create_topics=allow_auto_create_topics,
        security=settings.security,
        sampling=settings.sampling,
    )
