"""Runs operations with a client's driver: sends what they ask for, waits, and tries again.

    runs = OperationRuns(driver, settings)
    await runs.run(committed_offsets(identity, partitions), "committed", 60_000)

An operation that pauses goes on after the backoff of its client, at most for its time; then what kept it is
raised. Cancelling it leaves the client usable; a change that was sent may then be carried out all the same.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, TypeVar

from odradek.base.errors import ApiError
from odradek.client.aio.driver import Driver
from odradek.client.core.backoff import Backoff
from odradek.client.core.operation import Operation, Pause, within
from odradek.client.core.operation_reasons import UnderWay, why, why_one
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.waiting import Cause, Why
from odradek.client.settings import (
    REQUEST_TIMEOUT_MS,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    Settings,
)

T = TypeVar("T")

_LAST_ATTEMPT_MS: Final = 100


class OperationRuns:
    """See the module; used on the thread of the driver's loop."""

    def __init__(self, driver: Driver, settings: Settings, *, tries_again: bool = True) -> None:
        """Without `tries_again` an operation fails where it would pause, with the reason."""
        self.driver: Final = driver
        """What sends the requests."""
        self._request_timeout_ms = settings[REQUEST_TIMEOUT_MS]
        self._tries_again = tries_again
        self._backoff = Backoff(settings[RETRY_BACKOFF_MS], settings[RETRY_BACKOFF_MAX_MS], driver.chance)
        # The operations that have not ended, the oldest first (the values mean nothing).
        self._under_way: dict[UnderWay, None] = {}

    def why(self) -> list[Why]:
        """What keeps operations from ending, the worst cause first; empty without any."""
        driver = self.driver
        return why([*self._under_way], driver.view, driver.routing, driver.now_ms)

    def held_up(self) -> list[Why]:
        """Why operations have not ended that were refused, or whose broker does not answer."""
        driver = self.driver
        causes = [why_one(one, driver.view, driver.routing, driver.now_ms) for one in self._under_way]
        return [one for one in causes if one.cause is not Cause.REQUEST]

    async def run(self, operation: Operation[T], name: str, timeout_ms: int) -> T:
        """Run an operation, which `why` calls by this name. Raises ApiError, also when its time is over."""
        under_way = UnderWay(name, self.driver.now_ms)
        self._under_way[under_way] = None
        try:
            return await self._steps(operation, under_way, timeout_ms)
        finally:
            del self._under_way[under_way]

    async def _steps(self, operation: Operation[T], under_way: UnderWay, timeout_ms: int) -> T:
        deadline_ms = self.driver.now_ms + timeout_ms
        try:
            effect = next(operation)
            while True:
                if isinstance(effect, Pause):
                    under_way.sends, under_way.pause = (), effect
                    await self._pause(effect, deadline_ms, timeout_ms)
                    effect = operation.send(())
                else:
                    effect = operation.send(await self._send(effect, deadline_ms, under_way))
                    if not isinstance(effect, Pause):
                        under_way.pause = None
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(self, sends: Sequence[Send], deadline_ms: int, under_way: UnderWay) -> list[Outcome]:
        left_ms = max(1, deadline_ms - self.driver.now_ms)
        timeout_ms = min(self._request_timeout_ms, left_ms)
        under_way.sends = [within(one, timeout_ms) for one in sends]
        return list(await asyncio.gather(*map(self.driver.ask, under_way.sends)))

    async def _pause(self, pause: Pause, deadline_ms: int, timeout_ms: int) -> None:
        """Wait before the next attempt. Raises why the last one failed if there is no time for another."""
        driver = self.driver
        if driver.is_closed or not self._tries_again:
            raise pause.error
        for send, code in pause.refused:
            driver.routing.refused(send, code)
        driver.view.refresh_soon(driver.now_ms)
        driver.pump()  # the metadata is here when the operation goes on
        # The last attempt is made while there is time for its answer.
        wait_ms = min(self._backoff.after(pause.number), deadline_ms - driver.now_ms - _LAST_ATTEMPT_MS)
        if wait_ms <= 0:
            raise ApiError(pause.error.code, f"given up after {timeout_ms:,} ms: {pause.error}")
        await asyncio.sleep(wait_ms / 1000)
