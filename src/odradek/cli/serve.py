"""`odradek serve`: reads a broker's settings from the command line and a settings file, and runs it."""

from collections.abc import Mapping
from pathlib import Path

from odradek.base.errors import SettingError
from odradek.base.settings import SettingLayers
from odradek.base.settings.properties import parse_properties
from odradek.base.system_errors import reason_of
from odradek.cli.command_line import Command, Options, flag, number, option
from odradek.server.process.log_lines import FORMATS, LogOptions, read_level


def run(options: Options) -> int:
    """Run a broker, or several, until a signal stops it or it fails; returns the exit code."""
    properties = collect_properties(options)
    layers, _ = SettingLayers.from_static(properties)
    if options.test_faults and layers.in_force.odradek_admin_port < 0:
        raise SettingError("--test-faults needs the admin listener: give --admin-port too")
    log = LogOptions(options.log_format, tuple(options.log_level))
    if options.brokers is not None:
        from odradek.server.supervisor.preparation import BrokerOptions
        from odradek.server.supervisor.serving_store import serve_store
        from odradek.server.supervisor.supervise import supervise

        given = BrokerOptions(log, options.test_faults, options.until_eof)
        return supervise(properties, options.brokers, given, serve_store)
    from odradek.server.process.serve import serve

    return serve(
        layers,
        log,
        test_faults=options.test_faults,
        until_eof=options.until_eof,
    )


def collect_properties(options: Options) -> dict[str, str]:
    """The settings of --config, overridden by --set, overridden by the other options. Raises SettingError."""
    properties: dict[str, str] = {}
    if options.config is not None:
        try:
            properties = parse_properties(options.config.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise SettingError(f"the settings file {options.config} is not UTF-8") from None
        except OSError as error:
            reason = reason_of(error)
            raise SettingError(f"cannot read the settings file {options.config}: {reason}") from None
    for assignment in options.set:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise SettingError(f"--set takes name=value, not '{assignment}'")
        properties[name] = value
    if options.data_dir is not None:
        properties.pop("log.dir", None)
        properties["log.dirs"] = str(options.data_dir)
    if options.port is not None:
        properties["listeners"] = _with_port(properties, options.port, in_cluster=options.brokers is not None)
    if options.admin_port is not None:
        properties["odradek.admin.port"] = str(options.admin_port)
    return properties


def _with_port(properties: Mapping[str, str], port: int, *, in_cluster: bool) -> str:
    """Returns the listeners with the first client listener's port replaced; without any, one on loopback."""
    # Else a broker that is alone, whose clients use this listener too.
    has_peers = in_cluster or any(properties.get(name) for name in _STORES_OF_CLUSTERS)
    listeners = [given.strip() for given in properties.get("listeners", "").split(",") if given.strip()]
    if not listeners:
        return f"PLAINTEXT://127.0.0.1:{port}"
    not_for_clients = {
        name.strip().upper() for name in properties.get("controller.listener.names", "").split(",")
    }
    if has_peers:
        not_for_clients.add(properties.get("inter.broker.listener.name", "").strip().upper())
    for position, listener in enumerate(listeners):
        if listener.partition("://")[0].upper() not in not_for_clients:
            listeners[position] = f"{listener.rpartition(':')[0]}:{port}"
            break
    return ",".join(listeners)


_STORES_OF_CLUSTERS = ("odradek.cluster.directory", "zookeeper.connect")
PORT_MAX = 65535
BROKERS_MAX = 64

COMMAND = Command(
    "serve",
    "Run a Kafka-compatible broker, or a cluster of them, on this machine until SIGTERM or Ctrl-C.",
    run,
    (
        option(
            "--port",
            help="port to listen on, 0 for any free one",
            metavar="PORT",
            kind=number(0, PORT_MAX),
            shown_default="9092",
        ),
        option(
            "--data-dir",
            help="directory of the logs",
            metavar="DIR",
            kind=Path,
            shown_default="data",
            completes="file",
        ),
        option(
            "--config",
            help="a file of settings in Kafka's format, such as server.properties",
            metavar="FILE",
            kind=Path,
            completes="file",
        ),
        option(
            "--set",
            help="a setting, by its name in Kafka",
            metavar="NAME=VALUE",
            many=True,
            completes="setting= of broker",
        ),
        option(
            "--admin-port",
            help="port of /metrics, /healthz and /describe, on loopback unless odradek.admin.host says "
            "otherwise; 0 for any free one",
            metavar="PORT",
            kind=number(0, PORT_MAX),
        ),
        option(
            "--brokers",
            help="run a cluster of so many brokers under one supervisor: their ports are counted from --port "
            "and --admin-port, and each has a directory in --data-dir",
            metavar="NUMBER",
            kind=number(1, BROKERS_MAX),
        ),
        option(
            "--log-level",
            help="the lowest level that is logged: debug, info, warning, error or critical; for one logger "
            "LOGGER=LEVEL, such as odradek.server.edge=debug",
            metavar="LEVEL",
            kind=read_level,
            many=True,
            shown_default="info",
        ),
        option(
            "--log-format",
            help="text for people, or JSON for programs",
            metavar="FORMAT",
            choices=FORMATS,
            default="console",
            shown_default="console",
        ),
        flag(
            "--test-faults",
            help="let tests set faults by the admin listener (docs/testing.md); never for data that you need",
        ),
        flag(
            "--until-eof",
            help="stop when the standard input ends (a pipe), so with the program that started the broker",
        ),
    ),
    examples=(
        "odradek serve --data-dir /var/lib/odradek --port 9092",
        "odradek serve --brokers 3 --data-dir /var/lib/odradek --port 9092",
        "odradek serve --config server.properties --set log.retention.hours=24",
        "odradek serve --log-format json --log-level warning --log-level odradek.server.process=info",
    ),
)
