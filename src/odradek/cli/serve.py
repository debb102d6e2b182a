"""`odradek serve`: from a command line and a settings file to the settings of a broker, which is then run."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from odradek.base.errors import DataDirectoryError, SettingError
from odradek.base.settings import SettingLayers
from odradek.base.settings.properties import parse_properties
from odradek.base.visible import visible

EXIT_WRONG_USE = 2


def run(arguments: Sequence[str]) -> int:
    """Run a broker until a signal stops it or it fails; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        layers, _ = SettingLayers.from_static(collect_properties(options))
        for warning in layers.warnings():
            print(f"odradek: warning: {visible(warning)}", file=sys.stderr)
        from odradek.server.process.serve import serve

        return serve(layers)
    except (SettingError, DataDirectoryError) as error:
        print(f"odradek: {visible(str(error))}", file=sys.stderr)
        return EXIT_WRONG_USE


def collect_properties(options: argparse.Namespace) -> dict[str, str]:
    """--config, overridden by --set, overridden by the other options. Raises SettingError."""
    properties: dict[str, str] = {}
    if options.config is not None:
        try:
            properties = parse_properties(options.config.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"cannot read the settings file {options.config}: {error}") from error
    for assignment in options.set:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise SettingError(f"--set takes name=value, not '{assignment}'")
        properties[name] = value
    if options.data_dir is not None:
        properties.pop("log.dir", None)
        properties["log.dirs"] = str(options.data_dir)
    if options.port is not None:
        properties["listeners"] = _with_port(properties, options.port)
    if options.admin_port is not None:
        properties["odradek.admin.port"] = str(options.admin_port)
    return properties


def _with_port(properties: Mapping[str, str], port: int) -> str:
    """The listeners with the port of the first one for clients replaced; loopback where there are none."""
    if not 0 <= port <= 65535:
        raise SettingError(f"--port must be between 0 and 65535, not {port}")
    listeners = [given.strip() for given in properties.get("listeners", "").split(",") if given.strip()]
    if not listeners:
        return f"PLAINTEXT://127.0.0.1:{port}"
    controllers = {
        name.strip().upper() for name in properties.get("controller.listener.names", "").split(",")
    }
    for position, listener in enumerate(listeners):
        if listener.partition("://")[0].upper() not in controllers:
            listeners[position] = f"{listener.rpartition(':')[0]}:{port}"
            break
    return ",".join(listeners)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="odradek serve",
        description="Run a Kafka-compatible broker on this machine until SIGTERM or Ctrl-C.",
    )
    parser.add_argument("--port", type=int, help="port to listen on, 0 for any free one (9092)")
    parser.add_argument("--data-dir", type=Path, help="directory of the logs (data)")
    parser.add_argument("--config", type=Path, help="a server.properties as Kafka has them")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one setting by Kafka's name; may be given again",
    )
    parser.add_argument(
        "--admin-port", type=int, help="loopback port of /metrics, /healthz and /describe, 0 for any free one"
    )
    return parser
