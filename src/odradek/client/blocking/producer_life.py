"""What a blocking producer consists of besides its methods, and how it ends: closed, dropped, or never.

    life = ProducerLife(aio.Producer(...))      its network thread begins
    life.close(5)                               what is left is sent, for at most 5 s; the thread ends
    life.drop()                                 the application has lost it: the same, without waiting

A producer that is neither closed nor dropped, or not yet done, when the program ends is ended there
(`at_exit`). Invariant: nothing here refers to the producer that the application has, so that it is collected
when the application drops it.
"""

import asyncio
import logging
import warnings
from contextlib import suppress
from typing import Any, Final

from odradek.client.aio.producer import Producer
from odradek.client.blocking import at_exit
from odradek.client.blocking.network_thread import NetworkThread
from odradek.client.blocking.outbox import Outbox
from odradek.client.core.waiting import Why

# How long the thread may take beyond the time that `close` was given.
_GRACE_S: Final = 5.0
_NAME: Final = "odradek.Producer"

_log: Final = logging.getLogger("odradek.producer")


class ProducerLife:
    """See the module."""

    def __init__(self, producer: Producer[Any, Any]) -> None:
        self._producer = producer
        # Whether nobody has it any more, and what is left is sent on the network thread.
        self._is_dropped = False
        self.network = NetworkThread("this producer", self._at_end)
        self.outbox = Outbox(producer, self.network)
        at_exit.call(self._flush_unclosed, self._end_unclosed)

    def flush(self, timeout_s: float | None) -> None:
        """Have what was put so far sent, and wait for its outcomes. Raises TimeoutError."""

        async def there() -> None:
            async with asyncio.timeout(timeout_s):
                await self.outbox.emptied()
                await self._producer.flush()

        try:
            self.network.run(there)
        except TimeoutError:
            raise TimeoutError(f"not all records were acknowledged within {timeout_s} s") from None

    def why(self) -> list[Why]:
        """What the producer is waiting for."""

        async def there() -> list[Why]:
            return self._producer.why()

        return self.network.run(there)

    def close(self, timeout_s: float | None) -> None:
        """Send what is left in this time (None: `delivery.timeout.ms`), and end the thread."""
        if self.network.is_forked:
            return
        self.network.check()
        self.outbox.close()
        wait_s = None if timeout_s is None else timeout_s + _GRACE_S
        self.network.close(wait_s, lambda: self._close(timeout_s))
        at_exit.forget(self._end_unclosed)

    def drop(self) -> None:
        """Nobody has the producer any more: warn, and close it without waiting."""
        if self._is_gone:
            return
        self._is_dropped = True
        self.network.drop(lambda: self._close(None), _NAME)

    async def _close(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self.outbox.emptied()
                await self._producer.close()
        except TimeoutError:
            pass  # what is left fails as the thread ends

    def _flush_unclosed(self, timeout_s: float) -> None:
        """The main thread has ended: send what is left, for at most this time."""
        if self._is_dropped:
            self.network.join(timeout_s)
        elif not self._is_gone:
            with suppress(TimeoutError):
                self.flush(timeout_s)

    def _end_unclosed(self, timeout_s: float) -> None:
        """The program ends: send what is left, for at most this time, and say so if that fails."""
        if self._is_dropped:
            if not self.network.join(timeout_s):
                _log.error("the program ended before all records of an unclosed producer were sent")
            return
        if self._is_gone:
            return
        try:
            self.flush(timeout_s)
        except TimeoutError:
            waits = "; ".join(map(str, self.why()))
            _log.error("the program ended before all records of an unclosed producer were sent: %s", waits)
        finally:
            self.close(0)
        warnings.warn(f"unclosed {_NAME}", ResourceWarning, stacklevel=1)

    @property
    def _is_gone(self) -> bool:
        return self.network.is_forked or self.network.is_closed

    def _at_end(self) -> None:
        """The network thread ends, also where its close was interrupted."""
        self._producer.abandon()
        self.outbox.fail_all()
        if self._is_dropped:
            at_exit.forget(self._end_unclosed)
