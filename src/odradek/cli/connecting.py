"""The options that all commands share: the broker, the client configuration, and JSON output."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.cli.command_line import Options, UsageError, option
from odradek.cli.output import say
from odradek.client.configuration import ClientConfig, from_properties, read_properties

if TYPE_CHECKING:
    from odradek.client.core.admin.answering import Missing
    from odradek.client.settings import Client

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
    return _config(options, _properties(options))


def client_settings(
    options: Options, client: "Client", without: Collection[str] = ()
) -> tuple[ClientConfig, dict[str, object]]:
    """The same, and the settings of a producer or consumer, by Kafka's names, for such a client.

    Those in `without` have no effect in a file. Raises SettingError.
    """
    from odradek.client.protection import PREFIXES
    from odradek.client.settings import names_of  # with the table: 5 ms that few commands need

    properties = _properties(options)
    known = names_of(client) - set(without)
    settings: dict[str, object] = {
        name: text for name, text in properties.items() if name in known or name.startswith(PREFIXES)
    }
    config = _config(options, properties, known)
    return config, {**settings, "bootstrap.servers": config.bootstrap_servers}


def _properties(options: Options) -> dict[str, str]:
    if options.config is None:
        return {}
    if "=" in options.config and not Path(options.config).exists():
        raise UsageError(
            "--config names a file of client properties; settings are given with --set, as --set"
            f" {options.config}"
        )
    return read_properties(Path(options.config))


def _config(options: Options, properties: Mapping[str, str], known: Collection[str] = ()) -> ClientConfig:
    config = ClientConfig(os.environ.get(SERVERS_VARIABLE) or ClientConfig().bootstrap_servers)
    config, warnings = from_properties(properties, config, known)
    for warning in warnings:
        say(f"odradek: {options.config}: {warning}", as_error=True)
    if options.bootstrap_server is not None:
        config = replace(config, bootstrap_servers=options.bootstrap_server)
    return config
