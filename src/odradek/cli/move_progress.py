"""Follows moves of replicas until the last has ended, and says how far they are.

3 of 12 partitions moved, 1.2 GB of 4.5 GB copied
"""

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.cli.move_plan import PlannedMove, numbered
from odradek.cli.output import sized
from odradek.cli.progress_lines import ProgressLines
from odradek.client.administering import Admin
from odradek.client.cluster_state import ClusterState
from odradek.client.core.admin.cluster_states import cluster_state
from odradek.client.core.admin.figures import log_sizes
from odradek.client.core.admin.reassignments import Move, list_partition_reassignments

LOOK_S: Final = 1.0
REASONS_MAX: Final = 3


def follow(admin: Admin, moves: Iterable[PlannedMove], running: Collection[TopicPartition]) -> None:
    """Returns when none of these partitions is on its way any more."""
    planned = {one.topic_partition: one for one in moves}
    count = len(planned) + len(running)
    lines = ProgressLines()
    before = ""
    try:
        while True:
            under_way = admin.carry_out(list_partition_reassignments())
            left = {named: one for named, one in under_way.items() if named in planned or named in running}
            if not left:
                return
            line = _progress(admin, planned, left, count)
            # The whole cluster is looked at only where nothing has moved since the last time.
            obstacles = obstacles_of(admin.carry_out(cluster_state()), left) if line == before else []
            lines.print("; ".join([line, *obstacles]))
            before = line
            time.sleep(LOOK_S)
    finally:
        lines.end()


def _progress(
    admin: Admin,
    planned: Mapping[TopicPartition, PlannedMove],
    left: Mapping[TopicPartition, Move],
    count: int,
) -> str:
    line = f"{count - len(left):,} of {numbered(count, 'partition')} moved"
    total = sum(one.bytes or 0 for one in planned.values())
    if total:
        wanted = [(named, adding) for named, one in left.items() for adding in one.adding]
        sizes = admin.carry_out(log_sizes(wanted))
        copied = 0
        for named, plan in planned.items():
            for broker_id in plan.adding:
                whole = plan.log_bytes or 0
                copied += min(sizes.get((named, broker_id), 0), whole) if named in left else whole
        line += f", {sized(copied)} of {sized(total)} copied"
    return line


def obstacles_of(state: ClusterState, moves: Mapping[TopicPartition, Move]) -> list[str]:
    """Why some of the moves do not go on; empty if they all may."""
    live = {one.broker_id for one in state.brokers}
    missing = sorted({adding for one in moves.values() for adding in one.target if adding not in live})
    found = [f"waiting for broker {one}, which is not in the cluster" for one in missing]
    found += [
        f"{one.topic_partition} has no leader"
        for one in state.partitions
        if one.topic_partition in moves and one.leader == NO_BROKER
    ]
    if len(found) > REASONS_MAX:
        found = [*found[:REASONS_MAX], f"and {len(found) - REASONS_MAX:,} more"]
    return found
