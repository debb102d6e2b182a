"""The thread that runs the loop of one blocking client, and how other threads have coroutines run on it.

    network = NetworkThread("odradek-admin")
    network.run(function)           await a coroutine function there; returns or raises here what it does
    network.run(function, calls)    meanwhile call here what the coroutine wants called here
    network.close(5, closing)       run the last coroutine, at most 5 s, and end the thread
    network.drop(closing, client)   the same without waiting: the application has lost the client

Invariants: a call that is interrupted (Ctrl-C, or any other exception in the waiting thread) cancels its
coroutine and leaves the client usable; a coroutine is made on the network thread alone, so that no
interruption leaves one that nobody awaits. The thread never keeps the process alive. A client that was made
before a fork is refused in the child, where its thread does not exist, and so is a call from the network
thread itself, which would wait for ever.
"""

import asyncio
import logging
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

from odradek.client.aio.home import Misuse, forked
from odradek.client.blocking.calls import Calls
from odradek.client.blocking.lasting_pool import LastingPool

_log: Final = logging.getLogger("odradek.client")

T = TypeVar("T")
Function = Callable[[], Coroutine[Any, Any, T]]


class NetworkThread:
    """See the module; any thread may call it."""

    def __init__(self, name: str, at_end: Callable[[], None] = lambda: None) -> None:
        """`at_end` is called on the thread when nothing else runs there any more, however it ends."""
        self._name = name
        self._at_end = at_end
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(LastingPool(thread_name_prefix=name))
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        # Guards the field below: nothing is given to the loop after the client was closed.
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread.start()

    def run(self, function: Function[T], calls: Calls | None = None) -> T:
        """Await the function's coroutine on the network thread. Raises what it raises, and Misuse."""
        self.check()
        return self._finish(function, None, calls, is_last=False)

    def post(self, function: Callable[[], None]) -> None:
        """Have a function called on the network thread, and do not wait; after the close nothing happens.

        It takes no lock: a signal handler may call it.
        """
        if not self.is_forked:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function)

    def close(self, timeout_s: float | None, last: Function[None], calls: Calls | None = None) -> None:
        """Run the last coroutine, end the loop and the thread; a second call does nothing.

        Raises TimeoutError if the last coroutine does not end in time; the thread ends all the same. Raises
        Misuse on the network thread.
        """
        if self.is_forked:  # another thread of the parent's may have had the lock, which stays held here
            return
        self._check_thread()
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if not is_first:
            return
        try:
            self._finish(last, timeout_s, calls, is_last=True)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout_s)

    def drop(self, last: Function[None], client: str) -> None:
        """Nobody has the client any more: warn, run the last coroutine and end the thread; do not wait.

        After a close nothing happens. It takes no lock: it is called wherever garbage is collected.
        """
        if self.is_forked or self.is_closed:
            return
        self._is_closed = True
        self.post(partial(self._begin_last, last))
        warnings.warn(f"unclosed {client}", ResourceWarning, stacklevel=1)

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; returns whether it has come in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def is_forked(self) -> bool:
        """Whether this is a process forked from the client's."""
        return os.getpid() != self._pid

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called, or the loop has ended in another way."""
        return self._is_closed or self._loop.is_closed()

    def check(self) -> None:
        """Raises Misuse where a call would wait for ever: in a forked process, on the network thread."""
        if self.is_forked:
            raise forked(self._name)
        self._check_thread()

    def _check_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise Misuse(f"{self._name} was called from its own network thread, which would wait for itself")

    def _finish(
        self,
        function: Function[T],
        timeout_s: float | None,
        calls: Calls | None,
        *,
        is_last: bool,
    ) -> T:
        reply: _Reply[T] = _Reply(Calls() if calls is None else calls)
        try:
            # What is given to the loop under the lock is begun before the loop is stopped.
            with self._lock:
                if self._is_closed and not is_last:
                    raise Misuse(f"{self._name} was closed")
                self._loop.call_soon_threadsafe(self._begin, function, reply)
            if not reply.calls.serve(timeout_s):
                raise TimeoutError(f"{self._name} did not end within {timeout_s} s")
            return reply.result()
        except asyncio.CancelledError:
            raise Misuse(f"{self._name} was closed by another thread") from None
        finally:
            # After an interruption, wherever it came: the coroutine is not begun, or cancelled.
            if not reply.is_given:
                reply.is_unwanted = True
                self.post(reply.cancel)

    # --- on the network thread

    def _begin(self, function: Function[T], reply: "_Reply[T]") -> None:
        if not reply.is_unwanted:
            reply.await_task(self._loop.create_task(_awaited(function)))

    def _begin_last(self, last: Function[None]) -> None:
        def end(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                _log.warning("an unclosed client could not be closed: %s", task.exception())
            self._loop.stop()

        self._loop.create_task(_awaited(last)).add_done_callback(end)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._end_tasks()
            self._loop.close()

    def _end_tasks(self) -> None:
        """Cancel what still runs, so that every waiting thread gets an answer."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._at_end()
        self._loop.run_until_complete(asyncio.sleep(0))  # the callbacks of what it ended
        with suppress(RuntimeError):  # the program ends: the pool has ended, and no thread can be started
            self._loop.run_until_complete(self._loop.shutdown_default_executor())


class _Reply(Generic[T]):
    """What becomes of a coroutine on the network thread, for the thread that waits for it.

    Not a future of the standard library: its lock may stay held when Ctrl-C comes (`calls`).
    """

    __slots__ = ("_error", "_result", "_task", "calls", "is_given", "is_unwanted")

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        """They end when the outcome is given."""
        self.is_given = False
        self.is_unwanted = False
        """Whether the thread waits no more; it alone says so."""
        self._task: asyncio.Task[T] | None = None
        self._result: T | None = None
        self._error: BaseException | None = None

    def result(self) -> T:
        """What the coroutine returned; raises what it raised. Called once, after the end of the calls."""
        error, self._error = self._error, None
        if error is None:
            return cast(T, self._result)
        try:
            raise error
        finally:
            del error  # which the traceback would keep, and it the traceback

    # --- on the network thread

    def await_task(self, task: asyncio.Task[T]) -> None:
        """The coroutine has begun."""
        self._task = task
        task.add_done_callback(self._give)

    def cancel(self) -> None:
        """End the coroutine, if it has begun."""
        if self._task is not None:
            self._task.cancel()

    def _give(self, task: asyncio.Task[T]) -> None:
        self._task = None
        if task.cancelled():
            self._error = asyncio.CancelledError()
        elif (error := task.exception()) is not None:
            self._error = error
        else:
            self._result = task.result()
        self.is_given = True
        self.calls.end()


async def _awaited(function: Function[T]) -> T:
    """What the call of the function itself raises, wrong arguments say, is the caller's as well."""
    return await function()
