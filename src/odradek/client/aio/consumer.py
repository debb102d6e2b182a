"""The asyncio consumer: a thin shell around `ConsumerCore`, run by a `Driver`.

    async with Consumer("orders", bootstrap_servers="127.0.0.1:9092", group_id="billing") as consumer:
        async for record in consumer:
            ...

Invariants: nothing is awaited between the moment when records leave the core and the moment when the
application has them, so cancelling an await loses none. One coroutine polls at a time (C1). Heartbeats are
sent while the application awaits anything at all.
"""

import asyncio
import inspect
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError, WakeupError
from odradek.base.ids import TopicPartition
from odradek.client import settings as known
from odradek.client.aio.consumer_settings import consumer_options
from odradek.client.aio.driver import Driver
from odradek.client.aio.offset_queries import OffsetAndTimestamp, OffsetQueries
from odradek.client.aio.options import driver_options
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.consumer.commits import OffsetAndMetadata
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.consumer_core import Change, ConsumerCore, Step
from odradek.client.core.consumer.deserializing import Deserializer, converter
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.consumer.positions import EARLIEST, LATEST
from odradek.client.core.waiting import Cause, Why
from odradek.client.settings import Client, read_settings

if TYPE_CHECKING:
    import ssl

_log: Final = logging.getLogger("odradek.consumer")


class ConsumerInterceptor(Protocol):
    """Sees what passes; what it raises is logged."""

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """The records that the application gets instead of these."""

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were committed."""


class Consumer:
    """See the module. Made and used within a running loop."""

    def __init__(
        self,
        *topics: str,
        settings: Mapping[str, object] | None = None,
        listener: RebalanceListener | None = None,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
        ssl_context: "ssl.SSLContext | None" = None,
        token_provider: Callable[[], str] | None = None,
        **more_settings: object,
    ) -> None:
        """Settings have Kafka's names in `settings`, or Python's as arguments. Raises SettingError."""
        given = {**(settings or {}), **more_settings}
        read = read_settings(Client.CONSUMER, given, ssl_context=ssl_context, token_provider=token_provider)
        options = consumer_options(read)
        self._loop = asyncio.get_running_loop()
        reach = driver_options(read, allow_auto_create_topics=read[known.ALLOW_AUTO_CREATE_TOPICS])
        self._driver = Driver(reach, self._loop)
        self._core = ConsumerCore(self._driver.view, self._driver.routing, self._driver.chance, options)
        self._queries = OffsetQueries(
            self._driver,
            self._core.identity,
            self._core.subscription,
            is_committed_only=options.fetch.is_committed_only,
            request_timeout_ms=options.request_timeout_ms,
        )
        self._is_committed_only = options.fetch.is_committed_only
        self._listener = listener or RebalanceListener()
        self._convert = converter(key_deserializer, value_deserializer)
        self._interceptors = interceptors
        self._max_poll_records = read[known.MAX_POLL_RECORDS]
        self._max_poll_interval_ms = read[known.MAX_POLL_INTERVAL_MS]
        self._api_timeout_s = read[known.DEFAULT_API_TIMEOUT_MS] / 1000
        self._commits_itself = read[known.ENABLE_AUTO_COMMIT] and bool(self._core.group)
        self._auto_commit_ms = read[known.AUTO_COMMIT_INTERVAL_MS]
        # When the next commit of its own is due, and the running one.
        self._next_commit_ms = self._driver.now_ms + self._auto_commit_ms
        self._committing: asyncio.Task[None] | None = None
        # What was committed last, to leave out what has not changed.
        self._committed: dict[TopicPartition, int] = {}
        # Records that iteration took from the core and the application does not have yet.
        self._pending: deque[ConsumerRecord] = deque()
        self._is_polling = False
        # Whether the poll that waits, or the next one, is to end with WakeupError.
        self._is_woken = False
        self._polled_at_ms = self._driver.now_ms
        self._driver.run(self._core)
        if topics:
            self.subscribe(topics)

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose whole name matches `pattern`, with the group's other members."""
        self._check_open()
        if isinstance(topics, str):
            raise TypeError("topics is a list of names, not one text")
        names = list(topics)
        if bool(names) == (pattern is not None):
            raise ValueError("subscribe to topics, or to a pattern")
        if not self._core.group:
            raise ApiError(
                ErrorCode.INVALID_GROUP_ID, "subscribing needs the setting group.id; else assign()"
            )
        if pattern is None:
            self._core.subscription.subscribe(names)
        else:
            self._core.subscription.subscribe_pattern(re.compile(pattern))
        if listener is not None:
            self._listener = listener
        self._core.follow_subscription()
        self._driver.pump()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions; no group assigns them, but a group may still hold the committed offsets."""
        self._check_open()
        chosen = {TopicPartition(*one) for one in partitions}
        self._give_back(self.assignment() - chosen)
        self._core.subscription.assign(chosen)
        self._driver.pump()

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        self._check_open()
        self._pending.clear()
        self._core.unsubscribe()
        self._driver.pump()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this consumer reads now."""
        return frozenset(self._core.subscription.states)

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to; with a pattern those that match now."""
        return self._core.subscription.topics

    # --- records

    async def poll(
        self, timeout: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """Up to `max.poll.records` records, as soon as there are any; none when the time is over.

        Calls the rebalance listener. Raises what keeps the consumer from reading. With no timeout (None) it
        waits as long as it takes.
        """
        self._begin_poll()
        try:
            if self._pending:
                self._has_polled()
                return self._take_pending(max_records or self._max_poll_records)
            return await self._poll(timeout, max_records or self._max_poll_records)
        finally:
            self._is_polling = False

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Each record, forever. What is committed is the position behind the record that you have."""
        while True:
            while self._pending:
                self._check_open()
                yield self._pending.popleft()
            self._begin_poll()
            try:
                self._pending.extend(await self._poll(None, self._max_poll_records))
            finally:
                self._is_polling = False

    async def _poll(self, timeout: float | None, count: int) -> list[ConsumerRecord]:
        """C1: at least one round, then until records or the end of the time; C2: see `_take`."""
        end_ms = None if timeout is None else self._driver.now_ms + int(timeout * 1000)
        is_first = True
        while True:
            self._check_open()
            self._has_polled()
            await self._rebalance()
            self._commit_in_time()
            self._driver.pump()
            if is_first:
                await asyncio.sleep(0)  # the network runs, also when records are here already
                is_first = False
            error = self._core.take_error()
            if error is not None:
                raise error
            records = self._take(count)
            if records:
                return records
            if await self._decompressed():
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

    async def _decompressed(self) -> bool:
        """Have a large batch decompressed, if one is next; on another thread, which loses nothing."""
        away = self._core.fetcher.away
        if away is None:
            return False
        try:
            away.of.has(away, await self._loop.run_in_executor(None, away.call))
        except OdradekError as fault:
            away.of.has(away, fault)
        return True

    def _has_polled(self) -> None:
        """Note that the application polls. Raises WakeupError, before any record leaves the core."""
        self._core.polled(self._driver.now_ms)
        self._polled_at_ms = self._driver.now_ms
        if self._is_woken:
            self._is_woken = False
            raise WakeupError("wakeup() was called")

    def wakeup(self) -> None:
        """End the poll that waits, or else the next one, with WakeupError; no record is lost by it."""
        self._is_woken = True
        self._driver.pump()

    def put_back(self, records: Iterable[ConsumerRecord]) -> None:
        """Undo that the last poll returned these, its last ones: the next poll returns them first."""
        self._pending.extendleft(reversed(list(records)))

    def _take(self, count: int) -> list[ConsumerRecord]:
        """Records, if there are any; the next fetches are sent before they are returned (C2)."""
        if self._core.change() is not None:
            return []
        records = self._core.take(count, self._convert)
        self._driver.pump()
        for one in self._interceptors if records else ():
            try:
                records = one.on_consume(records)
            except Exception:
                _log.exception("an interceptor failed; its records are passed on as they were")
        return records

    def _take_pending(self, count: int) -> list[ConsumerRecord]:
        return [self._pending.popleft() for _ in range(min(count, len(self._pending)))]

    # --- rebalances

    async def _rebalance(self) -> None:
        """Tell the listener, step by step; heartbeats go on meanwhile."""
        if self._core.has_overslept:
            self._core.has_overslept = False
            _log.warning(
                "poll was not called for max.poll.interval.ms (%d ms): the member of group %s joins again",
                self._max_poll_interval_ms,
                self._core.group,
            )
        while (step := self._core.change()) is not None:
            await self._tell(step)
            self._core.carried_out(step)
            # This poll goes on: a member that has left joins again now, since nothing else may wake the poll.
            self._core.polled(self._driver.now_ms)
            self._driver.pump()

    async def _tell(self, step: Step) -> None:
        self._give_back(step.partitions)
        told: Awaitable[None] | None
        match step.change:
            case Change.REVOKED:
                await self._commit_before(step.partitions)
                told = self._listener.on_partitions_revoked(step.partitions)
            case Change.LOST:
                told = self._listener.on_partitions_lost(step.partitions) if step.partitions else None
            case _:
                told = self._listener.on_partitions_assigned(step.partitions)
        if inspect.isawaitable(told):
            await told
        if step.change is not Change.ASSIGNED:
            for one in step.partitions:
                self._committed.pop(one, None)

    def _give_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo that iteration has taken records of these partitions which the application does not have."""
        gone = set(partitions)
        if not self._pending or not gone:
            return
        for record in reversed(self._pending):
            one = TopicPartition(record.topic, record.partition)
            if one in gone and one in self._core.subscription.states:
                self._core.subscription.states[one].offset = record.offset
        kept = [one for one in self._pending if TopicPartition(one.topic, one.partition) not in gone]
        self._pending = deque(kept)

    # --- commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit these offsets, or the positions behind all records returned. Raises ApiError."""
        self._check_open()
        self._check_group()
        if offsets is None:
            chosen = self._positions()
        else:
            chosen = {
                TopicPartition(*one): at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at)
                for one, at in offsets.items()
            }
        await self._commit(chosen, self._timeout(timeout))

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_s: float) -> None:
        if not offsets:
            return
        await self._queries.commit(offsets, timeout_s)
        self._committed.update({one: at.offset for one, at in offsets.items()})
        for interceptor in self._interceptors:
            try:
                interceptor.on_commit(offsets)
            except Exception:
                _log.exception("an interceptor failed")

    def _positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions behind what the application has."""
        found = {
            one: OffsetAndMetadata(offset, leader_epoch=epoch)
            for one, (offset, epoch) in self._core.subscription.positions().items()
        }
        for record in reversed(self._pending):
            found[TopicPartition(record.topic, record.partition)] = OffsetAndMetadata(record.offset)
        return found

    def _changed_positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {one: at for one, at in self._positions().items() if self._committed.get(one) != at.offset}

    def _commit_in_time(self) -> None:
        """Begin the regular commit when it is due; it is not waited for."""
        now_ms = self._driver.now_ms
        if not self._commits_itself or now_ms < self._next_commit_ms:
            return
        if self._committing is not None and not self._committing.done():
            return
        self._next_commit_ms = now_ms + self._auto_commit_ms
        offsets = self._changed_positions()
        if offsets:
            self._committing = self._loop.create_task(self._commit_quietly(offsets, self._api_timeout_s))

    async def _commit_before(self, partitions: frozenset[TopicPartition]) -> None:
        """Before partitions are given back, commit what was read of them."""
        if self._commits_itself:
            offsets = {one: at for one, at in self._changed_positions().items() if one in partitions}
            await self._commit_quietly(offsets, self._api_timeout_s)

    async def _commit_quietly(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_s: float
    ) -> None:
        try:
            await self._commit(offsets, timeout_s)
        except OdradekError as error:
            _log.warning("an automatic commit failed: %s", error)

    async def committed(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offsets; None where there is none."""
        self._check_open()
        self._check_group()
        return await self._queries.committed(
            [TopicPartition(*one) for one in partitions], self._timeout(timeout)
        )

    # --- positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read this partition from this offset on."""
        chosen = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        if chosen.offset < 0:
            raise ValueError(f"an offset is at least 0, not {chosen.offset}")
        (state,) = self._states([partition])
        self._give_back([TopicPartition(*partition)])
        state.seek(chosen.offset, chosen.leader_epoch)
        self._driver.pump()

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Read these, or all assigned partitions, from their first offset on."""
        self._reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Read these, or all assigned partitions, from their end on."""
        self._reset(partitions, LATEST)

    def _reset(self, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        chosen = list(partitions) or list(self.assignment())
        states = self._states(chosen)
        self._give_back(TopicPartition(*one) for one in chosen)
        for state in states:
            state.reset(timestamp)
        self._driver.pump()

    async def position(self, partition: TopicPartition, *, timeout: float | None = None) -> int:
        """The offset of the next record that the application gets; waits until it is known."""
        one = TopicPartition(*partition)
        (state,) = self._states([one])
        timeout_s = self._timeout(timeout)

        def is_known() -> bool:
            error = self._core.take_error()
            if error is not None:
                raise error
            return state.reset_timestamp is None and state.offset >= 0

        await self._queries.until(is_known, timeout_s, f"the position of {one} was not found")
        return self._positions()[one].offset if one in self._core.subscription.states else state.offset

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these until `resume`; what is here already is kept."""
        chosen = [TopicPartition(*one) for one in partitions]
        states = self._states(chosen)
        self._give_back(chosen)
        for state in states:
            state.is_paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these again."""
        for state in self._states(partitions):
            state.is_paused = False
        self._driver.pump()

    def paused(self) -> frozenset[TopicPartition]:
        """The paused partitions."""
        return frozenset(one for one, state in self._core.subscription.states.items() if state.is_paused)

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets lie between the position and the end of what may be read; None while unknown."""
        one = TopicPartition(*partition)
        (state,) = self._states([one])
        end = state.end(is_committed_only=self._is_committed_only)
        position = self._positions().get(one)
        return None if position is None or end < 0 else max(0, end - position.offset)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition that is not older than a timestamp (ms); None: there is none."""
        self._check_open()
        if any(timestamp < 0 for timestamp in timestamps.values()):
            raise ValueError("a timestamp is a number of milliseconds since 1970")
        asked = {TopicPartition(*one): timestamp for one, timestamp in timestamps.items()}
        return await self._queries.find(asked, self._timeout(timeout))

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._ends(partitions, EARLIEST, timeout)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset behind the last record that may be read of each partition."""
        return await self._ends(partitions, LATEST, timeout)

    async def _ends(
        self, partitions: Iterable[TopicPartition], timestamp: int, timeout: float | None
    ) -> dict[TopicPartition, int]:
        self._check_open()
        asked = {TopicPartition(*one): timestamp for one in partitions}
        found = await self._queries.find(asked, self._timeout(timeout))
        return {one: at.offset for one, at in found.items() if at is not None}

    # --- what it waits for, and the end

    def why(self) -> list[Why]:
        """What keeps `poll` from returning records, the most important cause first."""
        if self._driver.is_closed:
            return [Why(Cause.CLOSED, "the consumer is closed")]
        causes = self._core.why(self._driver.now_ms)
        idle_ms = self._driver.now_ms - self._polled_at_ms
        if not self._is_polling and self._core.group and idle_ms >= self._max_poll_interval_ms:
            said = f"poll has not been called for {idle_ms / 1000:.0f} s"
            causes.insert(0, Why(Cause.POLL_NOT_CALLED, said, {"ms": idle_ms}))
        return causes

    async def close(self, *, timeout: float = 30.0) -> None:
        """Commit, if the consumer commits by itself, leave the group, and close the connections in time."""
        if self._driver.is_closed:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._say_goodbye()
        except TimeoutError:
            _log.warning("the group was not left within %g s; its session ends later", timeout)
        finally:
            if self._committing is not None:
                self._committing.cancel()
            self._pending.clear()
            self._driver.close()

    async def _say_goodbye(self) -> None:
        states = frozenset(self._core.subscription.states)
        if self._commits_itself and states:
            await self._commit_quietly(self._changed_positions(), self._api_timeout_s)
        member = self._core.member
        if self._core.subscription.is_by_group and states:
            told = self._listener.on_partitions_revoked(states)
            if inspect.isawaitable(told):
                await told
        self._core.unsubscribe()
        self._driver.pump()
        while member is not None and not member.has_left:
            await self._driver.changed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- helpers

    def _begin_poll(self) -> None:
        self._check_open()
        if self._is_polling:
            raise RuntimeError("another coroutine polls this consumer already")
        if self._core.subscription.is_none:
            raise ApiError(ErrorCode.INVALID_REQUEST, "subscribe to topics or assign partitions first")
        self._is_polling = True

    def _check_open(self) -> None:
        if self._driver.is_closed:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the consumer is closed")

    def _check_group(self) -> None:
        if not self._core.group:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "committed offsets need the setting group.id")

    def _states(self, partitions: Iterable[TopicPartition]) -> list[PartitionState]:
        self._check_open()
        return [self._core.subscription.state(TopicPartition(*one)) for one in partitions]

    def _timeout(self, timeout: float | None) -> float:
        return self._api_timeout_s if timeout is None else timeout
