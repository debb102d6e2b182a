"""Delayed joins: the end of a join phase (G1).

A first join phase, with a delay of 3 s and a rebalance timeout of 10 s:

    0 s   A joins      wait for min(3, 10) s, 7 s left
    1 s   B joins
    3 s   the delay is over, and B has come meanwhile: wait for min(3, 7) s, 4 s left
    5 s   C joins
    6 s   C has come meanwhile: wait for min(3, 4) s, 1 s left
    9 s   no member came: the join phase ends, with three members and one rebalance
"""

from collections.abc import Callable
from typing import ClassVar

from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.classic_words import waits_for
from odradek.timer import DelayedOperation


class DelayedJoin(DelayedOperation):
    """Ends when all have joined, or at the rebalance timeout; `over` is called either way."""

    __slots__ = ("_group", "_over")

    kind: ClassVar[str] = "join"

    def __init__(self, deadline_ms: int, group: ClassicMembership, over: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._group = group
        self._over = over

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        return (not self._group.is_rebalancing or self._group.has_all_joined) and self.force_complete()

    def on_complete(self) -> None:
        """See `DelayedOperation.on_complete`."""
        self._over()

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return waits_for(self._group)


class InitialDelayedJoin(DelayedJoin):
    """Always waits until its deadline, so that members that start together share one rebalance."""

    __slots__ = ()

    kind: ClassVar[str] = "initial-join"

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        return False
