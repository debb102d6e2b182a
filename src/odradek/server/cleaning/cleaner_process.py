"""Cleans in a process of its own, started by exec for one job, because cleaning would block the loop.

This module sends the job to the process and reads its answers; see `cleaner_worker` for the other end. A
start costs a tenth of a second of another core, and the end of the process frees all memory of the cleaning.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any, Final

from odradek.base.errors import CorruptRecord, OdradekError
from odradek.server.cleaning.cleaner_host import CleaningEvents
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.job import CleaningJob, CleaningReport

# The longest line of an answer; a segment names some ten others.
ANSWER_BYTES_MAX: Final = 1 << 16


class CleanerDied(OdradekError):
    """The process ended without an answer."""


class CleanerProcesses:
    """A `CleanerRunner` on the running loop: one process for each job that runs."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        """See `CleanerRunner.run`."""

        async def follow() -> None:
            try:
                report = await _clean(job, bytes_per_second, events.on_segment)
            except (OSError, OdradekError) as error:
                events.failed(error)
            else:
                events.done(report)

        task = asyncio.get_running_loop().create_task(follow())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return lambda: _drop(task)

    async def close(self) -> None:
        """Return when every process has ended."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _drop(task: asyncio.Task[None]) -> None:
    if task is not asyncio.current_task():
        task.cancel()


async def _clean(
    job: CleaningJob, bytes_per_second: float, on_segment: Callable[[CleanedSegment], None]
) -> CleaningReport:
    """Run one job. Raises CorruptRecord for a damaged log, OSError for its disk, else CleanerDied."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "odradek.server.cleaning.cleaner_worker",
        str(bytes_per_second),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=ANSWER_BYTES_MAX,
    )
    assert process.stdin is not None, "pipes were asked for"
    assert process.stdout is not None, "pipes were asked for"
    try:
        process.stdin.write(job.to_json().encode() + b"\n")
        async for line in process.stdout:
            kind, fields = _answer(line)
            if kind == "report":
                return CleaningReport(**fields)
            if kind == "error":
                raise _error(fields)
            on_segment(CleanedSegment.from_fields(fields))
        raise CleanerDied(f"the cleaner ended with code {await process.wait()}")
    finally:
        process.stdin.close()
        if process.returncode is None:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process: its answer has arrived, or is no longer needed."""
    try:
        process.kill()
    except ProcessLookupError:
        pass
    await process.wait()


def _answer(line: bytes) -> tuple[str, dict[str, Any]]:
    ((kind, fields),) = json.loads(line).items()
    return kind, fields


def _error(fields: dict[str, Any]) -> Exception:
    if fields["kind"] == "OSError":
        return OSError(fields["errno"], fields["message"])
    return CorruptRecord(fields["message"])
