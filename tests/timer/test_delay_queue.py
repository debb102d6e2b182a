"""The queue of buckets."""

from odradek.timer.delay_queue import DelayQueue
from odradek.timer.timer_task import PendingCount, TimerTask
from odradek.timer.timer_task_list import NO_EXPIRATION, TimerTaskList


class Idle(TimerTask):
    """A task that fills a bucket."""

    def run(self) -> None:
        raise AssertionError("nobody runs tasks here")


def bucket_of(*tasks: TimerTask) -> TimerTaskList:
    bucket = TimerTaskList(PendingCount())
    for task in tasks:
        bucket.add(task)
    return bucket


def test_buckets_come_out_by_expiration_and_forget_it() -> None:
    """T3 ordered by expiration; taken out, a bucket forgets its expiration."""
    queue = DelayQueue(lambda: None)
    late, early = bucket_of(Idle(0)), bucket_of(Idle(0))
    queue.offer(late, 40, tick_ms=20)
    queue.offer(early, 7, tick_ms=1)
    assert queue.next_expiration_ms() == 7
    assert queue.poll(100) == (7, early)
    assert queue.poll(100) == (40, late)
    assert queue.poll(100) is None
    assert early.expiration_ms == late.expiration_ms == NO_EXPIRATION


def test_a_bucket_is_not_due_before_its_expiration() -> None:
    """T3 T5 never early."""
    queue = DelayQueue(lambda: None)
    bucket = bucket_of(Idle(0))
    queue.offer(bucket, 7, tick_ms=1)
    assert queue.poll(6) is None
    assert queue.poll(7) == (7, bucket)


def test_at_equal_expirations_the_coarser_wheel_comes_first() -> None:
    """T4 its tasks have still to be dealt out, and may be due in this very tick."""
    queue = DelayQueue(lambda: None)
    fine, coarse = bucket_of(Idle(0)), bucket_of(Idle(0))
    queue.offer(fine, 20, tick_ms=1)
    queue.offer(coarse, 20, tick_ms=20)
    assert queue.poll(20) == (20, coarse)
    assert queue.poll(20) == (20, fine)


def test_an_emptied_bucket_is_dropped_when_it_comes_to_the_front() -> None:
    """T3 lazily, since digging it out would not be O(1)."""
    queue = DelayQueue(lambda: None)
    task = Idle(0)
    emptied, filled = bucket_of(task), bucket_of(Idle(0))
    queue.offer(emptied, 5, tick_ms=1)
    queue.offer(filled, 8, tick_ms=1)
    task.cancel()
    assert emptied.expiration_ms == 5
    assert queue.next_expiration_ms() == 8
    assert emptied.expiration_ms == NO_EXPIRATION
    assert queue.poll(100) == (8, filled)


def test_polling_steps_over_emptied_buckets() -> None:
    queue = DelayQueue(lambda: None)
    task = Idle(0)
    emptied = bucket_of(task)
    queue.offer(emptied, 5, tick_ms=1)
    task.cancel()
    assert queue.poll(100) is None
    assert emptied.expiration_ms == NO_EXPIRATION
    assert queue.next_expiration_ms() is None


def test_only_a_new_head_is_announced() -> None:
    """T6 the driver re-arms when the earliest expiration became earlier, and only then."""
    announced = []
    queue = DelayQueue(lambda: announced.append(queue.next_expiration_ms()))
    for expiration_ms in (50, 60, 20, 30, 10):
        queue.offer(bucket_of(Idle(0)), expiration_ms, tick_ms=1)
    assert announced == [50, 20, 10]
