"""A bucket of a timing wheel: the tasks that share one expiration (T2).

A bucket knows its tasks and its expiration. It must not know the wheel it belongs to, nor the time.

It is a circular doubly linked list and its own sentinel, so that the ends need no special case:

    empty                 L ⇄ L
    add A, add B          L ⇄ A ⇄ B ⇄ L
    take_first() → A      L ⇄ B ⇄ L
"""

from typing import Final

from odradek.timer.timer_task import PendingCount, TimerTask, TimerTaskEntry

NO_EXPIRATION: Final = -1
"""The `TimerTaskList.expiration_ms` of a bucket that is not in the delay queue."""


class TimerTaskList(TimerTaskEntry):
    """The pending tasks of one bucket in the order in which they came."""

    __slots__ = ("_pending", "expiration_ms")

    def __init__(self, pending: PendingCount) -> None:
        super().__init__()
        self.before = self.after = self
        self._pending = pending
        """Shared by all buckets of a timer, so that its size is known without visiting them."""
        self.expiration_ms = NO_EXPIRATION
        """When this bucket is due; `NO_EXPIRATION` exactly while the delay queue does not hold it (T3)."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is linked to the sentinel."""
        return self.after is self

    def add(self, task: TimerTask) -> None:
        """Append a task that is in no list, in O(1)."""
        newest, pending = self.before, self._pending
        assert newest is not None, "a sentinel is always linked"
        task.before = newest
        task.after = self
        task.counted_in = pending
        newest.after = self.before = task
        pending.value += 1

    def take_first(self) -> TimerTask | None:
        """Unlink and return the oldest task, or None when there is none left."""
        task = self.after
        if not isinstance(task, TimerTask):
            return None
        following = task.after
        assert following is not None, "a linked task has two neighbours"
        self.after = following
        following.before = self
        task.before = task.after = task.counted_in = None
        self._pending.value -= 1
        return task
