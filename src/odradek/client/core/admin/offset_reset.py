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
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.core.admin.groups import list_group_offsets
from odradek.client.core.admin.offsets import list_offsets
from odradek.client.core.operation import Operation


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
    group: str, topics: Sequence[str], target: Target, partition: int | None = None
) -> Operation[list[Move]]:
    """Returns the moves, by partition. Without `topics`: of all partitions with a committed offset.

    A target `AtEach` names the partitions itself. Raises ApiError when a topic or partition does not exist,
    or nothing is committed that could be shifted.
    """
    committed = yield from list_group_offsets(group, require_stable=False)
    if isinstance(target, AtEach):
        wanted = yield from _existing(sorted(target.offsets))
    else:
        wanted = yield from partitions_in_scope(committed, topics, partition)
    if isinstance(target, ShiftBy):
        _refuse_uncommitted(group, [one for one in wanted if one not in committed])
    starts = yield from list_offsets(dict.fromkeys(wanted, EARLIEST))
    ends = yield from list_offsets(dict.fromkeys(wanted, LATEST))
    times: Mapping[TopicPartition, Offset] = {}
    if isinstance(target, AtTime):
        times = yield from list_offsets(dict.fromkeys(wanted, target.timestamp_ms))
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
    committed: Mapping[TopicPartition, Offset], topics: Sequence[str], partition: int | None
) -> Operation[list[TopicPartition]]:
    """The partitions of `topics`, or without any, those committed; of each topic only number `partition`.

    Raises ApiError when a topic or partition does not exist.
    """
    names = list(topics) or sorted({one.topic for one in committed})
    wanted = yield from _partitions_of(names)
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


def _partitions_of(topics: Sequence[str]) -> Operation[list[TopicPartition]]:
    """All partitions of these topics, in the order of the topics. Raises ApiError for an unknown one."""
    # With the messages that make topics: 20 ms that a list of groups does not need.
    from odradek.client.core.admin.topics import describe_topics

    if not topics:
        return []
    found = {one.name: one for one in (yield from describe_topics(list(dict.fromkeys(topics))))}
    return [TopicPartition(topic, one.partition) for topic in topics for one in found[topic].partitions]


def _existing(partitions: Sequence[TopicPartition]) -> Operation[Sequence[TopicPartition]]:
    existing = set((yield from _partitions_of(sorted({one.topic for one in partitions}))))
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
