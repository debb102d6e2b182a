"""A consumer's commits: those of the application, and those that the consumer makes by itself.

With `enable.auto.commit` the positions behind what the application has are committed every
`auto.commit.interval.ms`, before partitions are given back, and at the end. Such a commit may fail: it is
logged, and the next one covers it.

Invariants: commits are sent one after another, in the order in which they were begun, so that one that is
tried again never takes back a later one. Of its own commits in time, one is under way; positions that are
committed already are left out.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.aio.arguments import committable
from odradek.client.aio.driver import Driver
from odradek.client.aio.handed_out import HandedOut
from odradek.client.aio.interceptors import ConsumerInterceptor, tell_committed
from odradek.client.aio.operation_runs import OperationRuns
from odradek.client.aio.turns import Turn, Turns
from odradek.client.core.consumer.consumer_core import ConsumerCore
from odradek.client.core.consumer.offset_operations import commit_offsets
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.sampled import Sampled, average_and_maximum

CommitCallback: TypeAlias = Callable[[Mapping[TopicPartition, OffsetAndMetadata], ApiError | None], None]
"""What is told how a commit has ended: the offsets, and the error if they are not committed."""

Offsets: TypeAlias = Mapping[TopicPartition, int | OffsetAndMetadata]
"""What an application commits."""

_log: Final = logging.getLogger("odradek.consumer")


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """The settings of commits."""

    is_automatic: bool
    """`enable.auto.commit`, where there is a group."""
    interval_ms: int
    """`auto.commit.interval.ms`."""
    timeout_s: float
    """How long a commit of the consumer's own may take: `default.api.timeout.ms`."""


class Committing:
    """See the module; used on the thread of the loop."""

    def __init__(
        self,
        driver: Driver,
        runs: OperationRuns,
        core: ConsumerCore,
        handed_out: HandedOut,
        interceptors: Sequence[ConsumerInterceptor],
        options: CommitOptions,
    ) -> None:
        self._driver = driver
        self._runs = runs
        self._core = core
        self._handed_out = handed_out
        self._interceptors = interceptors
        self._options = options
        # When the next commit of its own is due.
        self._next_ms = driver.now_ms + options.interval_ms
        # The commits that are not waited for: that in time, and all of them.
        self._in_time: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        # What was committed last, to leave out what has not changed.
        self._committed: dict[TopicPartition, int] = {}
        # How many commits succeeded, and in what time.
        self._commits = 0
        self._latencies = Sampled(driver.sampling)

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        """What was committed last of the partitions that it still has."""
        return self._committed

    def figures(self) -> dict[str, float]:
        """Its metrics, by Kafka's names (`client.metrics`)."""
        now_ms = self._driver.now_ms
        return {
            "commit-total": self._commits,
            "commit-rate": self._latencies.count_per_second(now_ms),
            **average_and_maximum("commit-latency", self._latencies, now_ms),
        }

    async def commit(self, offsets: Offsets | None, timeout_s: float) -> None:
        """Commit these offsets, or those behind what was read, after the commits before. Raises ApiError."""
        chosen = self._chosen(offsets)  # before the turn: what is refused takes none
        await self._commit(self._turns.join(), chosen, timeout_s)

    def begin(self, offsets: Offsets | None, timeout_s: float, callback: CommitCallback | None) -> None:
        """Begin a commit of the application's, and tell `callback` how it has ended; else log its error."""
        chosen = self._chosen(offsets)
        task = self._run(self._commit(self._turns.join(), chosen, timeout_s))
        task.add_done_callback(partial(_tell, callback, chosen))

    def commit_in_time(self) -> None:
        """Begin the regular commit when it is due; it is not waited for."""
        now_ms = self._driver.now_ms
        if not self._options.is_automatic or now_ms < self._next_ms:
            return
        if self._in_time is not None and not self._in_time.done():
            return
        self._next_ms = now_ms + self._options.interval_ms
        self._in_time = self._begin(self._changed())

    def begin_for(self, partitions: frozenset[TopicPartition]) -> None:
        """Begin to commit what was read of partitions that are not read any more."""
        if self._options.is_automatic:
            self._begin(self._changed_of(partitions))

    async def commit_for(self, partitions: frozenset[TopicPartition]) -> None:
        """Before partitions are given back, commit what was read of them."""
        if self._options.is_automatic:
            await self._quietly(self._turns.join(), self._changed_of(partitions))

    async def finish(self) -> None:
        """Wait for what was begun."""
        if self._running:
            await asyncio.wait(self._running)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are gone: what others commit of them is not known."""
        for one in partitions:
            self._committed.pop(one, None)

    async def close(self) -> None:
        """Cancel what was begun; those that it tells are told."""
        for task in self._running:
            task.cancel()
        await self.finish()

    # --- helpers

    def _chosen(self, offsets: Offsets | None) -> Mapping[TopicPartition, OffsetAndMetadata]:
        if offsets is None:
            return self._handed_out.positions()
        return committable(offsets)

    def _changed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        positions = self._handed_out.positions()
        return {one: at for one, at in positions.items() if self._committed.get(one) != at.offset}

    def _changed_of(self, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        return {one: at for one, at in self._changed().items() if one in partitions}

    def _begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> asyncio.Task[None] | None:
        return self._run(self._quietly(self._turns.join(), offsets)) if offsets else None

    def _run(self, commit: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(commit)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _commit(
        self, turn: Turn, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_s: float
    ) -> None:
        begun_ms = self._driver.now_ms
        try:
            await _come(turn, timeout_s)
            if not offsets:
                return
            left_ms = int(timeout_s * 1000) - (self._driver.now_ms - begun_ms)
            operation = commit_offsets(self._core.identity, self._core.subscription.states, offsets)
            await self._runs.run(operation, "commit", max(0, left_ms))
        finally:
            self._turns.end(turn)
        now_ms = self._driver.now_ms
        self._commits += 1
        self._latencies.add(now_ms - begun_ms, now_ms)
        self._committed.update({one: at.offset for one, at in offsets.items()})
        tell_committed(self._interceptors, offsets)

    async def _quietly(self, turn: Turn, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        try:
            await self._commit(turn, offsets, self._options.timeout_s)
        except OdradekError as error:
            _log.warning("an automatic commit failed: %s", error)


async def _come(turn: Turn, timeout_s: float) -> None:
    if turn.done():
        return
    try:
        async with asyncio.timeout(timeout_s):
            await turn
    except TimeoutError:
        said = f"an earlier commit of this consumer has got no answer within {timeout_s:g} s"
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, said) from None


def _tell(
    callback: CommitCallback | None,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    task: asyncio.Task[None],
) -> None:
    """Tell how the commit of a task has ended."""
    if task.cancelled():
        said = "the consumer was closed before the commit was answered"
        error: BaseException | None = ApiError(ErrorCode.REQUEST_TIMED_OUT, said)
    else:
        error = task.exception()
    if error is not None and not isinstance(error, ApiError):
        raise error
    if callback is None:
        if error is not None:
            _log.warning("a commit failed: %s", error)
        return
    try:
        callback(offsets, error)
    except Exception:
        _log.exception("the callback of a commit failed")
