"""The thread that runs the loop of one blocking client, and how other threads have coroutines run on it.

    network = NetworkThread("odradek-admin")
    network.run(coroutine)          run it there; returns its result, or raises its exception, here
    network.close(5, closing())     run the last coroutine, at most 5 s, and end the thread

Invariants: a call that is interrupted (Ctrl-C, or any other exception in the waiting thread) cancels its
coroutine and leaves the client usable. The thread never keeps the process alive. A client that was made
before a fork is refused in the child, where its thread does not exist, and so is a call from the network
thread itself, which would wait for ever.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import suppress
from typing import Any, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError

T = TypeVar("T")


class Misuse(ApiError, RuntimeError):
    """A client was used where it cannot be: after it was closed, in a forked process, from its own thread."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_REQUEST, message)


class NetworkThread:
    """See the module; any thread may call it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        # Guards the two fields below: no coroutine begins after the client was closed.
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the network thread, and return its result. Raises what it raises, and Misuse."""
        try:
            self._check()
        except Misuse:
            coroutine.close()
            raise
        return self._finish(coroutine, None)

    def close(self, timeout_s: float | None, last: Coroutine[Any, Any, None]) -> None:
        """Run the last coroutine, end the loop and the thread; a second call does nothing.

        Raises TimeoutError if the last coroutine does not end in time; the thread ends all the same.
        """
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if not is_first or os.getpid() != self._pid:
            last.close()
            return
        try:
            self._finish(last, timeout_s)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout_s)

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise Misuse(
                f"{self._name} was made before this process was forked: make a client of its own here"
            )
        if threading.current_thread() is self._thread:
            raise Misuse(f"{self._name} was called from its own network thread, which would wait for itself")
        with self._lock:
            if self._is_closed:
                raise Misuse(f"{self._name} was closed")

    def _finish(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout_s)
        except CancelledError:
            raise Misuse(f"{self._name} was closed by another thread") from None
        except WaitedTooLong:
            if future.done():  # the coroutine's own
                raise
            raise TimeoutError(f"{self._name} did not end within {timeout_s} s") from None
        finally:
            if not future.done():
                future.cancel()

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
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
