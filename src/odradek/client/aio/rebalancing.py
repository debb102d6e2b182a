"""Carries out the rebalances of a consumer's group, step by step, with the application's listener.

Invariants: the listener is called only while the application awaits a call of the consumer. With
`enable.auto.commit` the offsets of revoked partitions are committed before `on_partitions_revoked`. A step
whose listener fails is carried out again in the next poll.
"""

import inspect
import logging
from collections.abc import Awaitable, Collection
from typing import Final

from odradek.base.ids import TopicPartition
from odradek.client.aio.committing import Committing
from odradek.client.aio.driver import Driver
from odradek.client.aio.handed_out import HandedOut
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.consumer.consumer_core import Change, ConsumerCore, Step

_log: Final = logging.getLogger("odradek.consumer")

_SAID: Final = {Change.ASSIGNED: "assigned", Change.REVOKED: "revoked", Change.LOST: "lost"}
_NAMED_MAX: Final = 10


def _names(partitions: Collection[TopicPartition]) -> str:
    named = ", ".join(map(str, sorted(partitions)[:_NAMED_MAX]))
    more = len(partitions) - _NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named or "no partitions"


class Rebalancing:
    """See the module."""

    def __init__(
        self,
        driver: Driver,
        core: ConsumerCore,
        commits: Committing,
        handed_out: HandedOut,
        listener: RebalanceListener,
    ) -> None:
        self._driver = driver
        self._core = core
        self._commits = commits
        self._handed_out = handed_out
        self.listener = listener
        """The application's; another one may take its place."""

    async def carry_out(self, max_poll_interval_ms: int) -> None:
        """Tell the listener, step by step; heartbeats go on meanwhile."""
        if self._core.take_overslept():
            _log.warning(
                "poll was not called for max.poll.interval.ms (%d ms): the member of group %s joins again",
                max_poll_interval_ms,
                self._core.group,
            )
        while (step := self._core.change()) is not None:
            await self._tell(step)
            self._core.carried_out(step)
            # This poll goes on: a member that has left joins again now, since nothing else may wake the poll.
            self._core.polled(self._driver.now_ms)
            self._driver.pump()

    async def give_up_all(self) -> None:
        """Commit what was read, and tell the listener that all partitions are given back."""
        await self._commits.finish()
        partitions = frozenset(self._core.subscription.states)
        member = self._core.member
        target = None if member is None else member.target()
        if target is not None and target.is_lost:
            told = self.listener.on_partitions_lost(partitions) if partitions else None
        else:
            await self._commits.commit_for(partitions)
            is_told = self._core.subscription.is_by_group and partitions
            told = self.listener.on_partitions_revoked(partitions) if is_told else None
        if inspect.isawaitable(told):
            await told
        self._commits.forget(partitions)

    async def _tell(self, step: Step) -> None:
        _log.info("group %s: %s %s", self._core.group, _SAID[step.change], _names(step.partitions))
        self._handed_out.give_back(step.partitions)
        told: Awaitable[None] | None
        match step.change:
            case Change.REVOKED:
                await self._commits.commit_for(step.partitions)
                told = self.listener.on_partitions_revoked(step.partitions)
            case Change.LOST:
                told = self.listener.on_partitions_lost(step.partitions) if step.partitions else None
            case _:
                told = self.listener.on_partitions_assigned(step.partitions)
        if inspect.isawaitable(told):
            await told
        if step.change is not Change.ASSIGNED:
            self._commits.forget(step.partitions)
