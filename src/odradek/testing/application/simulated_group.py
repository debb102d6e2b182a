"""A consumer group of a simulated cluster: `await cluster.group("billing").stable(members=2)`.

It waits in virtual time, and asks the coordinator from a host of its own, to which no fault applies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol, TypeVar

from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.client.core.admin.groups import (
    DESCRIBE_VERSION_MAX,
    OFFSET_FETCH_VERSION_MAX,
    classic_group_of,
    committed_offsets,
    consumer_group_of,
)
from odradek.client.group_description import GroupDescription
from odradek.client.group_looks import Look, is_passing, look_at_description
from odradek.coordinator.placement import partition_for
from odradek.testing.deadline import WaitTimeout
from odradek.testing.sim.node import SimNode
from odradek.testing.topic_records import TestRecord
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest
from odradek.wire.versions import VERSION_LIMIT

LOOK_EVERY_S: Final = 0.1
WITHIN_S: Final = 60.0
"""How long is waited, in virtual seconds, unless the test says it."""

T = TypeVar("T")


class Ask(Protocol):
    """Asks a broker."""

    async def __call__(
        self, node: SimNode, request: Request[ResponseT], version_max: int = VERSION_LIMIT
    ) -> ResponseT | None:
        """Returns its answer; None if it does not answer in time."""


class GroupsCluster(Protocol):
    """What a group needs of its cluster."""

    def partitions(self) -> Iterable[TopicPartition]:
        """All partitions that there are."""

    def leader(self, partition: TopicPartition) -> SimNode | None:
        """The broker that leads a partition now."""

    def committed_records(self, node: SimNode, partition: TopicPartition) -> list[TestRecord]:
        """The records that a consumer with read_committed gets."""

    @property
    def ask(self) -> Ask:
        """Asks a broker; see `Ask`."""


class SimulatedGroup:
    """One group, which need not exist yet."""

    def __init__(self, name: str, cluster: GroupsCluster) -> None:
        self.name = name
        """The group's id."""
        self._cluster = cluster

    async def stable(self, *, members: int | None = None, within: float = WITHIN_S) -> GroupDescription:
        """Returns the group once it has `members` members (None: at least one) and no rebalance is under way.

        Raises WaitTimeout, which says what state the group is in, after `within` seconds.
        """
        wanted = "any members" if members is None else f"{members} members"

        async def look() -> Look[GroupDescription]:
            found = await self._described()
            if found is None:
                return Look(None, f"no broker coordinates group {self.name}")
            return look_at_description(found, members)

        return await self._until(look, f"{wanted} at rest", within)

    async def lag_zero(
        self, topic: str | None = None, *, within: float = WITHIN_S
    ) -> dict[TopicPartition, Offset]:
        """Returns the group's committed offsets when no record follows any of them.

        With `topic` all partitions of that topic count, else those with a committed offset or a member.
        Raises WaitTimeout, which names the partitions with lag, after `within` seconds.
        """

        async def look() -> Look[dict[TopicPartition, Offset]]:
            found, coordinator = await self._described(), self._coordinator()
            if found is None or coordinator is None:
                return Look(None, f"no broker coordinates group {self.name}")
            request = OffsetFetchRequest(group_id=self.name, topics=None)
            answer = await self._cluster.ask(coordinator, request, OFFSET_FETCH_VERSION_MAX)
            if answer is None:
                return Look(None, f"the coordinator of group {self.name} does not answer")
            committed = committed_offsets(answer, self.name)
            wanted = committed.keys() | {one for member in found.members for one in member.partitions}
            if topic is not None:
                wanted = {one for one in self._cluster.partitions() if one.topic == topic}
            behind = [words for one in sorted(wanted) if (words := self._behind(one, committed.get(one, 0)))]
            if wanted and not behind:
                return Look(committed)
            said = ", ".join(behind) or "nothing is committed and nothing assigned"
            return Look(None, f"group {self.name} is behind: {said}")

        return await self._until(look, "no lag", within)

    # --- within

    def _behind(self, partition: TopicPartition, position: Offset) -> str:
        """What follows an offset, in words; "" if nothing does."""
        leader = self._cluster.leader(partition)
        if leader is None:
            return f"{partition} has no leader"
        records = self._cluster.committed_records(leader, partition)
        count = sum(one.offset >= position for one in records)
        return f"{partition} by {count}" if count else ""

    def _coordinator(self) -> SimNode | None:
        count = sum(one.topic == OFFSETS_TOPIC for one in self._cluster.partitions())
        if not count:
            return None
        return self._cluster.leader(TopicPartition(OFFSETS_TOPIC, partition_for(self.name, count)))

    async def _described(self) -> GroupDescription | None:
        """None if there is no coordinator, or it does not answer. Raises ApiError if there is no group."""
        coordinator = self._coordinator()
        if coordinator is None:
            return None
        modern = await self._cluster.ask(coordinator, ConsumerGroupDescribeRequest([self.name]))
        found = None if modern is None else consumer_group_of(modern, self.name)
        if modern is None or found is not None:
            return found
        classic = await self._cluster.ask(
            coordinator, DescribeGroupsRequest([self.name]), DESCRIBE_VERSION_MAX
        )
        return None if classic is None else classic_group_of(classic, self.name)

    async def _until(self, look: Callable[[], Awaitable[Look[T]]], wanted: str, within: float) -> T:
        """Returns the first thing that `look` finds. Raises WaitTimeout with its words."""
        now = asyncio.get_running_loop().time
        ends_s = now() + within
        while True:
            try:
                seen = await look()
            except ApiError as error:
                if not is_passing(error):
                    raise
                seen = Look(None, str(error))
            if seen.found is not None:
                return seen.found
            if now() >= ends_s:
                raise WaitTimeout(f"{seen.words}; waited {within:g} s for {wanted}")
            await asyncio.sleep(LOOK_EVERY_S)
