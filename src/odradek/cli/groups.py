"""`odradek groups`: list groups, show their members and lag, move and delete their offsets, delete them."""

from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.cli.command_line import (
    JSON,
    Command,
    Group,
    Options,
    UsageError,
    flag,
    number,
    option,
    positional,
)
from odradek.cli.connecting import CONNECTION, answering_within, client_config, raise_if_missing
from odradek.cli.group_output import LAG_COLUMNS, group_document, lag_rows, print_group, total_of
from odradek.cli.moments import INT64_MAX, MOMENT, moment_ms
from odradek.cli.names import FILTER, matching, none_of
from odradek.cli.output import Column, colour_of_state, counted, say, say_json, show
from odradek.cli.patient_admin import patient_admin
from odradek.cli.watching import WATCH, watched
from odradek.client.administering import Admin
from odradek.client.core.admin.groups import (
    alter_group_offsets,
    delete_group,
    delete_group_offsets,
    describe_group,
    list_group_offsets,
    list_groups_there,
)
from odradek.client.core.admin.lag import group_lag
from odradek.client.core.admin.offset_reset import (
    At,
    AtEach,
    AtTime,
    Current,
    Earliest,
    Latest,
    Move,
    ShiftBy,
    Target,
    partitions_in_scope,
    plan_moves,
)

GROUP_NAME = positional("group", "the group's id", completes="group")
LIST_COLUMNS = (
    Column("group"),
    Column("state", colour=colour_of_state),
    Column("type"),
    Column("protocol"),
)
WORDS: dict[str, type[Earliest | Latest | Current]] = {
    "earliest": Earliest,
    "latest": Latest,
    "current": Current,
}
WHERE = "earliest, latest, current, an offset, or a time as @milliseconds"
MOVE_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("before", counted),
    Column("committed", counted, title="after"),
)
DELETED_COLUMNS = (Column("topic"), Column("partition"), Column("committed", counted))


def list_groups(options: Options) -> None:
    """List the groups."""
    with patient_admin(answering_within(client_config(options))) as admin:
        groups, missing = admin.carry_out(list_groups_there())
    rows = [
        {"group": one.group, "state": one.state, "type": one.kind, "protocol": one.protocol_type}
        for one in groups
        if options.state is None or one.state.lower() == options.state.lower()
        if options.type is None or one.kind.lower() == options.type.lower()
    ]
    rows = matching(rows, options.filter, "group")
    empty = none_of("groups", options.filter, options.state, options.type, is_complete=not missing)
    show(rows, LIST_COLUMNS, as_json=options.json, empty=empty)
    raise_if_missing(missing)


def describe(options: Options) -> None:
    """Show a group's members."""
    with patient_admin(client_config(options)) as admin:
        group = admin.carry_out(describe_group(options.group))
    if options.json:
        say_json(group_document(group), indent=2)
    else:
        print_group(group)


def lag(options: Options) -> None:
    """Show a group's lag."""
    with patient_admin(client_config(options)) as admin:
        watched(options.watch, lambda: _lag_once(admin, options))


def _lag_once(admin: Admin, options: Options) -> None:
    lags = [
        one
        for one in admin.carry_out(group_lag(options.group))
        if options.topic in (None, one.partition.topic)
    ]
    empty = f"Group {options.group} has no partitions and has committed nothing."
    show(lag_rows(lags), LAG_COLUMNS, as_json=options.json, empty=empty)
    if lags and not options.json:
        say(f"\n{total_of(lags)}".lstrip())


def reset_offsets(options: Options) -> None:
    """Move a group's committed offsets."""
    target = _target(options)
    if options.export and options.json:
        raise UsageError("--export prints CSV: leave out --json")
    with patient_admin(client_config(options)) as admin:
        _refuse_members(admin, options.group)
        moves = admin.carry_out(plan_moves(options.group, options.topic, target, options.partition))
        if options.execute and moves:
            admin.carry_out(alter_group_offsets(options.group, {one.partition: one.after for one in moves}))
    for one in moves:
        if one.asked != one.after:
            side = "beyond the end" if one.asked > one.after else "before the start"
            say(f"{one.partition}: {one.asked:,} is {side}, {one.after:,} is used instead", as_error=True)
    if options.export:
        from odradek.cli.offset_files import offset_rows

        print(offset_rows((one.partition, one.after) for one in moves), end="")
    else:
        _show_moves(options, moves)
    if not options.execute and moves:
        say("Nothing was committed: add --execute to do it.", as_error=True)


def _show_moves(options: Options, moves: Sequence[Move]) -> None:
    rows = [
        {
            "topic": one.partition.topic,
            "partition": one.partition.partition,
            "before": one.before,
            "committed": one.after,
            "executed": options.execute,
        }
        for one in moves
    ]
    show(rows, MOVE_COLUMNS, as_json=options.json, empty=f"Group {options.group} has committed nothing.")


def delete_offsets(options: Options) -> None:
    """Delete a group's committed offsets of topics."""
    _need_topics(options, "delete-offsets")
    with patient_admin(client_config(options)) as admin:
        admin.carry_out(
            describe_group(options.group)
        )  # An unknown group is an error here, as in the other commands.
        committed = admin.carry_out(list_group_offsets(options.group, require_stable=False))
        scope = admin.carry_out(partitions_in_scope(committed, options.topic, options.partition))
        found = [one for one in scope if one in committed]
        if options.execute and found:
            admin.carry_out(delete_group_offsets(options.group, found))
    rows = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "committed": committed[one],
            "executed": options.execute,
        }
        for one in found
    ]
    of = f" in {', '.join(options.topic)}" if options.topic else ""
    empty = f"Group {options.group} has committed nothing{of}."
    show(rows, DELETED_COLUMNS, as_json=options.json, empty=empty)
    if found and not options.execute:
        say("Nothing was deleted: add --execute to do it.", as_error=True)
    elif found and not options.json:
        say("These committed offsets are deleted.", as_error=True)


def delete(options: Options) -> None:
    """Delete groups."""
    with patient_admin(client_config(options)) as admin:
        for group in options.group:
            admin.carry_out(delete_group(group))
            say(f"Deleted group {group}.")


def _refuse_members(admin: Admin, group: str) -> None:
    try:
        has_members = bool(admin.carry_out(describe_group(group)).members)
    except ApiError as refused:
        if refused.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return  # Committing offsets creates the group.
    if has_members:
        raise ApiError(
            ErrorCode.NON_EMPTY_GROUP,
            f"group {group} has members, and only they may change its offsets: stop them first",
        )


def _need_topics(options: Options, command: str) -> None:
    if not options.topic and not options.all_topics:
        raise UsageError(f"odradek groups {command} needs --topic TOPIC, or --all-topics")


def _target(options: Options) -> Target:
    """What the options of reset-offsets ask for. Raises UsageError, and OdradekError for an offset file."""
    given = [
        one
        for one in (options.to, options.shift_by, options.to_datetime, options.from_file)
        if one is not None
    ]
    if len(given) != 1:
        raise UsageError(
            "odradek groups reset-offsets needs one of --to, --shift-by, --to-datetime and --from-file"
        )
    if options.from_file is not None:
        if options.topic or options.all_topics or options.partition is not None:
            raise UsageError(
                "--from-file names the partitions itself: leave out --topic, --all-topics and --partition"
            )
        from odradek.cli.offset_files import read_offsets  # 40 ms that only files need

        return AtEach(read_offsets(options.from_file, options.group))
    _need_topics(options, "reset-offsets")
    if options.shift_by is not None:
        return ShiftBy(options.shift_by)
    if options.to_datetime is not None:
        return AtTime(options.to_datetime)
    if options.to in WORDS:
        return WORDS[options.to]()
    return AtTime(moment_ms(options.to)) if options.to.startswith("@") else At(number()(options.to))


def _place(text: str) -> str:
    """Check the text of --to with `_target`, and return it. Raises ValueError."""
    if text in WORDS:
        return text
    try:
        (moment_ms if text.startswith("@") else number())(text)
    except ValueError:
        raise ValueError(WHERE) from None
    return text


SCOPE = (
    option("--topic", help="the offsets of this topic", metavar="TOPIC", many=True, completes="topic"),
    flag("--all-topics", help="all topics that the group has committed offsets of"),
    option("--partition", help="only this partition", metavar="N", kind=number(0, (1 << 31) - 1)),
)
EXECUTE = flag("--execute", help="do it; without it only show what would be done")

GROUP = Group(
    "groups",
    "Show, move and delete consumer groups.",
    (
        Command(
            "list",
            "List the groups of the cluster with their states.",
            list_groups,
            (
                option("--state", help="only groups in this state, such as Empty", metavar="STATE"),
                option(
                    "--type",
                    help="only groups of this protocol",
                    metavar="TYPE",
                    choices=("classic", "consumer"),
                ),
                FILTER,
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "describe",
            "Show a group's members and the partitions of each.",
            describe,
            (GROUP_NAME, JSON, *CONNECTION),
        ),
        Command(
            "lag",
            "Show how many records a group has not read yet, for each partition and in total.",
            lag,
            (
                GROUP_NAME,
                option("--topic", help="only this topic", metavar="TOPIC", completes="topic"),
                WATCH,
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "reset-offsets",
            "Move the committed offsets of a group that has no members.",
            reset_offsets,
            (
                GROUP_NAME,
                *SCOPE,
                option(
                    "--to",
                    help=WHERE,
                    metavar="WHERE",
                    kind=_place,
                ),
                option(
                    "--shift-by",
                    help="the committed offset plus N, which may be negative",
                    metavar="N",
                    kind=number(-INT64_MAX),
                ),
                option(
                    "--to-datetime",
                    help=f"the first record of that time or later: {MOMENT}",
                    metavar="TIME",
                    kind=moment_ms,
                ),
                option(
                    "--from-file",
                    help="the offsets in a CSV file ('-': standard input)",
                    metavar="FILE",
                    completes="file",
                ),
                EXECUTE,
                flag("--export", help="print the offsets as CSV, as --from-file reads them"),
                JSON,
                *CONNECTION,
            ),
            details="An offset that a log does not have is replaced by the nearer end of the log."
            " The rows of a CSV file are TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET, as"
            " kafka-consumer-groups.sh writes and reads them.",
            examples=(
                "odradek groups reset-offsets readers --topic flights --shift-by -10",
                "odradek groups reset-offsets readers --all-topics --to earliest --execute",
                "odradek groups reset-offsets readers --all-topics --to current --export > offsets.csv",
                "odradek groups reset-offsets readers --from-file offsets.csv --execute",
            ),
        ),
        Command(
            "delete-offsets",
            "Delete the committed offsets of topics that no member of the group reads.",
            delete_offsets,
            (GROUP_NAME, *SCOPE, EXECUTE, JSON, *CONNECTION),
            examples=("odradek groups delete-offsets readers --topic flights --execute",),
        ),
        Command(
            "delete",
            "Delete groups that have no members, with their offsets.",
            delete,
            (positional("group", "the group's id", many=True, completes="group"), *CONNECTION),
        ),
    ),
)
