"""The options that all commands share: the broker, the client configuration, and JSON output."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.cli.command_line import Options, UsageError, option
from odradek.cli.output import say
from odradek.client.configuration import ClientConfig, read_client_properties

if TYPE_CHECKING:
    from odradek.client.core.admin.answering import Missing

SERVERS_VARIABLE = "ODRADEK_BOOTSTRAP_SERVERS"
BOOTSTRAP = option(
    "--bootstrap-server",
    "-b",
    help=f"addresses of one or several brokers of the cluster, else ${SERVERS_VARIABLE}",
    metavar="HOST:PORT[,...]",
    shown_default=ClientConfig().bootstrap_servers,
)
CONFIG = option(
    "--config",
    help="a file of client properties with Kafka's names: bootstrap.servers, client.id, ...",
    metavar="FILE",
    variable="ODRADEK_CLIENT_CONFIG",
    completes="file",
)

CONNECTION = (BOOTSTRAP, CONFIG)
ANSWER_MAX_S: Final = 5.0
"""How long one broker is waited for by what asks all brokers of the cluster, one after another."""


def raise_if_missing(missing: "Missing") -> None:
    """Called when a list of the whole cluster is shown; raises ApiError for brokers that did not answer."""
    if missing:
        raise ApiError(
            ErrorCode.BROKER_NOT_AVAILABLE, f"the list is incomplete: {'; '.join(missing.values())}"
        )


def answering_within(config: ClientConfig, answer_s: float = ANSWER_MAX_S) -> ClientConfig:
    """The configuration for asking many brokers, of which some may be silent: each has `answer_s` at most."""
    timeout_ms = config.default_api_timeout_ms or config.request_timeout_ms
    return replace(
        config,
        request_timeout_ms=min(config.request_timeout_ms, int(answer_s * 1000)),
        default_api_timeout_ms=timeout_ms,
    )


def client_config(options: Options) -> ClientConfig:
    """The client's configuration: options, else properties file, else environment. Raises SettingError."""
    config = ClientConfig(os.environ.get(SERVERS_VARIABLE) or ClientConfig().bootstrap_servers)
    warnings: list[str] = []
    if options.config is not None:
        if "=" in options.config and not Path(options.config).exists():
            raise UsageError(
                "--config names a file of client properties; settings are given with --set, as --set"
                f" {options.config}"
            )
        config, warnings = read_client_properties(Path(options.config), config)
    for warning in warnings:
        say(f"odradek: {options.config}: {warning}", as_error=True)
    if options.bootstrap_server is not None:
        config = replace(config, bootstrap_servers=options.bootstrap_server)
    return config
