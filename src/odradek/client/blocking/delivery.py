"""What a producer's `send` returns: the record's future, for threads."""

from concurrent.futures import Future

from odradek.client.aio.deliveries import Receipt
from odradek.client.blocking.network_thread import NetworkThread


class Delivery(Future[Receipt]):
    """What becomes of a record: `result(timeout)` is its Receipt, or raises what kept it from being stored.

    Callbacks (`add_done_callback`) are called on the producer's network thread and must be short: meanwhile
    nothing is sent. Cancelling it does not keep the record from being sent.
    """

    def __init__(self, network: NetworkThread) -> None:
        super().__init__()
        self._network = network

    def result(self, timeout: float | None = None) -> Receipt:
        """The receipt. Raises the record's error, TimeoutError, and Misuse where waiting would never end."""
        self._check()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The record's error; None if it is stored. Raises as `result` does while it is not known."""
        self._check()
        return super().exception(timeout)

    def _check(self) -> None:
        if not self.done():
            self._network.check()
