"""Runs work on records that is too long for one turn of the loop: checks of batches, lookups by time.

The first steps of a job run at once, which is all that usual requests need. The rest follows in slices of the
loop, a step at a time, always of the job that has run the fewest steps: a batch of 100 KB overtakes one of
six million records.

A job may give a call away to the background, which runs one such call at a time, so that the other threads
stay free for the disk. A call whose result takes memory waits until there is room, in one of two queues:

    usual    up to 8 MiB      USUAL_AT_ONCE jobs hold such a result
    large    more             LARGE_AT_ONCE

Invariant: a job has room for one result at a time. It gives that room back before it waits for the next one;
otherwise a few jobs of two batches each would hold all the room and wait for one another.

A job without a waiting request is abandoned: it begins no further step.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, Final, TypeVar

from odradek.base.execution import Background, Later, Slices, Steps
from odradek.records.compression import discard
from odradek.records.framing import DECOMPRESSED_USUAL_BYTES_MAX
from odradek.records.work import Away, RecordSteps

T = TypeVar("T")

STEPS_AT_ONCE: Final = 4
"""How many steps of a job run at once: together a millisecond at most."""
USUAL_AT_ONCE: Final = 4
LARGE_AT_ONCE: Final = 1

_log = logging.getLogger(__name__)


@dataclass(slots=True, order=True)
class RecordJob:
    """One job under way; jobs are ordered by whose step is next."""

    steps: int
    """How many steps it has run."""
    number: int
    """Jobs are numbered in the order in which they arrived."""
    work: RecordSteps[Any] = field(compare=False)
    later: Later[Any] = field(compare=False)
    failed: Callable[[Exception], None] = field(compare=False)
    runner: "RecordWork" = field(compare=False)
    """Runs it. Nothing that a job holds may hold the job: only the collector frees what a cycle holds."""
    given: Any = field(compare=False, default=None)
    """What the call that it gave away returned."""
    error: Exception | None = field(compare=False, default=None)
    """What that call or the job itself raised."""
    row: "_Row | None" = field(compare=False, default=None)
    """The queue in which it takes room while it holds memory."""
    is_over: bool = field(compare=False, default=False)
    """Whether it has ended or was abandoned; no further step of it runs."""
    has_returned: bool = field(compare=False, default=False)
    """Whether `RecordWork.run` has returned; if so, the end of the job is an event of its own."""
    result: Any = field(compare=False, default=None)
    """What it returned, if it ended before `RecordWork.run` returned; `error` is what it raised."""

    def abandon(self) -> None:
        """End the job; neither `later` nor `failed` is called after that."""
        self.runner.abandon(self)


@dataclass(slots=True)
class _Row:
    """Calls that wait for room, oldest first."""

    room: int
    """How many jobs may still begin such a call; -1 if no room is needed."""
    waiting: deque[tuple[RecordJob, Away]] = field(default_factory=deque)


class RecordWork:
    """Runs all jobs on records of one node."""

    def __init__(self, slices: Slices, background: Background) -> None:
        self._slices = slices
        self._background = background
        self._ready: list[RecordJob] = []
        """A heap of the jobs that have a next step."""
        self._is_sliced = False
        """Whether their steps run in slices of the loop now."""
        self._away: RecordJob | None = None
        """The job whose call runs in the background."""
        self._freeing, self._usual, self._large = _Row(-1), _Row(USUAL_AT_ONCE), _Row(LARGE_AT_ONCE)
        self._count = 0

    def run(
        self, work: RecordSteps[T], later: Later[T], failed: Callable[[Exception], None]
    ) -> T | RecordJob:
        """Run `work`. Returns what it returns, or the job if it has not ended yet; a job may be abandoned.

        `failed` is called for bugs of ours: when `work` or `later` raises after `run` has returned; the error
        has been logged by then. Raises what `work` raises before that.
        """
        job = RecordJob(0, self._count, work, later, failed, self)
        self._count += 1
        for _ in range(STEPS_AT_ONCE):
            if not self._advance(job):
                break
        else:
            self._make_ready(job)
        job.has_returned = True
        if not job.is_over:
            return job
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def close(self) -> None:
        """Abandon everything: the broker stops."""
        for job in [*self._ready, *(job for row in self._rows() for job, _ in row.waiting)]:
            self.abandon(job)
        if self._away is not None:
            self.abandon(self._away)

    def abandon(self, job: RecordJob) -> None:
        """See `RecordJob.abandon`."""
        if job.is_over:
            return
        job.is_over = True
        self._ready = [other for other in self._ready if other is not job]
        heapify(self._ready)
        for row in self._rows():
            row.waiting = deque(one for one in row.waiting if one[0] is not job)
        job.work.close()
        if job is not self._away:  # else it is freed when its call returns, which holds the memory until then
            given, job.given = job.given, None
            self._discard(given)
            self._free(job)

    @property
    def waiting(self) -> int:
        """How many jobs have a next step, or wait until the background takes their call."""
        return len(self._ready) + sum(len(row.waiting) for row in self._rows())

    def _rows(self) -> tuple[_Row, ...]:
        return self._freeing, self._usual, self._large

    def _make_ready(self, job: RecordJob) -> None:
        heappush(self._ready, job)
        if not self._is_sliced:
            self._is_sliced = True
            self._slices.run(self._slice(), _unforeseen)

    def _slice(self) -> Steps[None]:
        while self._ready:
            job = heappop(self._ready)
            if self._advance(job):
                heappush(self._ready, job)
            yield
        self._is_sliced = False

    def _advance(self, job: RecordJob) -> bool:
        """Run one step. Returns whether the job has a next step now."""
        if job.is_over:
            return False
        given, error = job.given, job.error
        job.given = job.error = None
        try:
            step = job.work.send(given) if error is None else job.work.throw(error)
        except StopIteration as end:
            self._end(job, end.value, None)
            return False
        except Exception as mistake:
            self._end(job, None, mistake)
            return False
        job.steps += 1
        if step is not None:
            self._give_away(job, step)
            return False
        return True

    def _end(self, job: RecordJob, result: object, error: Exception | None) -> None:
        job.is_over = True
        self._free(job)
        if not job.has_returned:
            job.result, job.error = result, error
            return
        if error is not None:
            _log.error("work on records failed", exc_info=error)
            job.failed(error)
            return
        try:
            job.later(result)
        except Exception as mistake:
            _log.exception("what follows on work on records failed")
            job.failed(mistake)

    def _free(self, job: RecordJob) -> None:
        """Give the room of its memory back."""
        if job.row is not None:
            job.row.room += 1
            job.row = None
            self._next_call()

    def _give_away(self, job: RecordJob, step: Away) -> None:
        if not step.bytes_max:
            row = self._freeing
        else:
            self._free(job)  # the memory of the previous batch, which the job has finished
            row = self._usual if step.bytes_max <= DECOMPRESSED_USUAL_BYTES_MAX else self._large
        row.waiting.append((job, step))
        self._next_call()

    def _next_call(self) -> None:
        if self._away is not None:
            return
        row = next((row for row in self._rows() if row.waiting and row.room), None)
        if row is None:
            return
        job, step = row.waiting.popleft()
        if step.bytes_max:
            row.room -= 1
            job.row = row
        self._away = job
        self._background.submit(
            step.call,
            lambda result: self._returned(job, result, None),
            lambda error: self._returned(job, None, error),
        )

    def _returned(self, job: RecordJob, result: object, error: Exception | None) -> None:
        self._away = None
        if job.is_over:
            self._discard(result)
        else:
            job.given, job.error = result, error
            self._make_ready(job)
        if job.is_over or error is not None:
            self._free(job)
        self._next_call()

    def _discard(self, result: object) -> None:
        """Free what an abandoned job was given: the job refers to itself, so it is collected late."""
        if isinstance(result, memoryview):
            self._background.submit(partial(discard, result), _nothing, _unforeseen)


def _nothing(_: None) -> None:
    """Called when memory was freed."""


def _unforeseen(error: Exception) -> None:
    raise AssertionError("a step of record work raised") from error
