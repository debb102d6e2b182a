"""Decodes, between two polls of a consumer, some of the records that the next poll returns (C2).

    ahead = DecodeAhead(fetcher, driver)
    driver.run(ahead)          it looks after every event whether something has come
    await ahead.decoded()      a poll waits for what the next records need of another thread

Invariants: it works in slices, each in a step of the loop of its own, and makes a call that takes long on
another thread, once. A poll that is cancelled meanwhile loses nothing: the result is taken over all the same.
When the driver is closed nothing more is begun.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from odradek.base.errors import OdradekError
from odradek.client.aio.driver import Driver
from odradek.client.core.consumer.completed_fetch import Away
from odradek.client.core.consumer.fetcher import Fetcher
from odradek.client.core.requests import Outcome, Send

# After an event: the application's thread is to have its records first, and shares the interpreter's lock.
_BEGINS_S: Final = 0.001


class DecodeAhead:
    """See the module; a `Core` that sends nothing."""

    def __init__(self, fetcher: Fetcher, driver: Driver) -> None:
        self._fetcher = fetcher
        self._driver = driver
        self._is_scheduled = False
        # The calls on other threads, until their results were taken over: several where the next records
        # are those of another partition meanwhile, because the application has paused one.
        self._begun: dict[Callable[[], Any], asyncio.Future[Any]] = {}

    async def decoded(self) -> bool:
        """Wait for the call that the next records need; returns False if they need none.

        Raises what is no fault of the records: lack of memory, say.
        """
        away = self._fetcher.away
        if away is None:
            return False
        future = self._begin(away)
        await asyncio.wait({future})
        error = future.exception()
        if error is not None and not isinstance(error, OdradekError):
            raise error
        return True

    # --- as a core

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`: nothing is sent, but decoding begins."""
        if not self._is_scheduled and not self._fetcher.is_empty:
            self._is_scheduled = True
            self._driver.loop.call_later(_BEGINS_S, self._step)
        return ()

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`; nothing was sent."""

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        return None

    # --- helpers

    def _step(self) -> None:
        if self._driver.is_closed:
            return
        self._is_scheduled = self._fetcher.prepare()
        if self._is_scheduled:
            self._driver.loop.call_soon(self._step)
        elif (away := self._fetcher.away) is not None:
            self._begin(away)

    def _begin(self, away: Away) -> asyncio.Future[Any]:
        """Have a call made on another thread, unless it is under way there."""
        future = self._begun.get(away.call)
        if future is None:
            future = self._begun[away.call] = self._driver.loop.run_in_executor(None, away.call)
            future.add_done_callback(partial(self._take_over, away))
        return future

    def _take_over(self, away: Away, future: asyncio.Future[Any]) -> None:
        del self._begun[away.call]
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            away.of.has(away, future.result())
        elif isinstance(error, OdradekError):
            away.of.has(away, error)
        else:
            return  # the next poll makes the call again, and raises it
        if not self._is_scheduled:
            self._step()
