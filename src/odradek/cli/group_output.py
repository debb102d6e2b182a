"""How a group is shown: a sentence and a table for people, everything in one document for scripts."""

import re
from collections.abc import Sequence
from typing import Any

from odradek.cli.output import Column, colour_of_lag, counted, say, show
from odradek.client.core.admin.lag import Lag
from odradek.client.group_description import (
    AWAY_EPOCH,
    CONSUMER,
    GroupDescription,
    MemberDescription,
    in_ranges,
)

LAG_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("committed", counted, always=True),
    Column("end", counted),
    Column("lag", counted, always=True, colour=colour_of_lag),
    Column("client"),
    Column("member"),
)


def lag_rows(lags: Sequence[Lag]) -> list[dict[str, Any]]:
    """A row for each partition."""
    return [
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


def total_of(lags: Sequence[Lag]) -> str:
    """The sum in a sentence: `Total lag: 1,234 in 3 partitions.`"""
    known = [one.records for one in lags if one.records is not None]
    partitions = "1 partition" if len(known) == 1 else f"{len(known):,} partitions"
    unknown = len(lags) - len(known)
    return f"Total lag: {sum(known):,} in {partitions}" + (
        f"; {unknown:,} more have no committed offset." if unknown else "."
    )


def group_document(group: GroupDescription) -> dict[str, Any]:
    """The group for `--json`; partitions are written as `flights-0`."""
    return {
        "group": group.group,
        "type": group.kind,
        "state": group.state,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [
            {
                "member": one.member,
                "instance": one.instance,
                "client": one.client,
                "host": one.host,
                "protocol": one.protocol,
                "epoch": one.epoch,
                "topics": one.topics,
                "expression": one.expression,
                "partitions": [str(partition) for partition in one.partitions],
                "target": None if one.target is None else [str(partition) for partition in one.target],
            }
            for one in group.members
        ],
    }


def print_group(group: GroupDescription) -> None:
    """Print the group; a value that is equal or unknown for all members gets no column."""
    say(_sentence(group))
    if not group.members:
        return
    say("")
    columns = ["member", "client", "host"]
    if any(one.instance is not None for one in group.members):
        columns.insert(1, "instance")
    if any(one.protocol != group.kind for one in group.members):
        columns.append("protocol")
    if group.kind == CONSUMER:
        columns += ["epoch", "subscribed"]
    columns.append("assigned")
    if any(one.target is not None and one.target != one.partitions for one in group.members):
        columns.append("target")
    rows = [_row(one) for one in group.members]
    show(rows, [Column(name) for name in columns], as_json=False, empty="")


def _sentence(group: GroupDescription) -> str:
    count = len(group.members)
    facts = ["no members" if not count else "1 member" if count == 1 else f"{count} members"]
    facts.append(f"{group.kind} protocol")
    if group.epoch is not None:
        is_behind = count and group.target_epoch != group.epoch
        facts.append(f"epoch {group.epoch}" + is_behind * f" (target of epoch {group.target_epoch})")
    if count and group.assignor:
        facts.append(f"assignor {group.assignor}")
    # PreparingRebalance becomes "preparing rebalance".
    state = re.sub(r"\B(?=[A-Z])", " ", group.state).lower()
    return f"Group {group.group} is {state}: {', '.join(facts)}."


def _row(one: MemberDescription) -> dict[str, Any]:
    subscribed = [*(one.topics or []), *([] if one.expression is None else [f"/{one.expression}/"])]
    return {
        "member": one.member,
        "instance": one.instance,
        "client": one.client,
        "host": one.host,
        "protocol": one.protocol,
        "epoch": "away" if one.epoch == AWAY_EPOCH else one.epoch,
        "subscribed": subscribed or None,
        "assigned": in_ranges(one.partitions),
        "target": "the same" if one.target == one.partitions else in_ranges(one.target or []),
    }
