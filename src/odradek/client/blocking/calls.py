"""How the network thread has functions called on the thread that waits for it: a rebalance listener, say.

    calls = Calls()
    await calls.make(function)        on the network thread: returns when the waiting thread has called it
    calls.add(function)               on the network thread: the same, without waiting for it
    calls.serve(future, timeout_s)    on the waiting thread: calls what comes until the future is done

Invariants: an exception of the function is raised by `make`, or, where nobody waits for it, by `serve`. A
function that was added may stay uncalled, if the future is done. What is no exception of the application's,
as KeyboardInterrupt, is raised by `serve` at once; the waiting coroutine is then for its caller to cancel.
"""

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

Call = Callable[[], None]


class Calls:
    """See the module; made for one coroutine and the thread that waits for it."""

    def __init__(self) -> None:
        # What is to be called, in order; None: the future is done.
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()

    async def make(self, function: Call) -> None:
        """Have a function called on the waiting thread. Raises its exception."""
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Exception | None] = loop.create_future()

        def call() -> None:
            error: Exception | None = None
            try:
                function()
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(_answer, reply, error)

        self._queue.put(call)
        error = await reply
        if error is not None:
            raise error

    def add(self, function: Call) -> None:
        """Have a function called on the waiting thread, if it still waits; what it raises ends the wait."""
        self._queue.put(function)

    def serve(self, future: "Future[Any]", timeout_s: float | None) -> None:
        """Call what comes until the future is done. Raises TimeoutError if nothing comes for so long."""
        future.add_done_callback(lambda _: self._queue.put(None))
        while True:
            try:
                call = self._queue.get(timeout=timeout_s)
            except queue.Empty:
                raise TimeoutError from None
            if call is None:
                return
            call()


def _answer(reply: "asyncio.Future[Exception | None]", error: Exception | None) -> None:
    if not reply.done():  # else the coroutine was cancelled
        reply.set_result(error)
