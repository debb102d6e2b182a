"""`odradek.Admin` for this package's own commands and tests: without the operations that they do not use.

    with administering(config) as admin:
        topics = admin.carry_out(describe_topics())

What loads the event loop is imported when the client is made, so that help and wrong use load none of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.base.errors import ApiError, ElementsRefused
from odradek.client.configuration import ClientConfig
from odradek.client.core.operation import Operation

if TYPE_CHECKING:
    from odradek.client.aio import operations as aio
    from odradek.client.blocking.operations import Operations
    from odradek.client.settings import Settings

T = TypeVar("T")


class Admin(Protocol):
    """What its users need of an admin client."""

    def carry_out(self, operation: Operation[T]) -> T:
        """Carry out an operation; returns its result. Raises ApiError for refusals."""


@contextmanager
def administering(config: ClientConfig, *, tries_again: bool = True) -> Iterator[Admin]:
    """An admin client of the cluster.

    Raises SettingError for malformed bootstrap servers, and ConnectionFailed at once when none of them
    answers; later it waits for brokers that are away, for as long as the settings say. Without `tries_again`
    an operation fails with the first refusal, also with one that passes by itself: for those who look again
    themselves.
    """
    with opened(admin_settings(config), tries_again=tries_again) as admin:
        admin.reach()
        yield admin


def opened(settings: "Settings", *, tries_again: bool = True) -> "Operations[aio.Operations]":
    """An admin client, which has not connected yet."""
    from odradek.client.aio import operations as aio
    from odradek.client.blocking.operations import Operations

    return Operations(aio.Operations(settings, tries_again=tries_again))


def admin_settings(config: ClientConfig) -> "Settings":
    """The settings of an admin client with this configuration. Raises SettingError."""
    from odradek.client.bootstrap import parse_bootstrap_servers
    from odradek.client.settings import (
        BOOTSTRAP_SERVERS,
        CLIENT_ID,
        DEFAULT_API_TIMEOUT_MS,
        REQUEST_TIMEOUT_MS,
        SETUP_TIMEOUT_MS,
        Settings,
    )

    timeout_ms = config.request_timeout_ms
    values = {
        BOOTSTRAP_SERVERS.name: tuple(parse_bootstrap_servers(config.bootstrap_servers)),
        CLIENT_ID.name: config.client_id,
        REQUEST_TIMEOUT_MS.name: timeout_ms,
        DEFAULT_API_TIMEOUT_MS.name: config.default_api_timeout_ms or timeout_ms,
        SETUP_TIMEOUT_MS.name: min(SETUP_TIMEOUT_MS.default, timeout_ms),
    }
    return Settings(values, config.security)


@contextmanager
def about_one(name: str) -> Iterator[None]:
    """Say of a single element only why it was refused: the sentence of the command names it."""
    try:
        yield
    except ElementsRefused as refused:
        raise ApiError(refused.code, str(refused).removeprefix(f"{name}: ")) from refused
