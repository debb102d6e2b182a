"""Threads for calls that block and release the interpreter lock: fsync, unlink, SQLite, cold starts.

Invariant: nothing that runs here touches the broker's state; results come back to the loop as callbacks. Work
that computes does not belong here: a busy Python thread beside the loop costs every request milliseconds.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from odradek.server.edge.loop_stalls import LoopStalls, name_of
from odradek.storage.flushing import error_of, one_after_another

T = TypeVar("T")

THREADS_MAX: Final = 4
SYNC_THREADS_MAX: Final = 16
"""For a clean stop, when the broker only waits for the disk."""
CALLS_WAITING_MAX: Final = 100_000


class Executor:
    """A `Background` of at most `THREADS_MAX` threads, each started when it is first needed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stalls: LoopStalls) -> None:
        self._loop = loop
        self._stalls = stalls
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="odradek-blocking")
        # How many calls were submitted and are not reported yet.
        self._pending = 0
        # Woken when `_pending` falls to 0.
        self._idle: asyncio.Future[None] | None = None

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`; calls may overtake each other (see `Lane`)."""
        assert self._pending < CALLS_WAITING_MAX, "work is submitted without waiting for any of it"
        self._pending += 1

        def run() -> None:
            try:
                result = call()
            except Exception as error:
                self._report(failed, error)
            else:
                self._report(done, result)

        self._threads.submit(run)

    async def run(self, call: Callable[[], T]) -> T:
        """Run one call and wait for it, for starting and stopping. Raises what the call raises."""
        future: asyncio.Future[T] = self._loop.create_future()
        self.submit(call, future.set_result, future.set_exception)
        return await future

    async def drain(self) -> None:
        """Return when every submitted call has been reported.

        More may be submitted between the last report and the turn in which the waiter goes on.
        """
        while self._pending:
            self._idle = self._loop.create_future()
            await self._idle

    async def close(self) -> None:
        """Wait for the submitted calls, and end the threads."""
        await self.drain()
        self._threads.shutdown(wait=True)

    def _report(self, report: Callable[[Any], None], outcome: object) -> None:
        """From a worker thread: call `report` with `outcome` on the loop."""

        def on_loop() -> None:
            self._pending -= 1
            began_ns = self._stalls.now_ns()
            try:
                report(outcome)
            finally:
                elapsed_ns = self._stalls.now_ns() - began_ns
                if elapsed_ns > self._stalls.notable_ns:
                    self._stalls.note(elapsed_ns, f"the end of background work, {name_of(report)}")
                if self._idle is not None and not self._pending and not self._idle.done():
                    self._idle.set_result(None)

        self._loop.call_soon_threadsafe(on_loop)


def sync_in_parallel(calls: Sequence[Callable[[], None]]) -> Sequence[OSError | None]:
    """A `storage.flushing.InParallel` on threads of its own, at most `SYNC_THREADS_MAX`."""
    if len(calls) <= 1:
        return one_after_another(calls)
    with ThreadPoolExecutor(min(SYNC_THREADS_MAX, len(calls)), thread_name_prefix="odradek-sync") as threads:
        return list(threads.map(error_of, calls))
