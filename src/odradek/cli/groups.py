"""`odradek groups`: list groups, show their members and lag, reset their offsets, delete them."""

from typing import Annotated

import typer

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.cli.group_output import group_document, print_group
from odradek.cli.output import BOOTSTRAP, AsJson, Bootstrap, say, say_json, show
from odradek.client.cluster import EARLIEST, LATEST
from odradek.client.group_admin import GroupAdmin

INT64_MAX = (1 << 63) - 1

app = typer.Typer(help="Show, move and delete consumer groups.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="the group")]


@app.command("list")
def list_groups(bootstrap: Bootstrap = BOOTSTRAP, as_json: AsJson = False) -> None:
    """List the groups with their states."""
    with GroupAdmin(bootstrap) as admin:
        groups = admin.list_groups()
    rows = [
        {"group": one.group, "state": one.state, "type": one.kind, "protocol": one.protocol_type}
        for one in groups
    ]
    show(rows, as_json=as_json, empty="There are no groups.")


@app.command("describe")
def describe(name: Name, bootstrap: Bootstrap = BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show a group's members and the partitions of each."""
    with GroupAdmin(bootstrap) as admin:
        group = admin.describe(name)
    if as_json:
        say_json(group_document(group), indent=2)
    else:
        print_group(group)


@app.command("lag")
def lag(name: Name, bootstrap: Bootstrap = BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show what a group has yet to read, partition by partition."""
    with GroupAdmin(bootstrap) as admin:
        lags = admin.lag(name)
    rows = [
        {
            "topic": one.partition.topic,
            "partition": one.partition.partition,
            "committed": one.committed,
            "end": one.end,
            "lag": one.records,
            "client": one.client,
            "member": one.member,
        }
        for one in lags
    ]
    columns = ["topic", "partition", "committed", "end", "lag"]
    if any(one.member is not None for one in lags):
        columns += ["client", "member"]
    empty = f"Group {name} has no partitions and has committed nothing."
    show(rows, as_json=as_json, empty=empty, columns=columns)


@app.command("reset-offsets")
def reset_offsets(
    name: Name,
    topic: Annotated[str, typer.Option(help="the topic whose offsets are set")],
    to: Annotated[str, typer.Option(help="earliest, latest, an offset, or a time as @milliseconds")],
    partition: Annotated[int | None, typer.Option(help="only this partition")] = None,
    bootstrap: Bootstrap = BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Set the committed offsets of a group that has no members."""
    with GroupAdmin(bootstrap) as admin:
        offsets = _offsets(admin, topic, to)
        if partition is not None:
            wanted = TopicPartition(topic, partition)
            if wanted not in offsets:
                raise SettingError(f"there is no partition {partition} of topic {topic}")
            offsets = {wanted: offsets[wanted]}
        admin.commit(name, offsets)
    rows = [
        {"topic": part.topic, "partition": part.partition, "committed": offset}
        for part, offset in sorted(offsets.items())
    ]
    show(rows, as_json=as_json, empty=f"Topic {topic} has no partitions.")


@app.command("delete")
def delete(name: Name, bootstrap: Bootstrap = BOOTSTRAP) -> None:
    """Delete a group that has no members, with its offsets."""
    with GroupAdmin(bootstrap) as admin:
        admin.delete(name)
    say(f"Deleted group {name}.")


def _offsets(admin: GroupAdmin, topic: str, to: str) -> dict[TopicPartition, int]:
    if to in ("earliest", "latest"):
        return admin.offsets_at(topic, EARLIEST if to == "earliest" else LATEST)
    digits = to.removeprefix("@")
    if not (digits.isascii() and digits.isdecimal()):
        raise SettingError(f"--to is earliest, latest, an offset, or a time as @milliseconds, not '{to}'")
    number = int(digits) if len(digits) <= len(str(INT64_MAX)) else INT64_MAX + 1
    if number > INT64_MAX:
        raise SettingError(f"--to is at most {INT64_MAX}, not {digits}")
    if to.startswith("@"):
        return admin.offsets_at(topic, number)
    return dict.fromkeys(admin.offsets_at(topic, LATEST), number)
