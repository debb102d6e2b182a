"""Delayed syncs: members that joined must sync within the rebalance timeout (G4)."""

from collections.abc import Callable
from typing import ClassVar

from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.classic_words import waits_for
from odradek.timer import DelayedOperation


class DelayedSync(DelayedOperation):
    """Complete when all members have synced or the generation has ended; at its deadline calls `late`."""

    __slots__ = ("_generation", "_group", "_late")

    kind: ClassVar[str] = "sync"

    def __init__(self, deadline_ms: int, group: ClassicMembership, late: Callable[[int], None]) -> None:
        super().__init__(deadline_ms)
        self._group = group
        self._generation = group.generation
        self._late = late

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        is_over = self._group.generation != self._generation or not self._group.unsynced
        return is_over and self.force_complete()

    def on_complete(self) -> None:
        """See `DelayedOperation.on_complete`."""

    def on_expiration(self) -> None:
        """See `DelayedOperation.on_expiration`."""
        self._late(self._generation)

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return waits_for(self._group)
