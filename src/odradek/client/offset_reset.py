"""Plans how to move a group's committed offsets, partition by partition; commits nothing.

A target outside a log is moved to its nearer end, as Kafka's tool does it: an offset that a log does not have
would leave the choice to each member's `auto.offset.reset`.

    At(999) in a log of offsets 5 to 10      10, moved
    ShiftBy(-3) of a committed 7             4, which the log no longer has: 5, moved
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, Offsets
from odradek.client.group_admin import GroupAdmin


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first offset of each log."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The end of each log."""


@dataclass(frozen=True, slots=True)
class Current:
    """The committed offset; the end of a log of which nothing is committed."""


@dataclass(frozen=True, slots=True)
class At:
    """One offset for all partitions."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """This many offsets after the committed one; negative for before."""

    count: int


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of that time or later; the end where there is none."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class AtEach:
    """An offset for each of these partitions, and for no others."""

    offsets: Mapping[TopicPartition, Offset]


Target: TypeAlias = Earliest | Latest | Current | At | ShiftBy | AtTime | AtEach


@dataclass(frozen=True, slots=True)
class Move:
    """The change of one partition's committed offset."""

    partition: TopicPartition
    before: Offset | None
    """None while nothing is committed."""
    after: Offset
    asked: Offset
    """The offset that the target names; differs from `after` where the log does not have it."""


def plan_moves(
    admin: GroupAdmin, group: str, topics: Sequence[str], target: Target, partition: int | None = None
) -> list[Move]:
    """Returns the moves, by partition. Without `topics`: of all partitions with a committed offset.

    A target `AtEach` names the partitions itself. Raises ApiError when a topic or partition does not exist,
    or nothing is committed that could be shifted.
    """
    committed = admin.committed(group)
    if isinstance(target, AtEach):
        wanted = _existing(admin, sorted(target.offsets))
    else:
        wanted = partitions_in_scope(admin, committed, topics, partition)
    if isinstance(target, ShiftBy):
        _refuse_uncommitted(group, [one for one in wanted if one not in committed])
    starts, ends = admin.offsets_of(wanted, EARLIEST), admin.offsets_of(wanted, LATEST)
    times = admin.offsets_of(wanted, target.timestamp_ms) if isinstance(target, AtTime) else {}
    moves = []
    for one in wanted:
        match target:
            case Earliest():
                asked = starts[one]
            case Latest():
                asked = ends[one]
            case Current():
                asked = committed.get(one, ends[one])
            case At(offset):
                asked = offset
            case AtEach(offsets):
                asked = offsets[one]
            case ShiftBy(count):
                asked = committed[one] + count
            case AtTime():
                asked = times[one] if times[one] >= 0 else ends[one]
        after = max(starts[one], min(asked, ends[one]))
        moves.append(Move(one, committed.get(one), after, asked))
    return moves


def partitions_in_scope(
    admin: GroupAdmin, committed: Offsets, topics: Sequence[str], partition: int | None
) -> list[TopicPartition]:
    """The partitions of `topics`, or without any, those committed; of each topic only number `partition`.

    Raises ApiError when a topic or partition does not exist.
    """
    names = list(topics) or sorted({one.topic for one in committed})
    wanted = admin.partitions_of(names)
    if not topics:
        wanted = [one for one in wanted if one in committed]
    if partition is not None:
        wanted = [one for one in wanted if one.partition == partition]
        if not wanted:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {partition} of topic {', '.join(names)}",
            )
    return wanted


def _existing(admin: GroupAdmin, partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    existing = set(admin.partitions_of(sorted({one.topic for one in partitions})))
    for one in partitions:
        if one not in existing:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {one.partition} of topic {one.topic}",
            )
    return partitions


def _refuse_uncommitted(group: str, partitions: Sequence[TopicPartition]) -> None:
    if partitions:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"group {group} has committed nothing for {partitions[0]} that could be shifted;"
            " use --to or --to-datetime",
        )
