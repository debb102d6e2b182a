"""`odradek cluster reassign`: which brokers have the replicas of partitions (KIP-455).

A plan comes from a file in the form of `kafka-reassign-partitions.sh`, or is made for topics: --to names
their brokers. Without --execute it is only shown.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.cli.command_line import JSON, Command, Options, UsageError, flag, number, option, positional
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.directory_moves import directory_states, give_up
from odradek.cli.directory_plan import plan_directories
from odradek.cli.move_plan import brokers_are, check_known, numbered, plan_for
from odradek.cli.moving import (
    EXECUTE,
    NO_WAIT,
    SAVE,
    THROTTLE,
    check_execution,
    refused_of,
    release,
    show_or_carry_out,
)
from odradek.cli.output import Column, say, sentences, show
from odradek.cli.partition_names import partitions_named
from odradek.cli.patient_admin import patient_admin
from odradek.cli.reassignment_files import Directories, Reassignments, read_reassignments
from odradek.client.administering import Admin
from odradek.client.cluster_state import ClusterState
from odradek.client.core.admin.cluster_states import cluster_state
from odradek.client.core.admin.reassignments import Move, list_partition_reassignments
from odradek.client.replica_placement import Replicas, spread

_BROKER_MAX = (1 << 31) - 1

VERIFIED_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("replicas"),
    Column("target", title="to be"),
    Column("adding", title="copied to"),
    Column("directories", sentences, title="log directories"),
    Column("state", colour=lambda value: "green" if value == "moved" else "yellow"),
)
CANCELLED_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("target", title="was to be"),
    Column("replicas"),
    Column("result"),
)


def reassign(options: Options) -> None:
    """Show, carry out, follow or give up moves."""
    _check(options)
    wanted = None if options.file is None else read_reassignments(options.file)
    with patient_admin(client_config(options)) as admin:
        if options.verify:
            _verify(options, admin, wanted)
        elif options.cancel:
            _cancel(options, admin, wanted)
        else:
            _plan(options, admin, wanted)


def _check(options: Options) -> None:
    """Raises UsageError for options that do not go together."""
    modes = [name for name in ("execute", "verify", "cancel") if getattr(options, name)]
    if len(modes) > 1:
        raise UsageError(f"only one of --{' and --'.join(modes)} can be given")
    if options.file is not None and options.partitions:
        raise UsageError("--file names the partitions: no topics can be given with it")
    for name in ("to", "replication_factor"):
        shown = f"--{name.replace('_', '-')}"
        given = getattr(options, name)
        if given is not None and options.file is not None:
            raise UsageError(f"--file names the replicas: {shown} cannot be given with it")
        if given is not None and (options.verify or options.cancel):
            raise UsageError(f"{shown} makes a plan: it cannot be given with --{modes[0]}")
    check_execution(options)
    if options.verify or options.cancel:
        return
    if options.file is None and not options.partitions:
        raise UsageError("odradek cluster reassign needs topics or --file, or one of --verify and --cancel")
    if options.partitions and options.to is None and options.replication_factor is None:
        raise UsageError("odradek cluster reassign needs --to BROKERS, where the replicas are to be")


# --- plans


def _plan(
    options: Options,
    admin: Admin,
    wanted: Reassignments | None,
) -> None:
    state = admin.carry_out(cluster_state())
    moving = admin.carry_out(list_partition_reassignments())
    if wanted is not None:
        check_known(state, wanted.replicas)
    else:
        wanted = Reassignments(_spread(options, state, moving), {})
    present = {one.topic_partition: tuple(one.replicas) for one in state.partitions}
    directories = plan_directories(admin, wanted.directories, present)
    plan = plan_for(admin, state, moving, wanted.replicas, directories=directories)
    is_done = not plan.moves and not plan.directories and not (plan.running and options.execute)
    if is_done and not options.json:
        count = numbered(len(wanted.replicas), "partition")
        say(f"Nothing to move: {count} will have these replicas, or have them already.")
        return
    show_or_carry_out(options, admin, plan)


def _spread(
    options: Options, state: ClusterState, moving: Mapping[TopicPartition, Move]
) -> dict[TopicPartition, Replicas]:
    """The replicas of the named partitions on the brokers of --to."""
    racks = {one.broker_id: one.rack for one in state.brokers}
    chosen = list(racks) if options.to is None else options.to
    for one in chosen:
        if one not in racks:
            raise OdradekError(f"there is no broker {one}: {brokers_are(state)}")
    named = partitions_named(state.partitions, options.partitions)
    present = {
        one.topic_partition: moving[one.topic_partition].target
        if one.topic_partition in moving
        else tuple(one.replicas)
        for one in named
    }
    factor = options.replication_factor
    for partition, replicas in present.items():
        count = len(replicas) if factor is None else factor
        if count > len(chosen):
            needed = numbered(count, "replica")
            raise OdradekError(
                f"{partition} would have {needed} on {numbered(len(chosen), 'broker')}: name more brokers, or"
                f" fewer replicas with --replication-factor"
            )
    return spread(present, {one: racks[one] for one in chosen}, factor)


# --- moves under way


def _verify(
    options: Options,
    admin: Admin,
    wanted: Reassignments | None,
) -> None:
    state = admin.carry_out(cluster_state())
    moving = admin.carry_out(list_partition_reassignments())
    directories: Directories = {}
    if wanted is not None:
        check_known(state, wanted.replicas)
        directories = wanted.directories
    chosen = _chosen(options, state, moving, wanted)
    within = _words_of_directories(admin, directories)
    replicas = {one.topic_partition: tuple(one.replicas) for one in state.partitions}
    rows = []
    for named in chosen:
        move = moving.get(named)
        target = move.target if move is not None else replicas[named]
        is_other = wanted is not None and wanted.replicas[named] != target
        words = "moved" if move is None and named not in within else "under way"
        if is_other:
            words = "moves elsewhere" if move is not None else "has other replicas"
        rows.append(
            {
                "topic": named.topic,
                "partition": named.partition,
                "replicas": list(replicas[named] if move is None else move.origin),
                "target": None if move is None else list(move.target),
                "adding": None if move is None else list(move.adding),
                "directories": within.get(named),
                "state": words,
            }
        )
    show(rows, VERIFIED_COLUMNS, as_json=options.json, empty="No partition is being moved.")
    over = [named for named in chosen if named not in moving]
    if options.partitions or wanted is not None:
        if over and release(admin, over):
            say("The throttle was taken back.", as_error=True)
    elif not moving and release(admin, list(replicas)):
        say("The throttle was taken back.", as_error=True)
    left = [row for row in rows if row["state"] != "moved"]
    if left:
        raise OdradekError(f"{len(left):,} of {numbered(len(rows), 'partition')} have not moved")


def _cancel(
    options: Options,
    admin: Admin,
    wanted: Reassignments | None,
) -> None:
    state = admin.carry_out(cluster_state())
    moving = admin.carry_out(list_partition_reassignments())
    if wanted is not None:
        check_known(state, wanted.replicas)
    chosen = [named for named in _chosen(options, state, moving, wanted) if named in moving]
    refused = refused_of(admin, dict.fromkeys(chosen))
    rows = [
        {
            "topic": named.topic,
            "partition": named.partition,
            "target": list(moving[named].target),
            "replicas": list(moving[named].origin),
            "result": refused.get(named, "given up"),
        }
        for named in chosen
    ]
    show(rows, CANCELLED_COLUMNS, as_json=options.json, empty="No partition is being moved.")
    release(admin, [named for named in chosen if named not in refused])
    failed = len(refused) + (0 if wanted is None else _cancel_directories(options, admin, wanted.directories))
    if failed:
        raise OdradekError(f"{numbered(failed, 'move')} could not be given up")


def _cancel_directories(options: Options, admin: Admin, directories: Directories) -> int:
    """Let replicas that are on their way to other directories stay; returns how many brokers refuse it."""
    codes = give_up(admin, directories)
    failed = [one for one, code in codes.items() if code is not ErrorCode.NONE]
    if codes and not options.json:
        count = numbered(len(codes) - len(failed), "replica")
        say(f"{count} on the way to other log directories will stay.", as_error=True)
    return len(failed)


def _words_of_directories(admin: Admin, directories: Directories) -> dict[TopicPartition, list[str]]:
    """What is to be said of partitions with replicas that are not in their directories."""
    found: dict[TopicPartition, list[str]] = defaultdict(list)
    for replica, words in directory_states(admin, directories).items():
        found[replica.topic_partition].append(words)
    return dict(found)


def _chosen(
    options: Options,
    state: ClusterState,
    moving: Mapping[TopicPartition, Move],
    wanted: Reassignments | None,
) -> Sequence[TopicPartition]:
    """The partitions that the command names; without names, those that are under way."""
    if wanted is not None:
        return sorted(wanted.replicas)
    if options.partitions:
        return [one.topic_partition for one in partitions_named(state.partitions, options.partitions)]
    return list(moving)


def _brokers(text: str) -> list[BrokerId]:
    """Reads ids of brokers: 1,2,3. Raises ValueError."""
    words = text.split(",")
    if not all(re.fullmatch(r"[0-9]{1,10}", word) and int(word) <= _BROKER_MAX for word in words):
        raise ValueError("ids of brokers, as 1,2,3")
    ids = [int(word) for word in words]
    if len(set(ids)) < len(ids):
        raise ValueError("different brokers")
    return ids


COMMAND = Command(
    "reassign",
    "Move replicas of partitions to other brokers.",
    reassign,
    (
        positional(
            "partitions",
            "all partitions of a topic, or one",
            metavar="TOPIC[:PARTITION]",
            many=True,
            required=False,
            completes="topic",
        ),
        option(
            "--to",
            help="the brokers that are to have the replicas",
            metavar="BROKERS",
            kind=_brokers,
            shown_default="with --replication-factor, all",
        ),
        option(
            "--replication-factor",
            help="how many replicas each partition is to have",
            metavar="N",
            kind=number(1, 32767),
            shown_default="as many as it has",
        ),
        option(
            "--file",
            "--reassignment-json-file",
            help="a JSON file with the replicas, as Kafka's tool takes it, or - for standard input",
            metavar="FILE",
            completes="file",
        ),
        EXECUTE,
        flag("--verify", help="show how far moves are, and take their throttle back when they have ended"),
        flag("--cancel", help="give up moves: partitions keep the replicas that they had"),
        THROTTLE,
        NO_WAIT,
        SAVE,
        JSON,
        *CONNECTION,
    ),
    details="Topics are spread evenly over the brokers of --to, and over their racks, with as few moves as"
    " that takes. The plan that is shown is a file for --file with --json. --verify and --cancel without"
    " topics or --file mean all moves under way. Clients go on while replicas move. A file may name log"
    " directories of the brokers, too.",
    examples=(
        "odradek cluster reassign flights --to 2,3,4",
        "odradek cluster reassign flights --to 2,3,4 --execute --throttle 50,000,000",
        "odradek cluster reassign --file moves.json --execute --no-wait",
        "odradek cluster reassign --verify",
    ),
)
