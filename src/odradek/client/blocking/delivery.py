"""What a producer's `send` and `produce_batch` return: the future of a record or a table, for threads."""

from concurrent.futures import Future
from typing import TypeVar

from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.table_deliveries import TableReceipt
from odradek.client.blocking.network_thread import NetworkThread

T = TypeVar("T")


class _Delivery(Future[T]):
    """A future that refuses to be waited for where that would never end."""

    def __init__(self, network: NetworkThread) -> None:
        super().__init__()
        self._network = network

    def result(self, timeout: float | None = None) -> T:
        """The receipt. Raises the error, TimeoutError, and Misuse where waiting would never end.

        `timeout` is in seconds; None waits as long as it takes. Raises TypeError or ValueError for what is no
        time.
        """
        return super().result(self._checked(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error; None if all is stored. Raises as `result` does while it is not known."""
        return super().exception(self._checked(timeout))

    def _checked(self, timeout: object) -> float | None:
        """The time to wait. Raises as `result` does."""
        waits_s = None if timeout is None else seconds_of(timeout)
        if not self.done():
            self._network.check()
        return waits_s


class Delivery(_Delivery[Receipt]):
    """What becomes of a record: `result(timeout)` is its Receipt, or raises what kept it from being stored.

    Callbacks (`add_done_callback`) are called on the producer's network thread and must be short: meanwhile
    nothing is sent. Cancelling it does not keep the record from being sent.
    """


class TableDelivery(_Delivery[TableReceipt]):
    """What becomes of the rows of a table: `result(timeout)` is one TableReceipt, or raises the first error.

    Otherwise as a Delivery.
    """
