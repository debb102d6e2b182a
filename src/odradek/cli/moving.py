"""Carries out a plan of moves for `cluster reassign` and `cluster drain`, with what belongs to it.

the replicas that there are    written to a file, to go back
the throttle                   before the first copy begins; taken back after the last
the log directories            asked for at the brokers, before the moves and after they have begun
the moves                      decided by the controller, then followed until they have ended
"""

from collections.abc import Collection, Mapping

from odradek.base.errors import ElementsRefused, OdradekError
from odradek.base.ids import TopicPartition
from odradek.base.values import value
from odradek.cli.command_line import Options, UsageError, flag, number, option
from odradek.cli.directory_moves import ask_for, ask_until_begun, follow_directories
from odradek.cli.move_plan import Plan, numbered, plan_document, show_plan
from odradek.cli.move_progress import follow
from odradek.cli.output import say, say_json
from odradek.cli.reassignment_files import Reassignments, write_reassignments
from odradek.client.administering import Admin
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.cluster_states import partition_states
from odradek.client.core.admin.log_dirs import TopicPartitionReplica
from odradek.client.core.admin.reassignments import (
    Move,
    alter_partition_reassignments,
    list_partition_reassignments,
)
from odradek.client.core.admin.replication_throttle import take_back, throttle
from odradek.client.replica_placement import Replicas

RATE_MAX = (1 << 63) - 1
THROTTLE = option(
    "--throttle",
    help="with --execute: the most bytes per second that each broker sends and fetches of replicas that move",
    metavar="BYTES",
    kind=number(1, RATE_MAX),
)
EXECUTE = flag("--execute", help="do it; without it only show what would be moved")
NO_WAIT = flag("--no-wait", help="with --execute: end when the moves have begun")
SAVE = option(
    "--save",
    help="with --execute: a new file for the replicas that there are before, to go back with reassign --file",
    metavar="FILE",
    completes="file",
)
GO_ON = (
    "The moves go on; 'odradek cluster reassign --verify' shows them, and 'odradek cluster reassign --cancel'"
    " gives them up."
)


@value
class Ended:
    """What became of a plan."""

    moved: Collection[TopicPartition]
    """The partitions that have the replicas of the plan now; with --no-wait, that are to get them."""
    refused: Mapping[TopicPartition, str]
    """Those that the controller refused, and why."""
    otherwise: Mapping[TopicPartition, str]
    """Those that have ended otherwise: somebody gave the move up, replaced it, or deleted the topic."""
    astray: Mapping[TopicPartitionReplica, str]
    """The replicas that are not in the log directories of the plan, and why."""


def check_execution(options: Options) -> None:
    """Raises UsageError for options without effect unless --execute is given."""
    for name in ("throttle", "no_wait", "save"):
        if getattr(options, name) not in (None, False) and not options.execute:
            raise UsageError(f"--{name.replace('_', '-')} has no effect without --execute")


def show_or_carry_out(options: Options, admin: Admin, plan: Plan) -> None:
    """Show a plan, and with --execute carry it out.

    Raises OdradekError if a partition does not get its replicas.
    """
    if not options.json:
        show_plan(plan)
    elif not options.execute:
        say_json(plan_document(plan), indent=2)
    if options.execute:
        _show_ended(options, plan, _carry_out(options, admin, plan))
    elif plan.moves or plan.directories:
        say("Nothing was moved: add --execute to do it.", as_error=True)


def _carry_out(options: Options, admin: Admin, plan: Plan) -> Ended:
    """Begin the moves, and unless --no-wait is given, follow them to their end."""
    if options.save is not None:
        write_reassignments(options.save, _before(plan))
    throttled = _throttled(plan, admin.carry_out(list_partition_reassignments()))
    if options.throttle is not None and throttled:
        admin.carry_out(throttle(throttled, admin.carry_out(broker_ids()), options.throttle))
    ask_for(admin, plan.directories)
    refused = refused_of(admin, plan.targets)
    begun = [one for one in plan.moves if one.topic_partition not in refused]
    within = [one for one in plan.directories if one.replica.topic_partition not in refused]
    ask_until_begun(admin, within)
    if options.no_wait:
        return Ended([one.topic_partition for one in begun], refused, {}, {})
    try:
        follow(admin, begun, plan.running)
        astray = follow_directories(admin, within)
    except (KeyboardInterrupt, OdradekError):  # such as the loss of the broker that is asked
        say(GO_ON, as_error=True)
        raise
    release(admin, [one.topic_partition for one in begun] + list(plan.running))
    now = {one.topic_partition: tuple(one.replicas) for one in admin.carry_out(partition_states())[0]}
    otherwise = {}
    for one in begun:
        found = now.get(one.topic_partition)
        if found is None:
            otherwise[one.topic_partition] = "it was deleted meanwhile"
        elif found != one.target:
            otherwise[one.topic_partition] = (
                f"it has the replicas {', '.join(map(str, found))}: the move was given up or replaced"
            )
    moved = [one.topic_partition for one in begun if one.topic_partition not in otherwise]
    return Ended(moved, refused, otherwise, astray)


def refused_of(admin: Admin, targets: Mapping[TopicPartition, Replicas | None]) -> dict[TopicPartition, str]:
    """Let partitions have these replicas, or (None) give up what is under way; returns who refused, and why.

    The answer comes when it is decided; moving takes longer.
    """
    try:
        admin.carry_out(alter_partition_reassignments(targets))
    except ElementsRefused as refused:
        return {one: str(error).removeprefix(f"{one}: ") for one, error in refused.refused.items()}
    return {}


def _before(plan: Plan) -> Reassignments:
    """The replicas that there are, and the directories of those that are to be in others."""
    replicas = {one.replica.topic_partition: one.replicas for one in plan.directories}
    replicas |= {one.topic_partition: one.before for one in plan.moves}
    return Reassignments(
        replicas, {one.replica: one.before for one in plan.directories if one.before is not None}
    )


def release(admin: Admin, partitions: Collection[TopicPartition]) -> bool:
    """Take the throttle of these moves back; the rates, too, if no other move is under way.

    Returns whether there was one.
    """
    if not partitions:
        return False
    is_last = not set(admin.carry_out(list_partition_reassignments())) - set(partitions)
    return admin.carry_out(take_back(partitions, admin.carry_out(broker_ids()), is_last=is_last))


def _throttled(
    plan: Plan, moving: Mapping[TopicPartition, Move]
) -> dict[TopicPartition, tuple[tuple[int, ...], tuple[int, ...]]]:
    found = {one.topic_partition: (one.before, one.adding) for one in plan.moves if one.adding}
    for named in plan.running:
        if named in moving and moving[named].adding:
            found[named] = moving[named].origin, moving[named].adding
    return found


def _show_ended(options: Options, plan: Plan, ended: Ended) -> None:
    """Say what became of a plan. Raises OdradekError if a partition has other replicas than planned."""
    if options.json:
        document = plan_document(plan)
        for row in document["partitions"]:
            named = TopicPartition(row["topic"], row["partition"])
            lost = (f"{one}: {why}" for one, why in ended.astray.items() if one.topic_partition == named)
            why = ended.refused.get(named) or ended.otherwise.get(named) or next(lost, None)
            row["result"] = why or ("under way" if options.no_wait else "moved")
        say_json(document, indent=2)
    elif options.no_wait:
        say(f"{_counted(len(ended.moved), len(plan.directories))} on the way. {GO_ON}")
    else:
        there = len(plan.directories) - len(ended.astray)
        say(f"Moved {_counted(len(ended.moved) + len(plan.running), there)}.")
    if options.no_wait and options.throttle is not None:
        say(
            "The throttle stays until 'odradek cluster reassign --verify' finds that all have moved.",
            as_error=True,
        )
    failed: list[tuple[object, str]]
    failed = [*ended.refused.items(), *ended.otherwise.items(), *ended.astray.items()]
    if failed:
        what, why = failed[0]
        others = "other" if ended.astray else "other partition"
        more = f"; nor did {numbered(len(failed) - 1, others)}" if failed[1:] else ""
        raise OdradekError(f"{what} did not move: {why}{more}")


def _counted(partitions: int, directories: int) -> str:
    """How many partitions, and replicas between directories, without those that there are none of."""
    within = f"{numbered(directories, 'replica')} between log directories"
    if not directories:
        return numbered(partitions, "partition")
    return f"{numbered(partitions, 'partition')}, and {within}" if partitions else within
