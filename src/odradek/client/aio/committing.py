"""A consumer's commits: those of the application, and those that the consumer makes by itself.

With `enable.auto.commit` the positions behind what the application has are committed every
`auto.commit.interval.ms`, before partitions are given back, and at the end. Such a commit may fail: it is
logged, and the next one covers it.

Invariant: of its own commits in time, one is under way; positions that are committed already are left out.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.aio.driver import Driver
from odradek.client.aio.handed_out import HandedOut
from odradek.client.aio.interceptors import ConsumerInterceptor, tell_committed
from odradek.client.aio.offset_queries import OffsetQueries
from odradek.client.core.consumer.commits import OffsetAndMetadata
from odradek.client.sampled import Sampled, average_and_maximum

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
        queries: OffsetQueries,
        handed_out: HandedOut,
        interceptors: Sequence[ConsumerInterceptor],
        options: CommitOptions,
    ) -> None:
        self._driver = driver
        self._queries = queries
        self._handed_out = handed_out
        self._interceptors = interceptors
        self._options = options
        # When the next commit of its own is due.
        self._next_ms = driver.now_ms + options.interval_ms
        # The commits that are not waited for: that in time, and all of them.
        self._in_time: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
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

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_s: float) -> None:
        """Commit these offsets. Raises ApiError."""
        if not offsets:
            return
        begun_ms = self._driver.now_ms
        await self._queries.commit(offsets, timeout_s)
        now_ms = self._driver.now_ms
        self._commits += 1
        self._latencies.add(now_ms - begun_ms, now_ms)
        self._committed.update({one: at.offset for one, at in offsets.items()})
        tell_committed(self._interceptors, offsets)

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
            self._begin({one: at for one, at in self._changed().items() if one in partitions})

    async def commit_for(self, partitions: frozenset[TopicPartition]) -> None:
        """Before partitions are given back, commit what was read of them."""
        if self._options.is_automatic:
            await self._quietly({one: at for one, at in self._changed().items() if one in partitions})

    async def finish(self) -> None:
        """Wait for what was begun."""
        if self._running:
            await asyncio.wait(self._running)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are gone: what others commit of them is not known."""
        for one in partitions:
            self._committed.pop(one, None)

    def close(self) -> None:
        """Cancel what was begun."""
        for task in self._running:
            task.cancel()

    # --- helpers

    def _changed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        positions = self._handed_out.positions()
        return {one: at for one, at in positions.items() if self._committed.get(one) != at.offset}

    def _begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> asyncio.Task[None] | None:
        if not offsets:
            return None
        task = asyncio.get_running_loop().create_task(self._quietly(offsets))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _quietly(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        try:
            await self.commit(offsets, self._options.timeout_s)
        except OdradekError as error:
            _log.warning("an automatic commit failed: %s", error)
