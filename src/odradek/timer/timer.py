"""The timer: wheels and a delay queue behind `add` and `advance` (T1 to T6).

Invariant: tasks run only within `advance`, never within `add`, whose caller may be half-way through a change.
The timer never waits and reads no clock but the one it is given.

A driver (the server's one `call_at`, a test, the simulator) needs two things of it: the time at which to call
`advance` next, and a callback when that becomes earlier. With ticks of 1 ms and 20 buckets, the clock at 0:

    add A at 5        on_earlier()   next_expiration_ms() = 5
    add B at 450      -              5                          B in wheel 3 (tick 400), bucket 1
    advance() at 5    runs A         400                        the bucket of B, not B itself
    advance() at 400  runs none      440                        B moved to wheel 2 (tick 20)
    advance() at 440  runs none      450                        B moved to wheel 1
    advance() at 450  runs B         None

Within one `advance` tasks run in the order of their deadlines (rounded up to ticks), however far the clock
jumped, and a task added meanwhile with a deadline inside the jump takes its place among them. A task that
is due at once waits for the next `advance`, which is then due at once as well: one that keeps adding itself
slows the loop down and never hangs it.
"""

from collections.abc import Callable

from odradek.base.clock import Clock
from odradek.timer.delay_queue import DelayQueue
from odradek.timer.timer_task import PendingCount, TimerTask
from odradek.timer.timer_task_list import TimerTaskList
from odradek.timer.timing_wheel import TimingWheel


def _run_task(task: TimerTask) -> None:
    task.run()


def _drop_task(task: TimerTask) -> None:
    """Do nothing: the timer is closed, the owner of the task is gone."""


class Timer:
    """Runs tasks at their deadlines: never early, late by less than a tick plus the driver's delay (T5).

    `on_earlier` is called when `next_expiration_ms` became earlier, except within `advance`, after which a
    driver asks anyway. It may call `advance`, never from within a task.
    """

    __slots__ = (
        "_advancing",
        "_after_advance",
        "_due",
        "_on_earlier",
        "_pending",
        "_queue",
        "_run",
        "_target_ms",
        "_wheel",
        "clock",
    )

    def __init__(
        self,
        clock: Clock,
        *,
        tick_ms: int = 1,
        wheel_size: int = 20,
        on_earlier: Callable[[], None] | None = None,
        run: Callable[[TimerTask], None] = _run_task,
    ) -> None:
        """`run` runs a task that is due; a driver gives its own to measure tasks."""
        self.clock = clock
        self._run = run
        self._on_earlier = on_earlier
        self._pending = PendingCount()
        self._queue = DelayQueue(self._announce_earlier)
        self._wheel = TimingWheel(tick_ms, wheel_size, clock.monotonic_ms(), self._pending, self._queue)
        """The lowest wheel; its clock is the time up to which everything has run."""
        self._due = TimerTaskList(self._pending)
        """Tasks that were due when they were added: the next `advance` runs them first."""
        self._advancing = False
        """Whether an `advance` is running further up the stack."""
        self._target_ms = self._wheel.clock_ms
        """What the latest `advance` read from the clock."""
        self._after_advance: list[Callable[[], None]] = []

    @property
    def size(self) -> int:
        """How many tasks are pending."""
        return self._pending.value

    def call_after_advance(self, callback: Callable[[], None]) -> None:
        """Have `callback` called after every `advance`, for the timer's lifetime (D6)."""
        self._after_advance.append(callback)

    def add(self, task: TimerTask) -> None:
        """Let `task` run at its deadline, in O(1); one already pending here is moved (T1, T2)."""
        if task.counted_in is not None:
            task.cancel()
        if not self._wheel.place(task):
            self._due.add(task)
            self._announce_earlier()

    def close(self) -> None:
        """Run no more tasks, not even those due in a running `advance`: the owner of all tasks is gone."""
        self._run = _drop_task
        self._on_earlier = None
        self._after_advance.clear()

    def next_expiration_ms(self) -> int | None:
        """When to call `advance` next, which may be in the past; None while no task is pending.

        It is the expiration of a bucket: there may be nothing to run then but tasks to move to a finer wheel.
        """
        if not self._due.is_empty:
            return self._wheel.clock_ms
        return self._queue.next_expiration_ms()

    def advance(self) -> int:
        """Run what is due by now and return how many tasks ran (T4).

        A task that raises does not keep the others from running: when all have run, what was raised is
        raised together, as one ExceptionGroup. Called by a task, it returns 0 and the call at work goes on
        to the later time.
        """
        self._target_ms = self.clock.monotonic_ms()
        if self._advancing:
            return 0
        ran = 0
        errors: list[Exception] = []
        self._advancing = True
        try:
            if not self._due.is_empty:
                due, self._due = self._due, TimerTaskList(self._pending)
                ran += self._empty(due, errors)
            while (expired := self._queue.poll(self._target_ms)) is not None:
                expiration_ms, bucket = expired
                self._wheel.advance_clock(expiration_ms)
                ran += self._empty(bucket, errors)
            self._wheel.advance_clock(self._target_ms)
        finally:
            self._advancing = False
        for callback in self._after_advance:
            callback()
        if errors:
            raise ExceptionGroup(f"{len(errors)} of {ran} timer tasks failed", errors)
        return ran

    def _empty(self, bucket: TimerTaskList, errors: list[Exception]) -> int:
        """Run what is due of a bucket that left the queue, and move the rest down; return how many tasks ran.

        While it is emptied nothing can enter it: its ticks are the current ones of its wheel, and what is
        placed now lies beyond those. Tasks may leave it, cancelled by others, therefore the first is taken
        anew each time.
        """
        ran = 0
        try:
            while (task := bucket.take_first()) is not None:
                if self._wheel.place(task):
                    continue
                ran += 1
                try:
                    self._run(task)
                except Exception as error:
                    errors.append(error)
        finally:  # Only an interrupt leaves tasks behind; they must not be lost with their bucket.
            while (task := bucket.take_first()) is not None:
                self.add(task)
        return ran

    def _announce_earlier(self) -> None:
        if self._on_earlier is not None and not self._advancing:
            self._on_earlier()
