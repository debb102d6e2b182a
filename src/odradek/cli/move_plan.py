"""What `cluster reassign` and `cluster drain` are about to move: shown before anything is done."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.base.values import value
from odradek.cli import names
from odradek.cli.directory_plan import DirectoryMove
from odradek.cli.output import Column, merged, say, show, sized, spans
from odradek.cli.reassignment_files import Directories, log_dirs_of
from odradek.client.administering import Admin
from odradek.client.cluster_state import ClusterPartition, ClusterState
from odradek.client.core.admin.figures import log_sizes
from odradek.client.core.admin.reassignments import Move
from odradek.client.replica_placement import Replicas

COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("before", title="replicas"),
    Column("replicas", title="will be"),
    Column("adding", title="copied to"),
    Column("bytes", sized, title="to copy"),
    Column("under_way", title="moves to now"),
)
DIRECTORY_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("broker"),
    Column("before", title="log directory"),
    Column("path", title="will be"),
)
KEPT_COLUMNS = (Column("topic"), Column("partition", spans), Column("reason", title="why it stays"))


@value
class PlannedMove:
    """A partition that is to have other replicas."""

    topic_partition: TopicPartition
    before: Replicas
    """Its replicas without those that an earlier move is adding."""
    target: Replicas
    under_way: Replicas | None
    """The replicas that an earlier move is to give it, which this one replaces."""
    log_bytes: int | None
    """The size of its log at its leader."""

    @property
    def adding(self) -> Replicas:
        """The replicas that must copy its records."""
        return tuple(one for one in self.target if one not in self.before)

    @property
    def bytes(self) -> int | None:
        """What they copy, all together."""
        return None if self.log_bytes is None else self.log_bytes * len(self.adding)


@value
class Plan:
    """All that one command is to move."""

    moves: Sequence[PlannedMove]
    """By name; without partitions that have these replicas, or are getting them."""
    running: Sequence[TopicPartition] = ()
    """Partitions that are getting these replicas already."""
    kept: Mapping[TopicPartition, str] | None = None
    """Partitions that cannot move, and why."""
    directories: Sequence[DirectoryMove] = ()
    """Replicas that are to be in other log directories, by name."""

    @property
    def targets(self) -> dict[TopicPartition, Replicas]:
        """The replicas that each partition of the plan is to have."""
        return {one.topic_partition: one.target for one in self.moves}


def plan_for(
    admin: Admin,
    state: ClusterState,
    moving: Mapping[TopicPartition, Move],
    targets: Mapping[TopicPartition, Replicas],
    kept: Mapping[TopicPartition, str] | None = None,
    directories: Sequence[DirectoryMove] = (),
) -> Plan:
    """The plan that gives partitions these replicas. Raises OdradekError for brokers that are not there."""
    known = {one.topic_partition: one for one in state.partitions}
    live = {one.broker_id for one in state.brokers}
    changed: dict[TopicPartition, tuple[ClusterPartition, Replicas]] = {}
    running = []
    for named, target in sorted(targets.items()):
        partition = known[named]
        for one in target:
            if one not in live and one not in partition.replicas:
                raise OdradekError(f"{named} cannot have a new replica on broker {one}: {brokers_are(state)}")
        under_way = moving.get(named)
        if under_way is not None and under_way.target == target:
            running.append(named)
        elif under_way is not None or tuple(partition.replicas) != target:
            changed[named] = partition, target
    sizes = _leader_sizes(admin, [partition for partition, _ in changed.values()])
    moves = []
    for named, (partition, target) in changed.items():
        under_way = moving.get(named)
        before = tuple(partition.replicas) if under_way is None else under_way.origin
        now = None if under_way is None else under_way.target
        moves.append(PlannedMove(named, before, target, now, sizes.get(named)))
    return Plan(moves, running, kept, directories)


def check_known(state: ClusterState, partitions: Iterable[TopicPartition]) -> None:
    """Raises ApiError for a partition that is not in the cluster."""
    known = {one.topic_partition for one in state.partitions}
    topics = {one.topic for one in known}
    for named in partitions:
        if named.topic not in topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {named.topic}")
        if named not in known:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {named.partition} of topic {named.topic}",
            )


def brokers_are(state: ClusterState) -> str:
    """The sentence about the brokers of a cluster."""
    return names.brokers_are([one.broker_id for one in state.brokers])


def numbered(count: int, thing: str) -> str:
    """A number of things: 1 partition, 2,000 partitions."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def show_plan(plan: Plan) -> None:
    """Show what is to move and what cannot."""
    rows = [
        {
            "topic": one.topic_partition.topic,
            "partition": one.topic_partition.partition,
            "before": list(one.before),
            "replicas": list(one.target),
            "adding": list(one.adding) or None,
            "bytes": one.bytes if one.adding else None,
            "under_way": None if one.under_way is None else list(one.under_way),
        }
        for one in plan.moves
    ]
    if rows or not plan.directories:
        show(rows, COLUMNS, as_json=False, empty="No replica is to be moved.")
    if plan.directories:
        if rows:
            say("")
        show([_directory_row(one) for one in plan.directories], DIRECTORY_COLUMNS, as_json=False, empty="")
    if plan.kept:
        say("")
        kept = [{"topic": topic, "partition": one, "reason": why} for (topic, one), why in plan.kept.items()]
        show(merged(kept, KEPT_COLUMNS, "partition"), KEPT_COLUMNS, as_json=False, empty="")
    if rows or plan.directories:
        say("")
        say(_summary(plan))


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as Kafka's tool writes it, with more fields."""
    paths = {one.replica: one.path for one in plan.directories}
    stay = {one.replica.topic_partition: one.replicas for one in plan.directories}
    rows = [
        _document_row(one.topic_partition, one.target, one.before, one.bytes, paths) for one in plan.moves
    ]
    rows += [
        _document_row(named, replicas, replicas, None, paths)
        for named, replicas in stay.items()
        if named not in plan.targets
    ]
    found: dict[str, Any] = {"version": 1, "partitions": rows}
    if plan.kept is not None:
        found["kept"] = [
            {"topic": topic, "partition": number, "reason": why} for (topic, number), why in plan.kept.items()
        ]
    return found


def _document_row(
    named: TopicPartition, target: Replicas, before: Replicas, size_bytes: int | None, paths: Directories
) -> dict[str, Any]:
    return {
        "topic": named.topic,
        "partition": named.partition,
        "replicas": list(target),
        **log_dirs_of(named, target, paths),
        "before": list(before),
        "adding": [one for one in target if one not in before],
        "bytes": size_bytes,
    }


def _directory_row(move: DirectoryMove) -> dict[str, Any]:
    topic, partition, broker_id = move.replica
    return {
        "topic": topic,
        "partition": partition,
        "broker": broker_id,
        "before": move.before,
        "path": move.path,
    }


def _summary(plan: Plan) -> str:
    summary = [_summary_of_moves(plan)] if plan.moves else []
    if plan.directories:
        summary.append(f"{numbered(len(plan.directories), 'replica')} to other log directories.")
    return " ".join(summary)


def _summary_of_moves(plan: Plan) -> str:
    copies = sum(len(one.adding) for one in plan.moves)
    sizes = [one.bytes for one in plan.moves if one.adding]
    if not copies:
        return f"{numbered(len(plan.moves), 'partition')}, and nothing to copy."
    copying = f"{numbered(copies, 'new replica')}"
    if None not in sizes:
        copying += f", {sized(sum(one or 0 for one in sizes))} to copy"
    return f"{numbered(len(plan.moves), 'partition')}, {copying}."


def _leader_sizes(admin: Admin, partitions: Iterable[ClusterPartition]) -> dict[TopicPartition, int]:
    led = [(one.topic_partition, one.leader) for one in partitions if one.leader != NO_BROKER]
    return {named: size for (named, _), size in admin.carry_out(log_sizes(led)).items()}
