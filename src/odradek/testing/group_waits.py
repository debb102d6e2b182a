"""Waits for consumer groups: until no rebalance is under way, or until their lag is zero."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.group_admin import GroupAdmin, Lag
from odradek.client.group_description import GroupDescription
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.own_client import own_client
from odradek.testing.topic_access import TopicAccess

LOOK_EVERY_S: Final = 0.01
_NOT_YET: Final = frozenset(
    {
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)

T = TypeVar("T")


class GroupWaits:
    """The groups of the brokers at some addresses."""

    def __init__(self, bootstrap_servers: Callable[[], str]) -> None:
        self._bootstrap_servers = bootstrap_servers

    def at_rest(self, group: str, *, members: int | None, timeout_s: float) -> GroupDescription:
        """Returns the group once it has `members` members (None: at least one) and no rebalance."""

        def look(admin: GroupAdmin) -> tuple[GroupDescription | None, str]:
            found = admin.describe(group)
            count = len(found.members)
            is_right = count == members if members is not None else count > 0
            is_at_rest = found.state in ("Stable", "Empty")
            words = f"group {group} is {found.state} with {count} members"
            return (found if is_right and is_at_rest else None), words

        wanted = "any members" if members is None else f"{members} members"
        return self._until(look, f"{wanted} at rest", timeout_s)

    def without_lag(self, group: str, topic: str | None, *, timeout_s: float) -> list[Lag]:
        """Returns the group's partitions as soon as no record follows a committed offset.

        With `topic`, all partitions of that topic count, else those with a committed offset or a member.
        """

        def look(admin: GroupAdmin) -> tuple[list[Lag] | None, str]:
            rows = [row for row in admin.lag(group) if topic is None or row.partition.topic == topic]
            told = {row.partition for row in rows}
            for one in admin.committed(group):
                if one not in told and topic in (None, one.topic):
                    return None, f"group {group} may be behind: {one} has no leader"
            behind = self._behind(rows, topic)
            if (rows or topic is not None) and not behind:
                return rows, ""
            said = ", ".join(f"{partition} by {count}" for partition, count in behind.items())
            return (
                None,
                f"group {group} is behind: {said or 'nothing is committed and nothing assigned'}",
            )

        return self._until(look, "no lag", timeout_s)

    def _behind(self, rows: Sequence[Lag], topic: str | None) -> dict[TopicPartition, int]:
        """The records after each committed offset, by partition; transaction markers do not count."""
        access = TopicAccess(self._bootstrap_servers)
        committed = {row.partition: row.committed for row in rows}
        behind: dict[TopicPartition, int] = {}
        if topic is not None:
            for number in range(access.partition_count(topic)):
                committed.setdefault(TopicPartition(topic, number), None)
        ends = {row.partition: row.end for row in rows}
        unread: dict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
        for partition, offset in committed.items():
            if offset is None or offset < ends[partition]:
                unread[partition.topic][partition] = offset or 0
        for name, offsets in unread.items():
            with access.reader(name, [one.partition for one in offsets]) as reader:
                reader.skip_to(offsets)
                reader.read_to_end()
                behind |= {one: len(records) for one, records in reader.records.items() if records}
        return behind

    def _until(self, look: Callable[[GroupAdmin], tuple[T | None, str]], wanted: str, timeout_s: float) -> T:
        """Returns the first result of `look` that is not None. Raises WaitTimeout with `look`'s text."""
        deadline = Deadline(timeout_s)
        words = ""
        while True:
            try:
                with GroupAdmin(own_client(self._bootstrap_servers())) as admin:
                    while True:
                        found, words = look(admin)
                        if found is not None:
                            return found
                        if deadline.is_over():
                            break
                        time.sleep(LOOK_EVERY_S)
            except ApiError as error:  # also ConnectionFailed: another broker may answer
                if not isinstance(error, ConnectionFailed) and error.code not in _NOT_YET:
                    raise
                words = str(error)
            if deadline.is_over():
                raise WaitTimeout(f"{words}; waited {timeout_s:g} s for {wanted}")
            time.sleep(LOOK_EVERY_S)
