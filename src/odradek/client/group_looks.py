"""One look at a consumer group, for those who wait until it is at rest, or has no lag.

Who looks again, and until when, is left to the caller: a test's thread, or a broker's admin listener.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.values import value
from odradek.client.administering import Admin
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.groups import describe_group, list_group_offsets
from odradek.client.core.admin.lag import Lag, group_lag
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.group_description import GroupDescription
from odradek.client.leader_connections import LeaderConnections
from odradek.client.topic_reader import TopicReader
from odradek.net.request_pipeline import ConnectionFailed

_PASSING: Final = frozenset(
    {
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)

T = TypeVar("T")


@value
class Look(Generic[T]):
    """What was found."""

    found: T | None
    """What is waited for; None as long as it is not there."""
    words: str = ""
    """What is there instead."""


def is_passing(error: ApiError) -> bool:
    """Whether looking again makes sense: the group is to come, or another broker may answer."""
    return isinstance(error, ConnectionFailed) or error.code in _PASSING


def look_at_rest(admin: Admin, group: str, members: int | None) -> Look[GroupDescription]:
    """Finds the group if it has `members` members (None: at least one) and no rebalance is under way."""
    return look_at_description(admin.carry_out(describe_group(group)), members)


def look_at_description(found: GroupDescription, members: int | None) -> Look[GroupDescription]:
    """`look_at_rest` of a group as its coordinator describes it."""
    count = len(found.members)
    is_right = count == members if members is not None else count > 0
    is_at_rest = found.state in ("Stable", "Empty")
    words = f"group {found.group} is {found.state} with {count} members"
    return Look(found if is_right and is_at_rest else None, words)


def look_for_lag(admin: Admin, config: ClientConfig, group: str, topic: str | None) -> Look[list[Lag]]:
    """Finds the group's partitions if no record follows a committed offset.

    With `topic`, all partitions of that topic count, else those with a committed offset or a member. `config`
    is that of who reads what was not read yet.
    """
    rows = [row for row in admin.carry_out(group_lag(group)) if topic is None or row.partition.topic == topic]
    told = {row.partition for row in rows}
    for one in admin.carry_out(list_group_offsets(group, require_stable=False)):
        if one not in told and topic in (None, one.topic):
            return Look(None, f"group {group} may be behind: {one} has no leader")
    behind = _behind(config, rows, topic)
    if (rows or topic is not None) and not behind:
        return Look(rows)
    said = ", ".join(f"{partition} by {count}" for partition, count in behind.items())
    return Look(None, f"group {group} is behind: {said or 'nothing is committed and nothing assigned'}")


def _behind(config: ClientConfig, rows: Sequence[Lag], topic: str | None) -> dict[TopicPartition, int]:
    """The records after each committed offset, by partition; transaction markers do not count."""
    committed = {row.partition: row.committed for row in rows}
    behind: dict[TopicPartition, int] = {}
    if topic is not None:
        with LeaderConnections(config, [topic]) as leaders:
            for one in leaders.partitions_of(topic):
                committed.setdefault(one, None)
    ends = {row.partition: row.end for row in rows}
    unread: dict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
    for partition, offset in committed.items():
        if offset is None or offset < ends[partition]:
            unread[partition.topic][partition] = offset or 0
    isolated = replace(config, isolation_level="read_committed")
    for name, offsets in unread.items():
        with _Counting(isolated, name, [one.partition for one in offsets]) as reader:
            reader.skip_to(offsets)
            reader.read_to_end()
            behind |= reader.counts
    return behind


class _Counting(TopicReader):
    """Counts records."""

    def __init__(self, config: ClientConfig, topic: str, numbers: Sequence[int]) -> None:
        self.counts: Counter[TopicPartition] = Counter()
        """How many records were read; only of partitions that have some."""
        super().__init__(config, topic, numbers)

    def on_record(self, partition: TopicPartition, record: ConsumerRecord) -> None:
        self.counts[partition] += 1
