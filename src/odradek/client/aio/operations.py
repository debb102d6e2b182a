"""Runs operations of an administrator on the running loop: sends what they ask for, waits, and tries again.

    operations = Operations(settings)
    await operations.carry_out(describe_topics(["flights"]))

An operation goes on while brokers are away, coordinators move and leaders are elected, at most for the time
of its call, else for `default.api.timeout.ms`, and then raises what kept it. Cancelling it leaves the client
usable; a change that was sent may then be carried out all the same.

This module imports no operation, so that whoever needs only a few of them loads no others: `Admin` has them
all as methods.
"""

import asyncio
from collections.abc import Sequence
from typing import Self, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.driver import Driver
from odradek.client.aio.options import driver_options
from odradek.client.aio.reaching import first_answer
from odradek.client.core.admin.operation import Operation, Pause, within
from odradek.client.core.admin.reasons import UnderWay, why
from odradek.client.core.backoff import Backoff
from odradek.client.core.requests import Outcome, Send, ToAny
from odradek.client.core.waiting import Cause, Why
from odradek.client.metrics import Metrics
from odradek.client.settings import (
    CLIENT_ID,
    DEFAULT_API_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    Settings,
)
from odradek.wire.messages.metadata import MetadataRequest

T = TypeVar("T")


class Operations:
    """See the module; used on one loop. Its operations raise ApiError for refusals."""

    def __init__(self, settings: Settings, *, tries_again: bool = True) -> None:
        """Nothing is connected before the first operation.

        Without `tries_again` an operation fails where it would pause, with the reason.
        """
        self._settings = settings
        self._tries_again = tries_again
        # None until the first operation, which has a running loop.
        self._driver: Driver | None = None
        # The operations that have not ended, the oldest first (the values mean nothing).
        self._under_way: dict[UnderWay, None] = {}
        self._is_closed = False

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""
        self._check_home(only_looks=True)
        figures = {} if self._driver is None else self._driver.figures()
        return Metrics("admin_client", self._settings[CLIENT_ID], figures)

    def why(self) -> list[Why]:
        """What the operations under way wait for, the worst cause first; empty if there are none."""
        self._check_home(only_looks=True)
        if self._is_closed:
            return [Why(Cause.CLOSED, "the admin client was closed")]
        driver = self._driver
        return [] if driver is None else why([*self._under_way], driver.view, driver.routing, driver.now_ms)

    async def close(self) -> None:
        """Close all connections; operations under way fail. Closing it again does nothing."""
        if self._driver is not None and not self._driver.home.is_forked:
            self._check_home()
        self._is_closed = True
        if self._driver is not None:
            self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def reach(self) -> None:
        """Ask the bootstrap servers, one after another, until one answers.

        Raises ConnectionFailed, with what each of them lacks, if none does; other operations wait for them.
        """
        driver = self._running_driver()
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        timeout_ms = self._settings[REQUEST_TIMEOUT_MS]
        await first_answer(driver, lambda: Send(ToAny(), request, timeout_ms=timeout_ms))

    async def carry_out(
        self, operation: Operation[T], name: str | None = None, *, timeout: float | None = None
    ) -> T:
        """Carry out an operation; returns its result.

        `name` is what `why` calls it, `timeout` how many seconds it may take; None: `default.api.timeout.ms`.
        """
        driver = self._running_driver()
        timeout_ms = self._settings[DEFAULT_API_TIMEOUT_MS] if timeout is None else int(timeout * 1000)
        under_way = UnderWay(name or str(getattr(operation, "__name__", "it")), driver.now_ms)
        self._under_way[under_way] = None
        try:
            return await self._steps(operation, driver, under_way, timeout_ms)
        finally:
            del self._under_way[under_way]

    async def _steps(
        self, operation: Operation[T], driver: Driver, under_way: UnderWay, timeout_ms: int
    ) -> T:
        deadline_ms = driver.now_ms + timeout_ms
        try:
            effect = next(operation)
            while True:
                if isinstance(effect, Pause):
                    under_way.sends, under_way.pause = (), effect
                    await self._pause(driver, effect, deadline_ms, timeout_ms)
                    effect = operation.send(())
                else:
                    effect = operation.send(await self._send(driver, effect, deadline_ms, under_way))
                    if not isinstance(effect, Pause):
                        under_way.pause = None
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(
        self, driver: Driver, sends: Sequence[Send], deadline_ms: int, under_way: UnderWay
    ) -> list[Outcome]:
        left_ms = max(1, deadline_ms - driver.now_ms)
        timeout_ms = min(self._settings[REQUEST_TIMEOUT_MS], left_ms)
        under_way.sends = [within(one, timeout_ms) for one in sends]
        return list(await asyncio.gather(*(driver.ask(one) for one in under_way.sends)))

    async def _pause(self, driver: Driver, pause: Pause, deadline_ms: int, timeout_ms: int) -> None:
        """Wait before the next attempt. Raises why the last one failed if there is no time for another."""
        if self._is_closed or not self._tries_again:
            raise pause.error
        for send, code in pause.refused:
            driver.routing.refused(send, code)
        driver.view.refresh_soon(driver.now_ms)
        backoff = Backoff(
            self._settings[RETRY_BACKOFF_MS], self._settings[RETRY_BACKOFF_MAX_MS], driver.chance
        )
        wait_ms = backoff.after(pause.number)
        if driver.now_ms + wait_ms >= deadline_ms:
            raise ApiError(pause.error.code, f"given up after {timeout_ms:,} ms: {pause.error}")
        await asyncio.sleep(wait_ms / 1000)

    def _check_home(self, *, only_looks: bool = False) -> None:
        if self._driver is not None:
            self._driver.home.check("this admin client", only_looks=only_looks)

    def _running_driver(self) -> Driver:
        self._check_home()
        if self._is_closed:
            raise ApiError(ErrorCode.INVALID_REQUEST, "this admin client was closed")
        if self._driver is None:
            self._driver = Driver(driver_options(self._settings), asyncio.get_running_loop())
        return self._driver
