"""The polls of a consumer: rounds until there are records, or the time is over (C1).

    with polling.only():                      one coroutine polls at a time
        records = await polling.until(5.0, take)

A round carries out what the group wants, begins a commit that is due, and lets the network run without
waiting; `take` returns what there is, and sends the next fetches before that (C2). Invariant: a wakeup is
raised before any record leaves the core.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, WakeupError
from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.committing import Committing
from odradek.client.aio.decode_ahead import DecodeAhead
from odradek.client.aio.driver import Driver
from odradek.client.aio.rebalancing import Rebalancing
from odradek.client.core.consumer.consumer_core import ConsumerCore
from odradek.client.core.waiting import Cause, Why

T = TypeVar("T")

POLLS_AGAIN_MS: Final = 1_000
"""How long iteration goes on without a poll while it has records."""

_log: Final = logging.getLogger("odradek.consumer")


class Polling:
    """See the module; used on the thread of the loop."""

    def __init__(
        self,
        driver: Driver,
        core: ConsumerCore,
        ahead: DecodeAhead,
        commits: Committing,
        rebalancing: Rebalancing,
        *,
        max_poll_interval_ms: int,
    ) -> None:
        self._driver = driver
        self._core = core
        self._ahead = ahead
        self._commits = commits
        self._rebalancing = rebalancing
        self._max_poll_interval_ms = max_poll_interval_ms
        self._is_under_way = False
        # Whether the poll that waits, or the next one, is to end with WakeupError.
        self._is_woken = False
        # When a round began last, for cores, and when iteration polls although it has records, by the loop.
        self._polled_at_ms = driver.now_ms
        self._polls_again_s = 0.0

    @property
    def is_due(self) -> bool:
        """Whether iteration is to poll although it has records."""
        return self._is_woken or self._driver.loop.time() >= self._polls_again_s

    @contextmanager
    def only(self) -> Iterator[None]:
        """Keep other coroutines from polling. Raises RuntimeError if one polls already."""
        if self._is_under_way:
            raise RuntimeError("another coroutine polls this consumer already")
        self._is_under_way = True
        try:
            yield
        finally:
            self._is_under_way = False

    async def until(self, timeout: float | None, take: Callable[[], list[T]]) -> list[T]:
        """What `take` returns, as soon as that is something; else, when the time is over, nothing.

        Raises what keeps the consumer from reading, and WakeupError.
        """
        end_ms = None if timeout is None else self._driver.now_ms + int(seconds_of(timeout) * 1000)
        is_first = True
        while True:
            check_open(self._driver)
            self._begin_round()
            await self._rebalancing.carry_out(self._max_poll_interval_ms)
            self._commits.commit_in_time()
            self._driver.pump()
            for failure in self._core.fetcher.take_failures():
                _log.info("%s", failure)
            if is_first:
                await asyncio.sleep(0)  # the network runs, also when records are here already
                is_first = False
            error = self._core.take_error()
            if error is not None:
                raise error
            found = [] if self._core.change() is not None else take()
            if found:
                return found
            if await self._ahead.decoded():
                continue
            left_ms = None if end_ms is None else end_ms - self._driver.now_ms
            if left_ms is not None and left_ms <= 0:
                return []
            if self._core.change() is not None:
                continue
            if self._core.fetcher.has_data:  # there is more work to do before the next record
                await asyncio.sleep(0)
            else:
                await self._driver.changed(left_ms)

    def wake(self) -> None:
        """End the poll that waits, or else the next one, with WakeupError."""
        self._is_woken = True
        self._driver.pump()

    def why(self) -> list[Why]:
        """That a member of a group has not polled for `max.poll.interval.ms`."""
        idle_ms = self._driver.now_ms - self._polled_at_ms
        if self._is_under_way or not self._core.group or idle_ms < self._max_poll_interval_ms:
            return []
        said = f"poll has not been called for {idle_ms / 1000:.0f} s"
        return [Why(Cause.POLL_NOT_CALLED, said, {"ms": idle_ms})]

    def _begin_round(self) -> None:
        """Note that the application polls. Raises WakeupError."""
        self._core.polled(self._driver.now_ms)
        self._polled_at_ms = self._driver.now_ms
        self._polls_again_s = self._driver.loop.time() + POLLS_AGAIN_MS / 1000
        if self._is_woken:
            self._is_woken = False
            raise WakeupError("wakeup() was called")


def check_open(driver: Driver, *, only_looks: bool = False) -> None:
    """Raises Misuse where the consumer of this driver must not be used, ApiError after its close."""
    driver.home.check("this consumer", only_looks=only_looks)
    if driver.is_closed:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the consumer is closed")
