"""How the network thread has functions called on the thread that waits for it: a rebalance listener, say.

    calls = Calls()
    await calls.make(function)        on the network thread: returns when the waiting thread has called it
    calls.add(function)               on the network thread: the same, without waiting for it
    calls.end()                       on the network thread: the coroutine has ended
    calls.serve(timeout_s)            on the waiting thread: calls what comes until then

Invariants: an exception of the function is raised by `make`, or, where nobody waits for it, by `serve`. A
function that was added may stay uncalled, if the coroutine has ended. What is no exception of the
application's, as KeyboardInterrupt, is raised by `serve` at once; the waiting coroutine is then for its
caller to cancel.

The two threads share a queue of C code and no lock of Python code: an exception of a signal handler (Ctrl-C)
can leave such a lock held, and the network thread would wait for it for ever.
"""

import asyncio
import queue
from collections.abc import Callable
from contextlib import suppress

Call = Callable[[], None]


class Calls:
    """See the module; made for one coroutine and the thread that waits for it."""

    def __init__(self) -> None:
        # What is to be called, in order; None: the coroutine has ended.
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

    def end(self) -> None:
        """Nothing more comes."""
        self._queue.put(None)

    def serve(self, timeout_s: float | None) -> bool:
        """Call what comes until the end; False if nothing comes for so long."""
        while True:
            try:
                call = self._queue.get(timeout=timeout_s)
            except queue.Empty:
                return False
            if call is None:
                return True
            call()


def _answer(reply: "asyncio.Future[Exception | None]", error: Exception | None) -> None:
    if not reply.done():  # else the coroutine was cancelled
        reply.set_result(error)
