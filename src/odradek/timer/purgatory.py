"""The purgatory: delayed operations, watched under the keys whose events may complete them (D3 to D8).

It tries operations when events occur for their keys. It must not know what an operation does or what a key
means: keys are any hashable values.

The life of a produce to p1 and p2 that waits for its followers, Op, in a purgatory that already holds DF
under p2:

    try_complete_else_watch(Op, [p1, p2])    tried, open; watched; tried again, open; into the timer → False
                                             p1: Op    p2: DF Op       watched 3, delayed 2
    check_and_complete(p2)                   DF tried, open; Op tried, open → 0
    check_and_complete(p1)                   Op tried, completes → 1
                                             p2: DF Op✓                watched 2, delayed 1
    check_and_complete(p2)                   DF tried; Op is dropped; or else the reaper comes for it

Re-entrance. Completing an operation may cause further events, also for the same key, before
`check_and_complete` returns. Each call tries the operations that were watched when it began, skips those
completed meanwhile, and stops if its key is dropped. An operation that was added meanwhile was tried by the
call that added it.

Errors. An operation that raises is a programming error and must not keep others from completing:
`check_and_complete` tries the others first. Then the errors are raised as one ExceptionGroup: with a `defer`
in a later turn, for the loop's exception handler, so that the caller continues; otherwise at the end of the
call. An operation whose `try_complete` raised stays watched, and its deadline still answers it; one whose
`on_complete` raised is completed.
"""

from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from typing import Final, Generic, TypeVar

from odradek.base.execution import ITEMS_PER_STEP, Steps
from odradek.timer.delayed_operation import DelayedCount, DelayedOperation
from odradek.timer.reaper import Reaper
from odradek.timer.standing_watch import StandingEntry, StandingWatch
from odradek.timer.timer import Timer
from odradek.timer.waiting_operation import WaitingOperation
from odradek.timer.watchers import Watchers

K = TypeVar("K")

TRIED_PER_STEP: Final = 4
"""Each may be answered, which takes up to a tenth of a millisecond."""


class Purgatory(Generic[K]):
    """The delayed operations of one kind of request.

    `name` tags its metrics. `defer` runs a callback in a later turn of the loop, for sweeps and errors;
    without it both happen within the call.
    """

    __slots__ = ("_defer", "_delayed", "_reaper", "_timer", "_watchers", "name")

    def __init__(
        self,
        name: str,
        timer: Timer,
        *,
        purge_interval: int = 1000,
        defer: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.name = name
        self._timer = timer
        self._defer = defer
        self._watchers: Watchers[K] = Watchers()
        self._delayed = DelayedCount()
        """This purgatory's operations in the timer, which it may share with others."""
        self._reaper = Reaper(self._watchers, self._delayed, timer, purge_interval, defer)

    @property
    def watched(self) -> int:
        """PurgatorySize: entries over all lists, completed ones included (D7)."""
        return self._watchers.watched

    @property
    def delayed(self) -> int:
        """NumDelayedOperations: the operations in the timer (D7)."""
        return self._delayed.value

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Sequence[K]) -> bool:
        """Complete `operation` now (True), or watch it until it completes or expires (False) (D4).

        What the operation raises goes to the caller, and the operation is not watched then. One whose
        deadline has passed is watched like any other; the timer's next advance, due at once, expires it.
        """
        assert keys, f"nothing could ever complete a delayed {operation.kind} without keys"
        if operation.safe_try_complete() or operation.is_completed:
            return True
        # Nothing runs between one key and the next, so it cannot complete there.
        operation.entries = len(keys)
        self._watchers.watch(operation, keys)
        self._reaper.count_watched()
        try:
            if operation.safe_try_complete() or operation.is_completed:
                return True
        except BaseException:
            self._watchers.unwatch(operation, keys)
            self._reaper.uncount_watched()
            raise
        self._delay(operation)
        return False

    def try_complete_else_stand(self, operation: DelayedOperation, watch: StandingWatch) -> bool:
        """`try_complete_else_watch` under all keys of a standing watch: the cost does not grow with the keys.

        What the operation raises goes to the caller, and the operation is not watched then.
        """
        if operation.safe_try_complete() or operation.is_completed:
            return True
        # It is not tried a second time (D4), as nothing has run in between.
        self._watchers.stand(operation, watch)
        self._reaper.count_watched()
        self._delay(operation)
        return False

    def _delay(self, operation: DelayedOperation) -> None:
        operation.watched_at_ms = self._timer.clock.monotonic_ms()
        operation.delay_in(self._delayed)
        self._timer.add(operation)

    def add_entry(self, key: K, entry: StandingEntry[K]) -> None:
        """Let a standing watch receive the next event of `key`, and watch its next operations under it."""
        self._watchers.add_entry(key, entry)

    def remove_entry(self, key: K, entry: StandingEntry[K]) -> None:
        """Undo `add_entry`."""
        self._watchers.remove_entry(key, entry)

    @property
    def standing(self) -> Mapping[K, Sequence[StandingEntry[K]]]:
        """A live view of the standing watches' entries."""
        return self._watchers.standing

    def note_event(self, key: K) -> bool:
        """Pass an event on to the entries of `key`; returns whether an operation of theirs is to be woken.

        Called by who makes the event. An entry without an open operation is not in the list afterwards.
        """
        return self._watchers.note_event(key)

    @property
    def watched_keys(self) -> KeysView[K]:
        """A live view of the keys under which operations are watched."""
        return self._watchers.by_key.keys()

    def check_and_complete(self, key: K) -> int:
        """Try the operations watched under `key`, drop completed ones; returns how many it completed (D5)."""
        watchers = self._watchers
        operations = watchers.by_key.get(key)
        if operations is None and key not in watchers.standing:
            return 0
        completed = 0
        errors: list[Exception] = []
        for operation in watchers.under(key):
            try:
                if operation.safe_try_complete(key):
                    completed += 1
            except Exception as error:
                completed += operation.is_completed
                errors.append(error)
            if self._is_dropped(key, operations):
                break
        watchers.drop_completed(key)
        if errors:
            self._raise(errors)
        return completed

    def _is_dropped(self, key: K, operations: list[DelayedOperation] | None) -> bool:
        """Whether `key`, whose list was `operations`, was dropped since; standing watches keep their keys."""
        return self._watchers.by_key.get(key) is not operations and key not in self._watchers.standing

    def watch_in_steps(self, operation: DelayedOperation, keys: Sequence[K]) -> Steps[bool]:
        """`try_complete_else_watch` for very many keys: a few are watched and tried for in each step.

        Completes the operation (True) or watches it until it completes or expires (False). What it raises
        goes to the caller; its keys are dropped when they are next looked at.
        """
        operation.entries = len(keys)
        self._reaper.count_watched()
        for begin in range(0, len(keys), ITEMS_PER_STEP):
            some = keys[begin : begin + ITEMS_PER_STEP]
            self._watchers.watch(operation, some)
            for key in some:
                if operation.safe_try_complete(key) or operation.is_completed:
                    return True
            yield
            if operation.is_completed:
                return True
        self._delay(operation)
        return False

    def check_in_steps(self, key: K) -> Steps[None]:
        """`check_and_complete` where very many wait for one key: a few are tried in each step."""
        operations = self._watchers.by_key.get(key)
        errors: list[Exception] = []
        for count, operation in enumerate(self._watchers.under(key), 1):
            try:
                operation.safe_try_complete(key)
            except Exception as error:
                errors.append(error)
            if count % TRIED_PER_STEP == 0:
                yield
            if self._is_dropped(key, operations):
                break
        self._watchers.drop_completed(key)
        if errors:
            self._raise(errors)

    def count_of(self, key: K) -> int:
        """At most how many operations are watched under a key, completed ones included."""
        return len(self._watchers.by_key.get(key, ())) + len(self._watchers.standing.get(key, ()))

    def open_count_of(self, key: K) -> int:
        """How many operations that are not completed are watched under a key."""
        return sum(not operation.is_completed for operation in self._watchers.by_key.get(key, ()))

    def cancel_for_key(self, key: K) -> list[DelayedOperation]:
        """Drop `key` and return its open operations, out of the timer, for the caller to complete (D8)."""
        assert key not in self._watchers.standing, (
            f"{key} has standing watches, which outlive their operations"
        )
        operations = [operation for operation in self._watchers.drop_key(key) if not operation.is_completed]
        for operation in operations:
            operation.cancel()
        return operations

    def watchers(self) -> dict[K, list[DelayedOperation]]:
        """A copy of the lists, completed operations included, keys in the order in which they came."""
        return dict(self._watchers.lists())

    def describe(self) -> Iterator[WaitingOperation[K]]:
        """Describes the operations that wait now; the one that waited longest comes first (D7)."""
        found: dict[int, tuple[DelayedOperation, list[K]]] = {}
        for key, operations in self._watchers.lists():
            for operation in operations:
                if not operation.is_completed:
                    found.setdefault(id(operation), (operation, []))[1].append(key)
        waiting = sorted(found.values(), key=lambda entry: entry[0].watched_at_ms)
        return (
            WaitingOperation.of(operation, keys, self._timer.clock.monotonic_ms())
            for operation, keys in waiting
            if not operation.is_completed
        )

    def _raise(self, errors: list[Exception]) -> None:
        group = ExceptionGroup(f"{len(errors)} delayed operations of purgatory {self.name} failed", errors)
        if self._defer is None:
            raise group

        def raise_group() -> None:
            raise group

        self._defer(raise_group)
