"""The watched operations by key, in the order in which they were added (D3).

It only keeps the lists and their count. The purgatory decides when operations are tried.

One operation is in the list of each of its keys. Op1 is watched under p1 and p2, Op2 under p2 and p3 (S0 has
more of them):

    p1: Op1    p2: Op1 Op2    p3: Op2         watched 4
    Op1 completes through p2, whose list drops it; p1 is not examined
    p1: Op1✓   p2: Op2        p3: Op2         watched 3, one of them completed: see the reaper

A list is changed in place for as long as its key is known, so that a caller that iterates over a list can
tell by its identity whether the key was dropped meanwhile. The entries of standing watches are kept apart
from these lists (`standing_watch`).
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, Generic, TypeVar

from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.standing_watch import StandingEntry, StandingWatch

K = TypeVar("K")

_BY_ARRIVAL: Final = attrgetter("watched_number")


class Watchers(Generic[K]):
    """The lists of one purgatory. No list is empty: a key left without operations is dropped."""

    __slots__ = ("_number", "_occupied", "_standing_entries", "by_key", "list_entries", "standing")

    def __init__(self) -> None:
        self.by_key: dict[K, list[DelayedOperation]] = {}
        """Keys in the order in which they were first watched; read by others, changed only here."""
        self.list_entries = 0
        """Entries over all lists, completed ones included, without those of standing watches."""
        self._standing_entries = 0
        """How many entries of standing watches list an operation, completed or not."""
        self.standing: dict[K, list[StandingEntry[K]]] = {}
        """The entries of standing watches, by key; read by others, changed only here."""
        self._number = 0
        """How many operations have been watched."""
        self._occupied: dict[StandingWatch, None] = {}
        """The standing watches that have an operation."""

    @property
    def watched(self) -> int:
        """Entries over all lists (PurgatorySize), completed ones included."""
        return self.list_entries + self._standing_entries

    def watch(self, operation: DelayedOperation, keys: Sequence[K]) -> None:
        """Append to the list of each key; a key named twice is watched twice."""
        if not operation.watched_number:
            operation.watched_number = self._number = self._number + 1
        for key in keys:
            operations = self.by_key.get(key)
            if operations is None:
                self.by_key[key] = [operation]
            else:
                operations.append(operation)
        self.list_entries += len(keys)

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
        for entry in self.standing.get(key, ()):
            if not entry.watch.has_open_operation:
                self._drop_listed(entry)

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
            self.list_entries -= len(examined) - len(still_open)
            if not operations:
                del self.by_key[key]
        return start + len(still_open)

    def drop_key(self, key: K) -> list[DelayedOperation]:
        """Forget `key` and return the operations of its list."""
        operations = self.by_key.pop(key, [])
        self.list_entries -= len(operations)
        return operations

    # --- standing watches

    def add_entry(self, key: K, entry: StandingEntry[K]) -> None:
        """Add an entry, which does not list the present operation of its watch."""
        self.standing.setdefault(key, []).append(entry)
        entry.is_entered = True
        entry.watch.entries += 1
        entry.dropped = entry.watch.number

    def remove_entry(self, key: K, entry: StandingEntry[K]) -> None:
        """Remove an entry; an operation that it lists is watched under one key less."""
        entries = self.standing[key]
        entries.remove(entry)
        if not entries:
            del self.standing[key]
        self._leave(entry)

    def note_event(self, key: K) -> bool:
        """Pass an event on to the entries of `key`; returns whether an operation of theirs is open.

        Those whose watch has no open operation leave the list, so that the next event costs nothing for them.
        """
        entries = self.standing.get(key)
        if entries is None:
            return False
        for entry in entries:
            entry.on_event()
        waiting = [entry for entry in entries if entry.watch.has_open_operation]
        if len(waiting) < len(entries):
            if waiting:
                self.standing[key] = waiting
            else:
                del self.standing[key]
            for entry in entries:
                if not entry.watch.has_open_operation:
                    self._leave(entry)
        return bool(waiting)

    def _leave(self, entry: StandingEntry[K]) -> None:
        self._drop_listed(entry)
        entry.is_entered = False
        watch = entry.watch
        watch.entries -= 1
        if not watch.entries:
            self._vacate(watch)

    def stand(self, operation: DelayedOperation, watch: StandingWatch) -> None:
        """Watch an operation under all keys of a standing watch, in the place of the one before."""
        operation.watched_number = watch.number = self._number = self._number + 1
        watch.operation = operation
        self._occupied[watch] = None
        self._standing_entries += watch.entries - watch.listed
        watch.listed = watch.entries

    def under(self, key: K) -> list[DelayedOperation]:
        """A copy of the operations of a key, in the order in which they were added."""
        found = list(self.by_key.get(key, ()))
        entries = self.standing.get(key)
        if entries is not None:
            found += [listed for entry in entries if (listed := entry.listed()) is not None]
            found.sort(key=_BY_ARRIVAL)
        return found

    def lists(self) -> Iterator[tuple[K, list[DelayedOperation]]]:
        """Copies of all lists, those with only standing watches last."""
        for key in [*self.by_key, *(key for key in self.standing if key not in self.by_key)]:
            operations = self.under(key)
            if operations:
                yield key, operations

    def drop_completed_standing(self) -> None:
        """Take the completed operations from all standing watches."""
        for watch in [watch for watch in self._occupied if not watch.has_open_operation]:
            self._vacate(watch)

    def _vacate(self, watch: StandingWatch) -> None:
        self._standing_entries -= watch.listed
        watch.listed = 0
        watch.operation = None
        self._occupied.pop(watch, None)

    def _drop_listed(self, entry: StandingEntry[K]) -> None:
        if entry.listed() is not None:
            entry.dropped = entry.watch.number
            entry.watch.listed -= 1
            self._standing_entries -= 1

    def _keep(self, key: K, remaining: list[DelayedOperation]) -> None:
        operations = self.by_key[key]
        self.list_entries -= len(operations) - len(remaining)
        operations[:] = remaining
        if not remaining:
            del self.by_key[key]
