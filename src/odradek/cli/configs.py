"""`odradek configs`: the settings of topics, brokers and groups, and where each value comes from."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.cli.command_line import JSON, Command, Group, Options, UsageError, flag, meant, positional
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.names import FILTER, brokers_are, matching
from odradek.cli.output import Column, say, show
from odradek.cli.patient_admin import patient_admin
from odradek.cli.setting_hints import assignments, hinting
from odradek.client.administering import Admin
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.configs import alter_configs, describe_configs

ALL_BROKERS = "all"
_ID_DIGITS_MAX = 10
COLUMNS = (Column("setting"), Column("value"), Column("from"))

KIND = positional("kind", "the kind of thing that has the settings", choices=("topic", "broker", "group"))
NAME = positional(
    "name",
    f"the topic's or group's name, or the broker's id ('{ALL_BROKERS}': settings for all brokers)",
    completes="named",
)


def describe(options: Options) -> None:
    """Show settings."""
    with _admin(options) as admin:
        entries = admin.carry_out(describe_configs(options.kind, _resource(options)))
    rows = [
        {
            "setting": one.name,
            "value": one.value,
            "from": _layer(one.source),
            "read_only": one.read_only,
            "meaning": one.documentation,
        }
        for one in entries
        if options.all or one.source is None or one.source.name != "DEFAULT"
    ]
    rows = matching(rows, options.filter, "setting")
    columns = (*COLUMNS, Column("meaning")) if options.explain else COLUMNS
    show(rows, columns, as_json=options.json, empty=_empty(options))


def _empty(options: Options) -> str:
    """The sentence for no rows."""
    if options.filter is None:
        return f"All settings of {_named(options)} have their default values; --all shows them."
    if options.all:
        return f"No settings of {_named(options)} match."
    return f"No settings of {_named(options)} with other values than the default match; --all shows the rest."


def set_values(options: Options) -> None:
    """Set settings."""
    changes: dict[str, str | None] = dict(assignments(options.values))
    with _admin(options) as admin, hinting(options.kind, changes):
        admin.carry_out(alter_configs(options.kind, _resource(options), changes))
    say(f"Set {', '.join(changes)} of {_named(options)}.")


def reset(options: Options) -> None:
    """Reset settings to their defaults."""
    with _admin(options) as admin:
        entries = admin.carry_out(describe_configs(options.kind, _resource(options)))
        known = [one.name for one in entries]
        for name in options.settings:
            if name not in known:
                raise SettingError(_unknown(options, name, known))
        admin.carry_out(alter_configs(options.kind, _resource(options), dict.fromkeys(options.settings)))
    say(f"Reset {', '.join(options.settings)} of {_named(options)}.")


@contextmanager
def _admin(options: Options) -> Iterator[Admin]:
    """An admin client. Raises ApiError for a broker that is not there: only itself knows its settings."""
    resource = _resource(options)
    with patient_admin(client_config(options)) as admin:
        if options.kind == "broker" and resource:
            ids = admin.carry_out(broker_ids())
            if int(resource) not in ids:
                raise ApiError(
                    ErrorCode.BROKER_NOT_AVAILABLE,
                    f"broker {resource} is not in the cluster now: {brokers_are(ids)}",
                )
        yield admin


def _unknown(options: Options, name: str, known: list[str]) -> str:
    """The error for a setting that cannot be reset; for all brokers only overridden settings are known."""
    if _resource(options) == "":
        return f"there is no value of {name} for all brokers"
    return f"{_named(options)} has no setting {name}{meant(name, known)}"


def _resource(options: Options) -> str:
    """The name of the resource in the protocol, where "" stands for all brokers. Raises UsageError."""
    if options.kind != "broker":
        return str(options.name)
    if options.name == ALL_BROKERS:
        return ""
    if not options.name.isdecimal() or len(options.name) > _ID_DIGITS_MAX:
        raise UsageError(f"a broker's name is its id, a number, or '{ALL_BROKERS}', not '{options.name}'")
    return str(int(options.name))


def _named(options: Options) -> str:
    """What has the settings: topic flights, broker 0, all brokers."""
    return "all brokers" if _resource(options) == "" else f"{options.kind} {options.name}"


def _layer(source: Enum | None) -> str:
    return "unknown" if source is None else source.name.lower().replace("_", " ")


GROUP = Group(
    "configs",
    "Show and change the settings of topics, brokers and groups.",
    (
        Command(
            "describe",
            "Show the values of settings, and where each value comes from.",
            describe,
            (
                KIND,
                NAME,
                flag("--all", help="show also settings with default values"),
                flag("--explain", help="show also what each setting means"),
                FILTER,
                JSON,
                *CONNECTION,
            ),
            examples=(
                "odradek configs describe topic flights --all --filter 'retention*'",
                "odradek configs describe broker 0",
            ),
        ),
        Command(
            "set",
            "Set one or more settings. The new values apply at once.",
            set_values,
            (
                KIND,
                NAME,
                positional(
                    "values",
                    "a setting and its new value",
                    metavar="SETTING=VALUE",
                    many=True,
                    completes="setting=",
                ),
                *CONNECTION,
            ),
            examples=("odradek configs set topic flights retention.ms=86400000 cleanup.policy=compact",),
        ),
        Command(
            "reset",
            "Reset settings to their defaults.",
            reset,
            (
                KIND,
                NAME,
                positional(
                    "settings", "a setting to reset", metavar="SETTING", many=True, completes="setting"
                ),
                *CONNECTION,
            ),
        ),
    ),
)
