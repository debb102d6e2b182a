"""Runs operations of an administrator on the running loop, with a driver of their own.

    operations = Operations(settings)
    await operations.carry_out(describe_topics(["flights"]))

An operation goes on while brokers are away, coordinators move and leaders are elected, at most for the time
of its call, else for `default.api.timeout.ms`, and then raises what kept it. Cancelling it leaves the client
usable; a change that was sent may then be carried out all the same.

This module imports no operation, so that whoever needs only a few of them loads no others: `Admin` has them
all as methods.
"""

import asyncio
from typing import Self, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.driver import Driver
from odradek.client.aio.operation_runs import OperationRuns
from odradek.client.aio.options import driver_options
from odradek.client.aio.reaching import first_answer
from odradek.client.core.operation import Operation
from odradek.client.core.requests import Send, ToAny
from odradek.client.core.waiting import Cause, Why
from odradek.client.metrics import Metrics
from odradek.client.settings import (
    CLIENT_ID,
    DEFAULT_API_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
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
        self._runs: OperationRuns | None = None
        self._is_closed = False

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""
        self._check_home(only_looks=True)
        figures = {} if self._runs is None else self._runs.driver.figures()
        return Metrics("admin_client", self._settings[CLIENT_ID], figures)

    def why(self) -> list[Why]:
        """What the operations under way wait for, the worst cause first; empty if there are none."""
        self._check_home(only_looks=True)
        if self._is_closed:
            return [Why(Cause.CLOSED, "the admin client was closed")]
        return [] if self._runs is None else self._runs.why()

    async def close(self) -> None:
        """Close all connections; operations under way fail. Closing it again does nothing."""
        if self._runs is not None and not self._runs.driver.home.is_forked:
            self._check_home()
        self._is_closed = True
        if self._runs is not None:
            self._runs.driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def reach(self) -> None:
        """Ask the bootstrap servers, one after another, until one answers.

        Raises ConnectionFailed, with what each of them lacks, if none does; other operations wait for them.
        """
        driver = self._running().driver
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        timeout_ms = self._settings[REQUEST_TIMEOUT_MS]
        await first_answer(driver, lambda: Send(ToAny(), request, timeout_ms=timeout_ms))

    async def carry_out(
        self, operation: Operation[T], name: str | None = None, *, timeout: float | None = None
    ) -> T:
        """Carry out an operation; returns its result.

        `name` is what `why` calls it, `timeout` how many seconds it may take; None: `default.api.timeout.ms`.
        """
        timeout_ms = self._settings[DEFAULT_API_TIMEOUT_MS] if timeout is None else int(timeout * 1000)
        return await self._running().run(
            operation, name or str(getattr(operation, "__name__", "it")), timeout_ms
        )

    def _check_home(self, *, only_looks: bool = False) -> None:
        if self._runs is not None:
            self._runs.driver.home.check("this admin client", only_looks=only_looks)

    def _running(self) -> OperationRuns:
        self._check_home()
        if self._is_closed:
            raise ApiError(ErrorCode.INVALID_REQUEST, "this admin client was closed")
        if self._runs is None:
            driver = Driver(driver_options(self._settings), asyncio.get_running_loop())
            self._runs = OperationRuns(driver, self._settings, tries_again=self._tries_again)
        return self._runs
