"""What a producer's `send` and `produce_batch` return: the future of a record or a table, for threads.

A future of the standard library has a lock of its own, which takes longer to make than to send a record, and
which Ctrl-C may leave held (`shared_lock`). The deliveries of one producer share one, and those of a batch
are ended together.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures._base import FINISHED, PENDING, RUNNING
from typing import Any, TypeVar, cast

from odradek.base.errors import ApiError
from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.table_deliveries import TableReceipt
from odradek.client.blocking.network_thread import NetworkThread

T = TypeVar("T")


class _Delivery(Future[T]):
    """A future that refuses to be waited for where that would never end."""

    _network: NetworkThread

    def result(self, timeout: float | None = None) -> T:
        """The receipt. Raises the error, TimeoutError, and Misuse where waiting would never end.

        `timeout` is in seconds; None waits as long as it takes. Raises TypeError or ValueError for what is no
        time.
        """
        self._wait(timeout)
        if self._state != FINISHED:
            return super().result(0)
        if self._exception is None:
            return cast(T, self._result)
        try:
            raise self._exception
        finally:
            del self  # which the traceback would keep, and it the traceback

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error; None if all is stored. Raises as `result` does while it is not known."""
        self._wait(timeout)
        return self._exception if self._state == FINISHED else super().exception(0)

    def _wait(self, timeout: object) -> None:
        """Wait until it is done, or the time is over. Raises as `result` does."""
        waits_s = None if timeout is None else seconds_of(timeout)
        # In a forked process the lock may be held for ever: it is refused without it, and an outcome that is
        # known is read without it. For a moment before that one is running.
        if self._state in (PENDING, RUNNING):
            self._network.check()
            with self._condition:
                self._condition.wait_for(self.done, waits_s)


class Delivery(_Delivery[Receipt]):
    """What becomes of a record: `result(timeout)` is its Receipt, or raises what kept it from being stored.

    Callbacks (`add_done_callback`) are called on the producer's network thread and must be short: meanwhile
    nothing is sent. Cancelling it does not keep the record from being sent.
    """

    def __init__(self, network: NetworkThread, ended: threading.Condition) -> None:
        """`ended` is the lock that all deliveries of a producer share; their threads wait on it."""
        # The fields of a future, as its own `__init__` makes them, but for the lock.
        self._condition = ended
        self._state = PENDING
        self._result: Receipt | None = None
        self._exception: BaseException | None = None
        self._waiters: list[Any] = []
        self._done_callbacks: list[Callable[[Future[Receipt]], object]] = []
        self._network = network

    def end_at_once(self, outcome: Receipt | ApiError) -> bool:
        """Give it its outcome, under the lock that it shares; False if somebody is to be told of that."""
        if self._state != PENDING or self._waiters or self._done_callbacks:
            return False
        if isinstance(outcome, Receipt):
            self._result = outcome
        else:
            self._exception = outcome
        self._state = FINISHED
        return True

    def end(self, outcome: Receipt | Exception) -> None:
        """Give this one its outcome."""
        if not self.set_running_or_notify_cancel():
            return
        if isinstance(outcome, Receipt):
            self.set_result(outcome)
        else:
            self.set_exception(outcome)


def give_deliveries(
    ended: threading.Condition, deliveries: Sequence[Delivery], found: Sequence[Receipt | ApiError]
) -> None:
    """`Give` for deliveries of one producer, called on its network thread; they share the lock `ended`."""
    with ended:
        left = [
            (one, outcome)
            for one, outcome in zip(deliveries, found, strict=True)
            if not one.end_at_once(outcome)
        ]
        ended.notify_all()
    # Without the lock, since callbacks do what they want.
    for one, outcome in left:
        one.end(outcome)


class TableDelivery(_Delivery[TableReceipt]):
    """What becomes of the rows of a table: `result(timeout)` is one TableReceipt, or raises the first error.

    Otherwise as a Delivery.
    """

    def __init__(self, network: NetworkThread, ended: threading.Condition) -> None:
        """See `Delivery`."""
        super().__init__()
        self._condition = ended
        self._network = network

    def take_over(self, done: asyncio.Future[TableReceipt]) -> None:
        """Get the outcome that the asyncio producer gave."""
        if done.cancelled():
            self.cancel()
        elif not self.set_running_or_notify_cancel():
            done.exception()  # nobody waits any more
        elif (error := done.exception()) is not None:
            self.set_exception(error)
        else:
            self.set_result(done.result())
