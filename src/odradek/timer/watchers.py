"""The watched operations by key, in the order in which they were added (D3).

It only keeps the lists and their count. The purgatory decides when operations are tried.

One operation is in the list of each of its keys. Op1 is watched under p1 and p2, Op2 under p2 and p3 (S0 has
more of them):

    p1: Op1    p2: Op1 Op2    p3: Op2         watched 4
    Op1 completes through p2, whose list drops it; p1 is not examined
    p1: Op1✓   p2: Op2        p3: Op2         watched 3, one of them completed: see the reaper

A list is changed in place for as long as its key is known, so that a caller that iterates over a list can
tell by its identity whether the key was dropped meanwhile.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

from odradek.timer.delayed_operation import DelayedOperation

K = TypeVar("K")


class Watchers(Generic[K]):
    """The lists of one purgatory. No list is empty: a key left without operations is dropped."""

    __slots__ = ("by_key", "watched")

    def __init__(self) -> None:
        self.by_key: dict[K, list[DelayedOperation]] = {}
        """Keys in the order in which they were first watched; read by others, changed only here."""
        self.watched = 0
        """Entries over all lists (PurgatorySize), completed ones included."""

    def watch(self, operation: DelayedOperation, keys: Sequence[K]) -> None:
        """Append to the list of each key; a key named twice is watched twice."""
        for key in keys:
            operations = self.by_key.get(key)
            if operations is None:
                self.by_key[key] = [operation]
            else:
                operations.append(operation)
        self.watched += len(keys)

    def unwatch(self, operation: DelayedOperation, keys: Sequence[K]) -> None:
        """Undo `watch`, where the operation is still listed."""
        for key in keys:
            operations = self.by_key.get(key, ())
            if operation in operations:
                self._keep(key, [other for other in operations if other is not operation])

    def drop_completed(self, key: K) -> None:
        """Take the completed operations from the list of `key`."""
        operations = self.by_key.get(key)
        if operations is not None:
            still_open = [operation for operation in operations if not operation.is_completed]
            if len(still_open) != len(operations):
                self._keep(key, still_open)

    def drop_completed_between(self, key: K, start: int, stop: int) -> int:
        """Do so for the entries in [`start`, `stop`) only; return where the next entry to examine stands now.

        That is the length of the list when all of its rest was examined, 0 when the key is unknown.
        """
        operations = self.by_key.get(key)
        if operations is None:
            return 0
        examined = operations[start:stop]
        still_open = [operation for operation in examined if not operation.is_completed]
        if len(still_open) != len(examined):
            operations[start:stop] = still_open
            self.watched -= len(examined) - len(still_open)
            if not operations:
                del self.by_key[key]
        return start + len(still_open)

    def drop_key(self, key: K) -> list[DelayedOperation]:
        """Forget `key` and return the operations of its list."""
        operations = self.by_key.pop(key, [])
        self.watched -= len(operations)
        return operations

    def _keep(self, key: K, remaining: list[DelayedOperation]) -> None:
        operations = self.by_key[key]
        self.watched -= len(operations) - len(remaining)
        operations[:] = remaining
        if not remaining:
            del self.by_key[key]
