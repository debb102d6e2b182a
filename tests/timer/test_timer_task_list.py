"""The lists that tie tasks together."""

import gc
import weakref

from odradek.timer.timer_task import PendingCount, TimerTask
from odradek.timer.timer_task_list import TimerTaskList


class Named(TimerTask):
    """A task that is only looked at."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        super().__init__(deadline_ms=0)
        self.name = name

    def run(self) -> None:
        raise AssertionError("nobody runs tasks here")


def names(bucket: TimerTaskList) -> list[str]:
    """Walk the links forwards and check each of them backwards."""
    found = []
    entry = bucket.after
    while entry is not bucket:
        assert isinstance(entry, Named)
        assert entry.after is not None
        assert entry.after.before is entry, f"the link back to {entry.name} is broken"
        found.append(entry.name)
        entry = entry.after
    return found


def test_tasks_stand_in_the_order_in_which_they_came() -> None:
    """T2 a circular doubly linked list with a sentinel."""
    bucket = TimerTaskList(PendingCount())
    for name in "abc":
        bucket.add(Named(name))
    assert names(bucket) == ["a", "b", "c"]


def test_cancelling_removes_the_entry_at_once_wherever_it_stands() -> None:
    """T2 removing an entry that is held touches nothing but its neighbours."""
    for cancelled in "abc":
        count = PendingCount()
        bucket = TimerTaskList(count)
        tasks = {name: Named(name) for name in "abc"}
        for task in tasks.values():
            bucket.add(task)
        tasks[cancelled].cancel()
        assert names(bucket) == [name for name in "abc" if name != cancelled]
        assert count.value == 2
        assert not tasks[cancelled].is_pending


def test_cancelling_twice_or_unadded_changes_nothing() -> None:
    """T2 an entry leaves the one list that it is in, once."""
    count = PendingCount()
    bucket = TimerTaskList(count)
    stays, goes, never_added = Named("stays"), Named("goes"), Named("never added")
    bucket.add(stays)
    bucket.add(goes)
    goes.cancel()
    goes.cancel()
    never_added.cancel()
    assert names(bucket) == ["stays"]
    assert count.value == 1


def test_taking_the_first_empties_the_list_from_the_oldest_on() -> None:
    count = PendingCount()
    bucket = TimerTaskList(count)
    tasks = [Named("a"), Named("b")]
    for task in tasks:
        bucket.add(task)
    assert [bucket.take_first(), bucket.take_first(), bucket.take_first()] == [*tasks, None]
    assert bucket.is_empty
    assert count.value == 0
    assert not any(task.is_pending for task in tasks)


def test_a_task_taken_out_may_be_added_again() -> None:
    """T2 at most one live entry: it is free again once it left."""
    bucket = TimerTaskList(PendingCount())
    task = Named("a")
    bucket.add(task)
    bucket.take_first()
    bucket.add(task)
    assert names(bucket) == ["a"]


def test_a_cancelled_task_dies_with_its_last_user() -> None:
    """T5 memory is O(pending): no list, neighbour or cycle keeps what was cancelled."""
    bucket = TimerTaskList(PendingCount())
    first, middle, last = Named("first"), Named("middle"), Named("last")
    for task in (first, middle, last):
        bucket.add(task)
    ghost = weakref.ref(middle)
    gc.disable()
    try:
        middle.cancel()
        del middle, task
        assert ghost() is None, "a cancelled task is still reachable, or waits for the cycle collector"
    finally:
        gc.enable()
