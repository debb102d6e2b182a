"""A pool of threads that goes on after the main thread has ended, as long as other threads use a client.

The standard library's pools take nothing more from then on, so that a client on a thread of the application's
could neither look up the name of a broker nor work on a large batch. Then each call gets a thread of its own,
and at the very end of the program, when no thread can be started, it is made at once.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class LastingPool(ThreadPoolExecutor):
    """See the module."""

    def submit(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        """Have a function called on a thread."""
        try:
            return super().submit(function, *arguments, **named)
        except RuntimeError:
            future: Future[T] = Future()
            work = partial(_work, future, partial(function, *arguments, **named))
            try:
                threading.Thread(target=work, daemon=True).start()
            except RuntimeError:
                work()
            return future


def _work(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # whoever waits gets it
        future.set_exception(error)
    else:
        future.set_result(result)
