"""Runs operations of an administrator for programs without asyncio; any thread may use it.

    with Operations(aio.Operations(settings)) as operations:
        operations.carry_out(describe_topics(["flights"]))

The loop of `client/aio/operations`, which does the work, runs on a thread of its own.
"""

import weakref
from typing import Generic, TypeVar

from odradek.base.closing import Closing
from odradek.client.aio import operations as aio
from odradek.client.aio.arguments import seconds_of
from odradek.client.blocking.network_thread import NetworkThread
from odradek.client.core.operation import Operation
from odradek.client.core.waiting import Cause, Why
from odradek.client.metrics import Metrics

A = TypeVar("A", bound=aio.Operations)
T = TypeVar("T")

CLOSE_TIMEOUT_S = 30.0


class Operations(Closing, Generic[A]):
    """See the module. Its operations raise ApiError for refusals."""

    def __init__(self, operations: A) -> None:
        self._operations = operations
        self._network = NetworkThread("this admin client")
        weakref.finalize(self, self._network.drop, operations.close, "odradek.Admin").atexit = False

    def reach(self) -> None:
        """Ask the bootstrap servers, one after another, until one answers. Raises ConnectionFailed."""
        self._network.run(self._operations.reach)

    def carry_out(
        self, operation: Operation[T], name: str | None = None, *, timeout: float | None = None
    ) -> T:
        """See `Operations.carry_out` of `client/aio/operations`."""
        return self._network.run(lambda: self._operations.carry_out(operation, name, timeout=timeout))

    def metrics(self) -> Metrics:
        """See `Operations.metrics` of `client/aio/operations`."""

        async def there() -> Metrics:
            return self._operations.metrics()

        return self._network.run(there)

    def why(self) -> list[Why]:
        """What the operations of other threads wait for, the worst cause first; empty if there are none."""
        if self._network.is_closed:
            return [Why(Cause.CLOSED, "the admin client was closed")]

        async def there() -> list[Why]:
            return self._operations.why()

        return self._network.run(there)

    def close(self, timeout: float | None = CLOSE_TIMEOUT_S) -> None:
        """Close all connections and end the thread; operations of other threads fail.

        Raises TimeoutError if that takes longer than `timeout` seconds, TypeError or ValueError for what is
        no time.
        """
        timeout = None if timeout is None else seconds_of(timeout)
        self._network.close(timeout, self._operations.close)
