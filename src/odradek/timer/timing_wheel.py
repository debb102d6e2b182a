"""One timing wheel, and the coarser one above it for what lies beyond its horizon (T1).

Invariant: a wheel only places tasks in buckets. It runs no task, and its clock moves only in `advance_clock`.

A wheel with tick t, n buckets and clock c (a multiple of t) covers [c, c + t·n): the task with deadline d
waits in bucket (d // t) mod n, due at (d // t)·t. What lies in the current tick is due and enters no
bucket. Each wheel's tick is the whole span of the one below. With t = 1, n = 3:

    clock 0                  tick   buckets, by what they cover    horizon
    wheel 1                  1      [0]*     [1]      [2]          3
    wheel 2                  3      [0-2]*   [3-5]    [6-8]        9
    wheel 3                  9      [0-8]*   [9-17]   [18-26]      27        * the current tick

    place 2                  wheel 1, bucket 2: due at 2
    place 4, 5               wheel 2, bucket 1: due at 3, both in one bucket, one entry in the delay queue
    place 10                 wheel 3, bucket 1: due at 9

    advance to 3             wheel 1   [3]*  [4]  [5]      wheel 2   [9-11]  [3-5]*  [6-8]
    bucket [3-5] is due      4 is placed again, in [4], and 5 in [5], one wheel lower

Bucket [0-2] of wheel 2 has become [9-11]: no two deadlines within a horizon share a bucket without sharing
a tick. A task moves down at most once per wheel, which is the logarithm of its delay to base n, and most
are cancelled before they ever do.
"""

from __future__ import annotations

from odradek.timer.delay_queue import DelayQueue
from odradek.timer.timer_task import PendingCount, TimerTask
from odradek.timer.timer_task_list import TimerTaskList


class TimingWheel:
    """A ring of `size` buckets of `tick_ms` each, at `clock_ms` or the multiple of the tick below it."""

    __slots__ = (
        "_overflow",
        "_pending",
        "_queue",
        "buckets",
        "clock_ms",
        "due_before_ms",
        "horizon_ms",
        "size",
        "tick_ms",
    )

    def __init__(
        self, tick_ms: int, size: int, clock_ms: int, pending: PendingCount, queue: DelayQueue
    ) -> None:
        assert tick_ms >= 1, f"a tick lasts at least 1 ms: {tick_ms}"
        assert size >= 2, f"a wheel of {size} buckets is no coarser than its own tick"
        self.tick_ms = tick_ms
        self.size = size
        self.clock_ms = clock_ms - clock_ms % tick_ms
        """The start of the current tick, a multiple of `tick_ms`; never moves back."""
        self.due_before_ms = self.clock_ms + tick_ms
        """The end of the current tick: an earlier deadline is due."""
        self.horizon_ms = self.clock_ms + tick_ms * size
        """The end of the last tick covered: a deadline from here on belongs to the overflow wheel."""
        self.buckets = [TimerTaskList(pending) for _ in range(size)]
        self._overflow: TimingWheel | None = None
        """The wheel whose tick is this one's span, made on first need; its clock follows this one's."""
        self._pending = pending
        self._queue = queue

    def place(self, task: TimerTask) -> bool:
        """Put a task that is in no list into its bucket, here or above; False when it is due already.

        Called on the lowest wheel, which first rounds the deadline up to whole ticks of its own.
        """
        deadline_ms = task.deadline_ms
        if self.tick_ms != 1:
            deadline_ms += -deadline_ms % self.tick_ms
        if deadline_ms < self.due_before_ms:
            return False
        wheel = self
        while deadline_ms >= wheel.horizon_ms:
            wheel = wheel._overflow or wheel._make_overflow()
        tick = deadline_ms // wheel.tick_ms
        bucket = wheel.buckets[tick % wheel.size]
        bucket.add(task)
        expiration_ms = tick * wheel.tick_ms
        if bucket.expiration_ms != expiration_ms:
            self._queue.offer(bucket, expiration_ms, wheel.tick_ms)
        return True

    def advance_clock(self, now_ms: int) -> None:
        """Move this wheel and those above to the ticks that hold `now_ms` (T4).

        Every bucket that expires by then has to be out of the delay queue before or be dealt with right
        after.
        """
        if now_ms < self.due_before_ms:
            return
        self.clock_ms = now_ms - now_ms % self.tick_ms
        self.due_before_ms = self.clock_ms + self.tick_ms
        self.horizon_ms = self.clock_ms + self.tick_ms * self.size
        if self._overflow is not None:
            self._overflow.advance_clock(now_ms)

    def _make_overflow(self) -> TimingWheel:
        span_ms = self.tick_ms * self.size
        self._overflow = TimingWheel(span_ms, self.size, self.clock_ms, self._pending, self._queue)
        return self._overflow
