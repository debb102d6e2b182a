"""The buckets of all wheels that have an expiration, the earliest first (T3).

Invariant: the queue holds buckets, never tasks. Its size is bounded by the number of buckets, wheels times
buckets per wheel, so that a million tasks cost it no more than a handful.

A bucket is in the heap exactly while its `expiration_ms` is set, and only once. Cancelling tasks may leave an
empty bucket in the heap. Removing it would cost O(buckets), so it stays, is reused if a task of the same tick
arrives, and is dropped when it reaches the front:

    offer(5: [A])  offer(8: [B])     heap 5 8      next_expiration_ms() = 5
    A.cancel()                       heap 5 8      5 is empty now and still in the heap
    next_expiration_ms() = 8         heap 8        dropped, its expiration is cleared
"""

from collections.abc import Callable
from heapq import heappop, heappush

from odradek.timer.timer_task_list import NO_EXPIRATION, TimerTaskList


class DelayQueue:
    """A heap of buckets. `on_new_head` is called when the earliest expiration became earlier."""

    __slots__ = ("_heap", "_on_new_head")

    def __init__(self, on_new_head: Callable[[], None]) -> None:
        self._heap: list[tuple[int, int, TimerTaskList]] = []
        """(expiration, minus the wheel's tick, bucket). At equal expirations the coarser wheel's comes first,
        for its tasks have still to be dealt out; one wheel never has two buckets of one expiration."""
        self._on_new_head = on_new_head

    def offer(self, bucket: TimerTaskList, expiration_ms: int, tick_ms: int) -> None:
        """Let a bucket of the wheel with `tick_ms` wait for `expiration_ms`."""
        assert bucket.expiration_ms == NO_EXPIRATION, f"still waits for {bucket.expiration_ms}"
        bucket.expiration_ms = expiration_ms
        heappush(self._heap, (expiration_ms, -tick_ms, bucket))
        if self._heap[0][2] is bucket:
            self._on_new_head()

    def poll(self, now_ms: int) -> tuple[int, TimerTaskList] | None:
        """Take out the next bucket due at `now_ms`, with its expiration; returns None if there is none."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            expiration_ms, _, bucket = heappop(heap)
            bucket.expiration_ms = NO_EXPIRATION
            if not bucket.is_empty:
                return expiration_ms, bucket
        return None

    def next_expiration_ms(self) -> int | None:
        """When the first bucket that holds anything is due; None when no bucket does."""
        heap = self._heap
        while heap:
            expiration_ms, _, bucket = heap[0]
            if not bucket.is_empty:
                return expiration_ms
            heappop(heap)
            bucket.expiration_ms = NO_EXPIRATION
        return None
