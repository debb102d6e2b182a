"""`odradek import`: takes over the data directories of an Apache Kafka broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.base.uuids import render_uuid
from odradek.cli.command_line import JSON, Command, Options, flag, positional
from odradek.cli.output import Column, counted, say, say_json, show, sized

if TYPE_CHECKING:
    from odradek.metadata.takeover import Takeover

COLUMNS = (
    Column("topic"),
    Column("partitions", counted),
    Column("size_bytes", sized, title="size"),
    Column("settings"),
    Column("topic_id", title="id"),
)


def import_logs(options: Options) -> None:
    """Show what a takeover would do, or do it."""
    from odradek.metadata.takeover import plan_takeover, take_over  # 150 ms that the help does not need

    plan = (take_over if options.execute else plan_takeover)(options.directories)
    if options.json:
        say_json(_document(plan, options.execute), indent=2)
        return
    verb = "Took over" if options.execute else "Would take over"
    topics = "1 topic" if len(plan.topics) == 1 else f"{len(plan.topics):,} topics"
    say(f"{verb} {topics} of broker {plan.node_id} of cluster {plan.cluster_id}.")
    say("")
    show(_topics(plan), COLUMNS, as_json=False, empty="There are no topics.")
    if plan.notes:
        say("")
    for note in plan.notes:
        say(f"- {note}.")  # most begin with a path or a setting's name
    say("")
    if options.execute:
        directories = ",".join(plan.directories)
        say(f"Wrote {' and '.join(plan.written_files)}; nothing else was changed.")
        say("Start the broker with Kafka's own settings")
        say("  odradek serve --config server.properties")
        say("or with")
        say(f"  odradek serve --set log.dirs={directories} --set node.id={plan.node_id}")
    else:
        say(f"Nothing was changed. --execute writes {' and '.join(plan.written_files)}, and no other file.")


def _topics(plan: Takeover) -> list[dict[str, object]]:
    return [
        {
            "topic": topic.name,
            "topic_id": render_uuid(topic.topic_id),
            "partitions": len(topic.partitions),
            "size_bytes": sum(one.size_bytes for one in topic.partitions.values()),
            "settings": topic.settings,
        }
        for topic in plan.topics
    ]


def _document(plan: Takeover, executed: bool) -> dict[str, object]:
    return {
        "executed": executed,
        "cluster_id": plan.cluster_id,
        "node_id": plan.node_id,
        "directories": plan.directories,
        "metadata_file": str(plan.metadata_file),
        "topics": _topics(plan),
        "broker_settings": {
            "all" if broker is None else str(broker): settings
            for broker, settings in plan.broker_settings.items()
        },
        "group_settings": plan.group_settings,
        "next_producer_id": plan.next_producer_id,
        "notes": plan.notes,
    }


COMMAND = Command(
    "import",
    "Take over the data directory of an Apache Kafka broker (4.x, KRaft).",
    import_logs,
    (
        positional(
            "directories",
            "all log directories of the broker, in the order of log.dirs",
            metavar="DIR",
            many=True,
            completes="file",
        ),
        flag("--execute", help="do it; without it only show what would be done"),
        JSON,
    ),
    details="Topics keep their ids, records, offsets and settings; groups and transactions are kept in"
    " their internal topics. The logs stay where they are: the only thing written is Odradek's metadata file,"
    " and a meta.properties where that is missing."
    " Kafka must be stopped, and must have had all partitions on this broker."
    "\n\n"
    "The way back: stop Odradek and start Kafka on the directory. Records and commits written meanwhile are"
    " there; Kafka does not know topics and settings made meanwhile.",
    examples=("odradek import /var/lib/kafka", "odradek import /disk1/kafka /disk2/kafka --execute"),
)
