"""`odradek configs`: the settings of topics, brokers and groups, and where each value comes from."""

from enum import Enum
from typing import Annotated

import typer

from odradek.cli.output import BOOTSTRAP, AsJson, Bootstrap, say, show
from odradek.cli.topics import assignments
from odradek.client.admin import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE, Admin

app = typer.Typer(help="Show and change the settings of topics, brokers and groups.", no_args_is_help=True)


class Resource(Enum):
    """What has settings."""

    topic = "topic"
    broker = "broker"
    group = "group"


Kind = Annotated[Resource, typer.Argument(help="topic, broker or group")]
Name = Annotated[str, typer.Argument(help="the topic's or group's name, or the broker's id")]

_TYPES = {Resource.topic: TOPIC_RESOURCE, Resource.broker: BROKER_RESOURCE, Resource.group: GROUP_RESOURCE}


@app.command("describe")
def describe(
    kind: Kind,
    name: Name,
    everything: Annotated[bool, typer.Option("--all", help="also what is at its default")] = False,
    bootstrap: Bootstrap = BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show the settings in force and which layer gave each of them."""
    with Admin(bootstrap) as admin:
        entries = admin.describe_configs(_TYPES[kind], name)
    rows = [
        {"setting": one.name, "value": one.value, "from": _layer(one.source), "meaning": one.documentation}
        for one in entries
        if everything or one.source is None or one.source.name != "DEFAULT"
    ]
    show(rows, as_json=as_json, empty=f"All settings of {kind.value} {name} are at their defaults (--all).")


@app.command("set")
def set_values(
    kind: Kind,
    name: Name,
    values: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="what to set")],
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Set one or more settings; they are in force at once."""
    changes: dict[str, str | None] = dict(assignments(values))
    with Admin(bootstrap) as admin:
        admin.alter_configs(_TYPES[kind], name, changes)
    say(f"Set {', '.join(changes)} of {kind.value} {name}.")


@app.command("reset")
def reset(
    kind: Kind,
    name: Name,
    settings: Annotated[list[str], typer.Argument(metavar="NAME...", help="what to take back")],
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Take settings back to their defaults."""
    with Admin(bootstrap) as admin:
        admin.alter_configs(_TYPES[kind], name, dict.fromkeys(settings))
    say(f"Reset {', '.join(settings)} of {kind.value} {name}.")


def _layer(source: Enum | None) -> str:
    return "unknown" if source is None else source.name.lower().replace("_", " ")
