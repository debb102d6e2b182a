"""Asks whom a member of the new protocol waits for that has no partitions (ConsumerGroupDescribe).

A coordinator gives a partition to its next owner when the last one has given it back (KIP-848), and
heartbeats do not say who that is. So that `why()` can name the members that are to give back, the coordinator
is asked when a member has been without partitions for a moment, and again after ever longer waits.
"""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.client.core.membership.member import Member
from odradek.client.core.requests import Outcome, Send, ToCoordinator
from odradek.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

ASK_AFTER_MS: Final = 300
"""Most members have given back by then."""
ASK_AGAIN_MAX_MS: Final = 60_000


class Givers:
    """See the module; one of a consumer's cores, beside a member that the broker gives its partitions."""

    def __init__(self) -> None:
        self._member: Member | None = None
        # Since when it is in the group without partitions; None while it is not.
        self._since_ms: int | None = None
        self._ask_at_ms = 0
        self._wait_ms = ASK_AFTER_MS
        self._under_way: Send | None = None
        self.members: tuple[str, ...] = ()
        """The ids of the members that have partitions which the group has given to others."""

    def follow(self, member: Member | None, *, is_waiting: bool, now_ms: int) -> None:
        """`is_waiting`: whether the member is in the group, and has no partitions and no rebalance to see."""
        if is_waiting and member is self._member and self._since_ms is not None:
            return
        self._member, self.members = member, ()
        self._since_ms = now_ms if is_waiting else None
        self._wait_ms, self._ask_at_ms = ASK_AFTER_MS, now_ms + ASK_AFTER_MS

    def waited_ms(self, now_ms: int) -> int:
        """For how long the member has had no partitions."""
        return 0 if self._since_ms is None else now_ms - self._since_ms

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if self._since_ms is None or self._member is None or self._under_way is not None:
            return ()
        if now_ms < self._ask_at_ms:
            return ()
        self._wait_ms = min(2 * self._wait_ms, ASK_AGAIN_MAX_MS)
        self._ask_at_ms = now_ms + self._wait_ms
        group = self._member.group
        self._under_way = Send(ToCoordinator(group), ConsumerGroupDescribeRequest(group_ids=[group]))
        return (self._under_way,)

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`; after an error nobody is known to wait for."""
        del now_ms
        self._under_way, self.members = None, ()
        if outcome.error is not None or self._since_ms is None:
            return
        assert self._member is not None
        for group in outcome.answer(ConsumerGroupDescribeResponse).groups:
            if known_code(group.error_code) is ErrorCode.NONE:
                self.members = _late(group, self._member.member)

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        return None if self._since_ms is None or self._under_way is not None else self._ask_at_ms


def _late(group: DescribedGroup, member: str) -> tuple[str, ...]:
    """The other members that have not followed the assignment, if it has more for this member.

    One that was told to give back has no longer the partitions, but still an earlier epoch.
    """
    mine = [one for one in group.members if one.member_id == member]
    if not any(_partitions(one.target_assignment) - _partitions(one.assignment) for one in mine):
        return ()
    return tuple(
        one.member_id
        for one in group.members
        if one.member_id != member
        and (
            one.member_epoch < group.assignment_epoch
            or _partitions(one.assignment) - _partitions(one.target_assignment)
        )
    )


def _partitions(assignment: Assignment) -> set[tuple[object, int]]:
    return {(topic.topic_id, number) for topic in assignment.topic_partitions for number in topic.partitions}
