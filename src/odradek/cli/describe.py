"""`odradek describe`: a broker's state and what it waits for, from its admin listener.

Without an admin listener, partitions are read through Kafka's own API.
"""

import http.client
import json
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.cli.command_line import JSON, Command, Group, Options, UsageError, flag, option
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.names import FILTER, matching
from odradek.cli.output import (
    Column,
    colour_of_leader,
    colour_of_replica,
    colour_of_state,
    counted,
    say,
    sentences,
    show,
    sized,
)
from odradek.cli.patient_admin import patient_admin
from odradek.cli.watching import WATCH, watched
from odradek.client.core.admin.figures import partitions_with_figures
from odradek.client.core.admin.topics import describe_topics

TIMEOUT_S = 10.0

# The columns of each subject's table; --json has every field. Filters match the first columns.
COLUMNS = {
    "purgatories": (
        Column("purgatory"),
        Column("kind"),
        Column("keys"),
        Column("age_ms", counted),
        Column("time_left_ms", counted),
        Column("waits_for"),
    ),
    "connections": (
        Column("client"),
        Column("client_id"),
        Column("software"),
        Column("listener"),
        Column("requests", counted),
        Column("bytes_in", sized, title="in"),
        Column("bytes_out", sized, title="out"),
        Column("is_handling"),
        Column("waiting_requests", counted),
        Column("unsent_bytes", sized, title="unsent"),
    ),
    "partitions": (
        Column("topic"),
        Column("partition"),
        Column("role"),
        Column("leader", colour=colour_of_leader),
        Column("in_sync"),
        Column("isr", title="in sync"),
        Column("log_start_offset", counted, title="start"),
        Column("high_watermark", counted),
        Column("log_end_offset", counted, title="end"),
        Column("size_bytes", sized, title="size"),
    ),
    "replicas": (
        Column("topic"),
        Column("partition"),
        Column("role"),
        Column("leader_id", title="leader", colour=colour_of_leader),
        Column("leader_epoch", title="epoch"),
        Column("state", colour=colour_of_replica),
        Column("isr", title="in sync"),
        Column("replicas"),
        Column("log_end_offset", counted, title="end"),
        Column("behind", sentences),
    ),
    "groups": (
        Column("group"),
        Column("type"),
        Column("state", colour=colour_of_state),
        Column("protocol"),
        Column("offsets", counted),
        Column("waits_for"),
    ),
    "transactions": (
        Column("transactional_id"),
        Column("state", colour=colour_of_state),
        Column("producer_id"),
        Column("producer_epoch"),
        Column("waits_for"),
    ),
}
SUBJECTS = {
    "purgatories": (
        "every request that is held back and the condition that it waits for",
        "Nothing is waiting.",
    ),
    "groups": ("the groups that this broker coordinates and what each waits for", "There are no groups."),
    "transactions": (
        "the transactional ids that this broker coordinates and what each waits for",
        "There are no transactional ids.",
    ),
    "connections": ("the clients' connections", "There are no connections."),
    "compaction": (
        "the compacted logs, how dirty they are, and what keeps each from being cleaned",
        "No topic is compacted; --internal shows the cluster's own.",
    ),
    "replicas": (
        "the replicas of a broker, and who is behind, by how much, since when and why",
        "There are no replicas.",
    ),
    "partitions": ("the partitions with their offsets and replicas", "There are no partitions."),
}
_FILTERED = ("topic", "group", "transactional_id", "client", "client_id", "partition", "keys")

ADMIN = option(
    "--admin",
    help="the address of the broker's admin listener (odradek serve --admin-port)",
    metavar="HOST:PORT",
    variable="ODRADEK_ADMIN",
)

UNDER_REPLICATED = flag(
    "--under-replicated", help="only replicas that are not in sync, or whose partition is not"
)
INTERNAL = flag("--internal", help="also those of the cluster's own topics")
WITHOUT_INTERNAL = ("partitions", "compaction")
"""Subjects whose rows of the cluster's own topics are left out here; for `replicas` see `_replicas`."""
PARTITIONS_DETAILS = (
    "With --admin these are the logs that one broker has, as leader or follower. Without it, the brokers at"
    " -b are asked by Kafka's protocol for the partitions of the whole cluster: who leads each, and what the"
    " leader has."
)


REPLICAS_DETAILS = (
    "Those in trouble come first. A leader says which of its followers are behind, and a follower why it is."
    " A broker shows what it knows; the ISR of a partition is best known to its leader."
)


def describe(subject: str, options: Options) -> None:
    """Show one subject, repeatedly with --watch."""
    watched(options.watch, lambda: _describe_once(subject, options))


def _describe_once(subject: str, options: Options) -> None:
    if subject == "partitions" and options.admin is None:
        rows = _partitions_by_protocol(options)
    elif subject == "replicas":
        rows = _replicas(options)
    else:
        rows = ask_admin(options.admin, subject)
    if subject in WITHOUT_INTERNAL and not options.internal:
        rows = [row for row in rows if _topic_of(row) not in INTERNAL_TOPICS]
    if subject != "replicas":  # whose filter the broker has applied
        rows = matching(rows, options.filter, *_FILTERED)
    columns = COLUMNS.get(subject) or [Column(name, counted) for name in (rows[0] if rows else ())]
    is_in_order = subject == "replicas" and options.under_replicated
    empty = SUBJECTS[subject][1]
    if is_in_order:
        empty = "All replicas of these topics are in sync."
    elif options.filter is not None:
        empty = f"No {subject} match." if subject != "compaction" else "No compacted logs match."
    show(rows, columns, as_json=options.json, empty=empty)


def _topic_of(row: Mapping[str, Any]) -> str:
    """The topic of a row, whose partition is a number, or text as flights-0."""
    return str(row["topic"]) if "topic" in row else str(row["partition"]).rpartition("-")[0]


def _partitions_by_protocol(options: Options) -> list[dict[str, Any]]:
    with patient_admin(client_config(options)) as admin:
        topics = admin.carry_out(describe_topics())
        shown = [topic for topic in topics if options.internal or not topic.internal]
        partitions = admin.carry_out(partitions_with_figures(shown))
    return [
        {
            "topic": topic.name,
            "partition": one.partition,
            "leader": one.leader,
            "in_sync": one.isr,
            "log_start_offset": held and held.log_start_offset,
            "high_watermark": held and held.log_end_offset,
            "size_bytes": held and held.size_bytes,
        }
        for topic, one, held in partitions
    ]


def _replicas(options: Options) -> list[dict[str, Any]]:
    """The replicas in trouble, and the others but for those of the cluster's own topics."""
    query = {"under-replicated": "true" if options.under_replicated else "false"}
    if options.filter is not None:
        query["topic"] = options.filter
    answer = ask_admin(options.admin, "replicas", query)
    if answer["left_out"]:
        say(f"{answer['left_out']:,} more replicas are not shown; --filter selects topics", as_error=True)
    return [
        row
        for row in answer["replicas"]
        if options.internal or row["topic"] not in INTERNAL_TOPICS or row["state"] != "in sync"
    ]


def ask_admin(admin: str | None, subject: str, query: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON
    """The document about a subject from an admin listener. Raises UsageError and OdradekError."""
    if admin is None:
        raise OdradekError(
            f"{subject} are shown by the admin listener: serve with --admin-port, then give it as --admin"
        )
    if "," in admin:
        raise UsageError(
            f"--admin (or $ODRADEK_ADMIN) is one HOST:PORT here, the broker that is to be described, not"
            f" '{admin}': only odradek cluster describe asks several"
        )
    if not admin.rpartition(":")[2].isdigit():
        raise UsageError(f"--admin is HOST:PORT, with the port of serve --admin-port, not '{admin}'")
    try:
        asked = f"?{urlencode(query)}" if query else ""
        with urllib.request.urlopen(f"http://{admin}/describe/{subject}{asked}", timeout=TIMEOUT_S) as answer:
            return json.load(answer)
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise OdradekError(f"the admin listener at {admin} did not answer: {_reason(error)}") from error


def _reason(error: Exception) -> object:
    """The cause of an error of urllib, in the system's words."""
    reason = getattr(error, "reason", error)
    return reason_of(reason) if isinstance(reason, OSError) else reason


def _command(subject: str) -> Command:
    def run(options: Options) -> None:
        describe(subject, options)

    if subject == "replicas":
        shown = (ADMIN, UNDER_REPLICATED, INTERNAL, FILTER, WATCH, JSON)
        return Command(subject, f"List {SUBJECTS[subject][0]}.", run, shown, details=REPLICAS_DETAILS)
    if subject == "compaction":
        return Command(subject, f"List {SUBJECTS[subject][0]}.", run, (ADMIN, INTERNAL, FILTER, WATCH, JSON))
    if subject != "partitions":
        return Command(subject, f"List {SUBJECTS[subject][0]}.", run, (ADMIN, FILTER, WATCH, JSON))
    own = (ADMIN, INTERNAL, FILTER, WATCH, JSON, *CONNECTION)
    return Command(subject, f"List {SUBJECTS[subject][0]}.", run, own, details=PARTITIONS_DETAILS)


GROUP = Group(
    "describe",
    "Show what a broker holds and what it is waiting for, by its admin listener.",
    tuple(map(_command, SUBJECTS)),
)
