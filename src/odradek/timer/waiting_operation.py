"""The description of one delayed operation for a person (D7), the same in the admin listener, CLI and tests.

fetch  p1, p2  waiting 312 ms, 188 ms left: 100 of 1024 bytes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from odradek.base.values import value
from odradek.timer.delayed_operation import DelayedOperation

K = TypeVar("K")


@value
class WaitingOperation(Generic[K]):
    """One open operation of a purgatory at one moment."""

    kind: str
    keys: tuple[K, ...]
    """The keys under which it is still watched, in the order in which the purgatory first watched them."""
    age_ms: int
    """How long it has been watched."""
    time_left_ms: int
    """Until its deadline; 0 when that has passed and the timer has not run yet."""
    waits_for: str
    """A description of the condition that is still open."""

    @classmethod
    def of(cls, operation: DelayedOperation, keys: Sequence[K], now_ms: int) -> WaitingOperation[K]:
        """Describe `operation`, watched under `keys`, at `now_ms` on the monotonic clock."""
        return cls(
            kind=operation.kind,
            keys=tuple(keys),
            age_ms=max(0, now_ms - operation.watched_at_ms),
            time_left_ms=max(0, operation.deadline_ms - now_ms),
            waits_for=operation.waits_for(),
        )

    def __str__(self) -> str:
        keys = ", ".join(map(str, self.keys))
        waits = f"waiting {self.age_ms} ms, {self.time_left_ms} ms left"
        return f"{self.kind}  {keys}  {waits}: {self.waits_for}"
