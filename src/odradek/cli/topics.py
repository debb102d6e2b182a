"""`odradek topics`: list, create, describe, alter, delete, and delete records."""

from collections.abc import Mapping, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import BrokerId, Offset, TopicPartition
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
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.names import FILTER, matching, none_of
from odradek.cli.output import Column, colour_of_leader, counted, say, show, sized
from odradek.cli.patient_admin import patient_admin
from odradek.cli.replica_lists import EXAMPLE, read_replica_lists
from odradek.cli.setting_hints import assignments, hinting
from odradek.client.administering import Admin, about_one
from odradek.client.core.admin.topics import (
    NewTopic,
    await_leaders,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
)

LIST_COLUMNS = (
    Column("topic"),
    Column("partitions", counted),
    Column("replicas"),
    Column("topic_id", title="id"),
)
DESCRIBE_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("leader", lambda value: "none" if value == -1 else str(value), colour=colour_of_leader),
    Column("leader_epoch"),
    Column("replicas"),
    Column("in_sync"),
    Column("log_start_offset", counted, title="start"),
    Column("log_end_offset", counted, title="end"),
    Column("size_bytes", sized, title="size"),
)
TOPIC = positional("topic", "the topic's name", completes="topic")
PARTITIONS_MAX = (1 << 31) - 1


def list_topics(options: Options) -> None:
    """List the topics."""
    with patient_admin(client_config(options)) as admin:
        topics = admin.carry_out(describe_topics())
    rows = [
        {
            "topic": topic.name,
            "partitions": len(topic.partitions),
            "replicas": len(topic.partitions[0].replicas) if topic.partitions else 0,
            "topic_id": topic.topic_id,
            "internal": topic.internal,
        }
        for topic in topics
        if options.internal or not topic.internal
    ]
    rows = matching(rows, options.filter, "topic")
    show(rows, LIST_COLUMNS, as_json=options.json, empty=none_of("topics", options.filter))


def create(options: Options) -> None:
    """Create a topic."""
    configs = assignments(options.set)
    replica_lists = _replica_lists(options)
    topic = NewTopic(options.topic, options.partitions, options.replication_factor, configs, replica_lists)
    with patient_admin(client_config(options)) as admin:
        try:
            with hinting("topic", configs), about_one(options.topic):
                admin.carry_out(create_topics([topic]))
        except ApiError as refused:
            if refused.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            if "being deleted" in str(refused):  # by its code it exists, and to everybody else it does not
                said = (
                    f"topic {options.topic} is still being deleted; if that lasts, a broker with a replica "
                    "of it is away, and has to be back before there can be a new topic of this name"
                )
                raise ApiError(refused.code, said) from refused
            if not options.if_not_exists:
                raise ApiError(refused.code, f"topic {options.topic} exists already") from refused
            say(f"Topic {options.topic} exists already; nothing was changed.")
            return
        admin.carry_out(await_leaders(options.topic, len(replica_lists) or options.partitions))
    say(f"Created topic {options.topic}.")


def _replica_lists(options: Options) -> dict[int, list[BrokerId]]:
    """The brokers of each partition, if they are given. Raises UsageError."""
    if options.replica_assignment is None:
        return {}
    for name, value in (
        ("--partitions", options.partitions),
        ("--replication-factor", options.replication_factor),
    ):
        if value != -1:
            raise UsageError(f"--replica-assignment and {name} cannot be given together: the lists say both")
    return read_replica_lists(options.replica_assignment)


def describe(options: Options) -> None:
    """Show a topic's partitions, or those of all topics."""
    # 25 ms that only this command needs
    from odradek.client.core.admin.configs import describe_configs
    from odradek.client.core.admin.figures import partitions_with_figures

    with patient_admin(client_config(options)) as admin:
        topics = admin.carry_out(describe_topics(None if options.topic is None else [options.topic]))
        if options.topic is None and not options.internal:
            topics = [topic for topic in topics if not topic.internal]
        settings = [] if options.topic is None else admin.carry_out(describe_configs("topic", options.topic))
        partitions = admin.carry_out(partitions_with_figures(topics))
    rows = [
        {
            "topic": topic.name,
            "topic_id": topic.topic_id,
            "partition": one.partition,
            "leader": one.leader,
            "leader_epoch": one.leader_epoch,
            "replicas": one.replicas,
            "in_sync": one.isr,
            "log_start_offset": held and held.log_start_offset,
            "log_end_offset": held and held.log_end_offset,
            "size_bytes": held and held.size_bytes,
        }
        for topic, one, held in partitions
    ]
    rows = matching(rows, options.filter, "topic")
    if options.topic is not None and not options.json:
        own = [
            f"{one.name}={one.value}" for one in settings if one.source and one.source.name == "DYNAMIC_TOPIC"
        ]
        said = f"with {', '.join(own)}" if own else "all settings at their defaults"
        say(f"Topic {options.topic}, id {topics[0].topic_id}, {said}.")
        say("")
        rows = [{name: value for name, value in row.items() if name != "topic"} for row in rows]
    show(rows, DESCRIBE_COLUMNS, as_json=options.json, empty=none_of("topics", options.filter))


def alter(options: Options) -> None:
    """Raise the number of partitions."""
    with patient_admin(client_config(options)) as admin:
        with about_one(options.topic):
            admin.carry_out(create_partitions({options.topic: options.partitions}))
        admin.carry_out(await_leaders(options.topic, options.partitions))
    say(f"Topic {options.topic} has {options.partitions:,} partitions.")


def delete(options: Options) -> None:
    """Delete topics."""
    with patient_admin(client_config(options)) as admin:
        for topic in options.topic:
            try:
                with about_one(topic):
                    admin.carry_out(delete_topics([topic]))
            except ApiError as refused:
                if refused.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    if options.if_exists:
                        say(f"There is no topic {topic}; nothing was deleted.")
                        continue
                    raise ApiError(refused.code, f"there is no topic {topic}") from refused
                raise
            say(f"Deleted topic {topic}.")


def delete_topic_records(options: Options) -> None:
    """Delete the records below an offset."""
    from odradek.client.core.admin.figures import figures_of
    from odradek.client.core.admin.offsets import TO_THE_END

    with patient_admin(client_config(options)) as admin:
        (topic,) = admin.carry_out(describe_topics([options.topic]))
        numbers = [one.partition for one in topic.partitions]
        wanted = [TopicPartition(topic.name, one) for one in numbers if options.partition in (None, one)]
        if not wanted:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {options.partition} of topic {topic.name}: it has {len(numbers)}",
            )
        below = dict.fromkeys(wanted, TO_THE_END if options.before == "latest" else options.before)
        figures = admin.carry_out(figures_of([topic]))
        short = [
            one for one, offset in below.items() if one in figures and offset > figures[one].log_end_offset
        ]
        if short:  # before anything is deleted in the others
            refused = beyond_the_end(short, options.before)
            raise ApiError(refused.code, f"{refused}; nothing was deleted")
        if options.execute:
            leaderless = [one for one in wanted if one not in figures]
            if leaderless:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{leaderless[0]} has no leader")
            starts = delete_records_below(admin, below)
    if options.execute:
        rows = [{"partition": one.partition, "log_start_offset": starts[one]} for one in sorted(starts)]
        _show_starts(options, rows)
        return
    rows = [
        {
            "partition": one.partition,
            "log_start_offset": figures[one].log_start_offset,
            "new_start_offset": figures[one].log_end_offset if offset == TO_THE_END else offset,
        }
        for one, offset in below.items()
        if one in figures
    ]
    _show_starts(options, rows)
    say("Nothing was deleted: add --execute to do it.", as_error=True)


def delete_records_below(
    admin: Admin, below: Mapping[TopicPartition, Offset]
) -> dict[TopicPartition, Offset]:
    """Delete the records below each offset; returns the first offset that each log then has.

    Raises ApiError for the first partition that refuses, and says in which others records were deleted.
    """
    from odradek.client.core.admin.offsets import delete_records

    try:
        return admin.carry_out(delete_records(below))
    except ElementsRefused as refused:
        first, error = next(iter(refused.refused.items()))
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            error = beyond_the_end([first], below[first])
        done = f"deleted in {', '.join(sorted(map(str, refused.done)))}" if refused.done else ""
        raise ApiError(error.code, f"{error}; {done or 'nothing was deleted'}") from refused


def beyond_the_end(partitions: Sequence[TopicPartition], offset: Offset) -> ApiError:
    """The error for partitions that do not reach the offset below which records are to be deleted."""
    named = ", ".join(map(str, partitions))
    ends = "ends" if len(partitions) == 1 else "end"
    return ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{named} {ends} before offset {offset:,}")


def _show_starts(options: Options, rows: list[dict[str, int]]) -> None:
    columns = (
        Column("partition"),
        Column("log_start_offset", counted, title="start"),
        Column("new_start_offset", counted, title="new start"),
    )
    show(rows, columns, as_json=options.json, empty=f"Topic {options.topic} has no partitions.")


def offset_or_latest(text: str) -> int | str:
    """An offset, or "latest". Raises ValueError."""
    if text == "latest":
        return text
    try:
        return number()(text)
    except ValueError:
        raise ValueError("an offset or 'latest'") from None


GROUP = Group(
    "topics",
    "List, create, describe, alter and delete topics.",
    (
        Command(
            "list",
            "List the topics with their numbers of partitions and replicas.",
            list_topics,
            (flag("--internal", help="also the cluster's own topics"), FILTER, JSON, *CONNECTION),
        ),
        Command(
            "create",
            "Create a topic.",
            create,
            (
                TOPIC,
                option(
                    "--partitions",
                    help="how many partitions",
                    metavar="N",
                    kind=number(1, PARTITIONS_MAX),
                    default=-1,
                    shown_default="the broker's num.partitions",
                ),
                option(
                    "--replication-factor",
                    help="how many replicas of each",
                    metavar="N",
                    kind=number(1, 32767),
                    default=-1,
                    shown_default="the broker's default.replication.factor",
                ),
                option(
                    "--replica-assignment",
                    help="the brokers of each partition, the preferred leader first, instead of numbers",
                    metavar="BROKER[:BROKER...][,...]",
                ),
                option(
                    "--set",
                    help="a setting of the topic",
                    metavar="NAME=VALUE",
                    many=True,
                    completes="setting= of topic",
                ),
                flag("--if-not-exists", help="succeed when the topic exists already"),
                *CONNECTION,
            ),
            examples=(
                "odradek topics create flights --partitions 3 --set retention.ms=86400000",
                f"odradek topics create flights --replica-assignment {EXAMPLE}",
            ),
        ),
        Command(
            "describe",
            "Show each partition's leader, replicas, offsets and size, of one topic or of all.",
            describe,
            (
                positional(
                    "topic", "the topic's name; all topics without it", required=False, completes="topic"
                ),
                flag("--internal", help="of all topics also the cluster's own"),
                FILTER,
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "alter",
            "Raise the number of partitions.",
            alter,
            (
                TOPIC,
                option(
                    "--partitions",
                    help="the new number of partitions",
                    metavar="N",
                    kind=number(1, PARTITIONS_MAX),
                    required=True,
                ),
                *CONNECTION,
            ),
            details="Records with keys may go to other partitions afterwards. Settings are changed by"
            " 'odradek configs set'.",
        ),
        Command(
            "delete",
            "Delete topics with everything in them.",
            delete,
            (
                positional("topic", "the topic's name", many=True, completes="topic"),
                flag("--if-exists", help="succeed when there is no such topic"),
                *CONNECTION,
            ),
        ),
        Command(
            "delete-records",
            "Delete the records of a topic below an offset.",
            delete_topic_records,
            (
                TOPIC,
                option(
                    "--before",
                    help="the first offset that stays, or 'latest' for none",
                    metavar="OFFSET",
                    kind=offset_or_latest,
                    required=True,
                ),
                option(
                    "--partition", help="only this partition", metavar="N", kind=number(0, PARTITIONS_MAX)
                ),
                flag("--execute", help="do it; without it only show what would be done"),
                JSON,
                *CONNECTION,
            ),
            details="Every partition must reach the offset, else nothing is deleted; --partition takes one.",
        ),
    ),
)
