"""`odradek topics`: list, create, describe, alter and delete."""

from typing import Annotated

import typer

from odradek.base.errors import SettingError
from odradek.cli.output import BOOTSTRAP, AsJson, Bootstrap, say, show
from odradek.client.admin import Admin

app = typer.Typer(help="List, create, describe, alter and delete topics.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="the topic")]


@app.command("list")
def list_topics(
    bootstrap: Bootstrap = BOOTSTRAP,
    as_json: AsJson = False,
    internal: Annotated[bool, typer.Option("--internal", help="with the broker's own topics")] = False,
) -> None:
    """List the topics with their numbers of partitions and replicas."""
    with Admin(bootstrap) as admin:
        topics = [topic for topic in admin.list_topics() if internal or not topic.internal]
    rows = [
        {
            "topic": topic.name,
            "partitions": len(topic.partitions),
            "replicas": len(topic.partitions[0].replicas) if topic.partitions else 0,
        }
        for topic in topics
    ]
    show(rows, as_json=as_json, empty="There are no topics.")


@app.command("create")
def create(
    name: Name,
    partitions: Annotated[int, typer.Option(help="how many; -1: the broker's default")] = -1,
    replication_factor: Annotated[int, typer.Option(help="how many; -1: the broker's default")] = -1,
    config: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="a setting; may be given again")
    ] = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Create a topic."""
    with Admin(bootstrap) as admin:
        admin.create_topic(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=assignments(config or []),
        )
    say(f"Created topic {name}.")


@app.command("describe")
def describe(
    name: Annotated[str | None, typer.Argument(help="the topic; none: all of them")] = None,
    bootstrap: Bootstrap = BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show each partition's leader, replicas and in-sync replicas."""
    with Admin(bootstrap) as admin:
        topics = admin.list_topics(None if name is None else [name])
    rows = [
        {
            "topic": topic.name,
            "partition": one.partition,
            "leader": one.leader,
            "leader_epoch": one.leader_epoch,
            "replicas": one.replicas,
            "in_sync": one.isr,
        }
        for topic in topics
        for one in topic.partitions
    ]
    show(rows, as_json=as_json, empty="There are no topics.")


@app.command("alter")
def alter(
    name: Name,
    partitions: Annotated[int, typer.Option(help="the new number of partitions")],
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Raise the number of partitions."""
    with Admin(bootstrap) as admin:
        admin.create_partitions(name, partitions)
    say(f"Topic {name} has {partitions} partitions.")


@app.command("delete")
def delete(name: Name, bootstrap: Bootstrap = BOOTSTRAP) -> None:
    """Delete a topic with everything in it."""
    with Admin(bootstrap) as admin:
        admin.delete_topic(name)
    say(f"Deleted topic {name}.")


def assignments(texts: list[str]) -> dict[str, str]:
    """Read "name=value" texts. Raises SettingError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise SettingError(f"a setting is given as name=value, not '{text}'")
        found[name] = value
    return found
