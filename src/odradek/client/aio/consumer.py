"""The asyncio consumer: a thin shell around `ConsumerCore`, run by a `Driver`.

    async with Consumer("orders", bootstrap_servers="127.0.0.1:9092", group_id="billing") as consumer:
        async for record in consumer:
            ...

Jobs of their own: `Polling` (C1), `Committing`, `HandedOut` (what the application has), `Rebalancing` (the
listener).

Invariants: nothing is awaited between the moment when records leave the core and the moment when the
application has them, so cancelling an await loses none. Heartbeats are sent while the application awaits
anything at all.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, Unpack

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client import settings as known
from odradek.client.aio.arguments import (
    check_listener,
    check_names,
    count_of,
    names_of,
    partition_of,
    partitions_of,
    pattern_of,
    position_of,
    seconds_of,
    timestamps_of,
)
from odradek.client.aio.columns import BATCH_RECORDS, check_plain, first_of, joined
from odradek.client.aio.committing import CommitCallback, CommitOptions, Committing, Offsets
from odradek.client.aio.consumer_settings import consumer_options
from odradek.client.aio.decode_ahead import DecodeAhead
from odradek.client.aio.driver import Driver
from odradek.client.aio.handed_out import HandedOut
from odradek.client.aio.home import loop_of
from odradek.client.aio.interceptors import ConsumerInterceptor, intercepted
from odradek.client.aio.operation_runs import OperationRuns
from odradek.client.aio.options import driver_options
from odradek.client.aio.polling import Polling, check_open
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.aio.rebalancing import Rebalancing
from odradek.client.aio.topic_look import partition_count
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.consumer_core import ConsumerCore
from odradek.client.core.consumer.deserializing import converter
from odradek.client.core.consumer.fetcher import Piece
from odradek.client.core.consumer.offset_operations import (
    OffsetAndTimestamp,
    committed_offsets,
    offsets_for_times,
)
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.membership.member import Membership
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.operation import Operation
from odradek.client.core.topic_partitions import partition_numbers
from odradek.client.core.waiting import Cause, Why
from odradek.client.key_value_types import K, V
from odradek.client.metrics import Metrics
from odradek.client.setting_types import ConsumerSettings
from odradek.client.settings import Client, read_settings

if TYPE_CHECKING:
    import ssl

    import pyarrow as pa

_log: Final = logging.getLogger("odradek.consumer")

T = TypeVar("T")


class Consumer(Generic[K, V]):
    """See the module. Made and used within a running loop."""

    def __init__(
        self,
        *topics: str,
        settings: Mapping[str, object] | None = None,
        listener: RebalanceListener | None = None,
        key_deserializer: Callable[[bytes], K] | None = None,
        value_deserializer: Callable[[bytes], V] | None = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
        ssl_context: "ssl.SSLContext | None" = None,
        token_provider: Callable[[], str] | None = None,
        **more_settings: Unpack[ConsumerSettings],
    ) -> None:
        """Settings have Kafka's names in `settings`, or Python's as arguments. Raises SettingError."""
        check_names(topics)
        check_listener(listener)
        given = {**(settings or {}), **more_settings}
        read = read_settings(Client.CONSUMER, given, ssl_context=ssl_context, token_provider=token_provider)
        self._options = options = consumer_options(read)
        reach = driver_options(read, allow_auto_create_topics=read[known.ALLOW_AUTO_CREATE_TOPICS])
        self._client_id = reach.client_id
        self._driver = driver = Driver(reach, loop_of("a consumer"))
        self._core = ConsumerCore(driver.view, driver.routing, driver.chance, driver.clock, options)
        self._runs = OperationRuns(driver, read)
        self._convert = converter(key_deserializer, value_deserializer)
        self._interceptors = interceptors
        self._max_poll_records = read[known.MAX_POLL_RECORDS]
        self._api_timeout_s = read[known.DEFAULT_API_TIMEOUT_MS] / 1000
        self._handed_out = HandedOut(self._core.subscription)
        is_automatic = read[known.ENABLE_AUTO_COMMIT] and bool(self._core.group)
        commits = CommitOptions(is_automatic, read[known.AUTO_COMMIT_INTERVAL_MS], self._api_timeout_s)
        self._commits = Committing(
            self._driver, self._runs, self._core, self._handed_out, interceptors, commits
        )
        self._rebalancing = Rebalancing(
            self._driver, self._core, self._commits, self._handed_out, listener or RebalanceListener()
        )
        ahead = DecodeAhead(self._core.fetcher, self._driver)
        self._polling = Polling(
            self._driver,
            self._core,
            ahead,
            self._commits,
            self._rebalancing,
            max_poll_interval_ms=read[known.MAX_POLL_INTERVAL_MS],
        )
        self._driver.run(self._core, ahead)
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
        check_open(self._driver)
        names = names_of(topics)
        compiled = None if pattern is None else pattern_of(pattern)
        check_listener(listener)
        if bool(names) == (compiled is not None):
            raise ValueError("subscribe to topics, or to a pattern")
        if not self._core.group:
            raise ApiError(
                ErrorCode.INVALID_GROUP_ID, "subscribing needs the setting group.id; else assign()"
            )
        if compiled is None:
            self._core.subscription.subscribe(names)
        else:
            self._core.subscription.subscribe_pattern(compiled)
        if listener is not None:
            self._rebalancing.listener = listener
        self._core.follow_subscription()
        self._driver.pump()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions; no group assigns them, but a group may still hold the committed offsets."""
        check_open(self._driver)
        chosen = set(partitions_of(partitions))
        gone = self.assignment() - chosen
        self._commits.begin_for(gone)
        self._handed_out.give_back(gone)
        self._core.subscription.assign(chosen)
        self._commits.forget(gone)
        self._driver.pump()

    async def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group.

        Before that it commits, if it commits by itself, and tells the listener what is given back.
        """
        check_open(self._driver)
        try:
            await self._rebalancing.give_up_all()
        finally:
            self._handed_out.clear()
            self._core.unsubscribe()
            self._driver.pump()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this consumer reads now."""
        self._driver.home.check("this consumer", only_looks=True)
        return frozenset(self._core.subscription.states)

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to; with a pattern those that match now."""
        self._driver.home.check("this consumer", only_looks=True)
        return self._core.subscription.topics

    # --- records

    async def poll(
        self, timeout: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord[K, V]]:
        """Up to `max.poll.records` records, as soon as there are any; none when the time is over.

        Calls the rebalance listener. Raises what keeps the consumer from reading. With no timeout (None) it
        waits as long as it takes.
        """
        count = self._max_poll_records if max_records is None else count_of(max_records)
        with self._only_poll():
            records = await self._polling.until(timeout, lambda: self._take(count))
            self._handed_out.last = records
            return records

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        """Each record, forever. What is committed is the position behind the record that you have.

        It polls when its records are used up, and between two records a second after the last poll: so it
        commits, takes part in rebalances and is woken, however long records take.
        """
        handed_out = self._handed_out
        has_just_polled = False
        while True:
            while handed_out.pending and (has_just_polled or not self._polling.is_due):
                check_open(self._driver)
                has_just_polled = False
                record = handed_out.pending.popleft()
                handed_out.last = (record,)
                yield record
            with self._only_poll():
                records = await self._polling.until(None, lambda: self._take(self._max_poll_records))
                handed_out.put_back(records)
                has_just_polled = True

    def stream(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        """Each record, forever, as `async for record in consumer` does."""
        return self.__aiter__()

    async def poll_batch(
        self,
        timeout: float | None = 1.0,
        *,
        max_records: int = BATCH_RECORDS,
        include_headers: bool = False,
    ) -> "pa.RecordBatch | None":
        """Up to `max_records` records as columns, those of Spark's Kafka source; None when the time is over.

        Otherwise as `poll`, but without deserializers, interceptors and `max.poll.records`. Needs pyarrow.
        """
        return joined(await self.poll_pieces(timeout, max_records, include_headers))

    async def poll_pieces(
        self, timeout: float | None, max_records: int, include_headers: bool
    ) -> list[Piece]:
        """`poll_batch` before its pieces are joined."""
        check_plain(is_plain=self._convert is None and not self._interceptors)
        count = count_of(max_records)
        with self._only_poll():
            self._handed_out.give_back(self.assignment())
            pieces = await self._polling.until(
                timeout, lambda: self._take_columns(count, with_headers=include_headers)
            )
            self._handed_out.last = [first_of(piece) for piece in pieces]
            return pieces

    @property
    def handed_out(self) -> HandedOut:
        """What the application has, for a shell that hands records on."""
        return self._handed_out

    def wakeup(self) -> None:
        """End the poll that waits, or else the next one, with WakeupError; no record is lost by it."""
        self._driver.home.check("this consumer")
        self._polling.wake()

    def put_back_unless_committed(self, records: Sequence[ConsumerRecord[Any, Any]]) -> None:
        """The application got these last and has not processed them, except for what it has committed.

        Commits of the consumer's own leave them out.
        """
        self._handed_out.put_back_unless_committed(records, self._commits.committed)

    def _take(self, count: int) -> list[ConsumerRecord[K, V]]:
        """Records, if there are any; the next fetches are sent before they are returned (C2)."""
        if self._handed_out.pending:
            return self._handed_out.take(count)
        records = self._core.take(count, self._convert)
        self._driver.pump()
        return intercepted(self._interceptors, records)

    def _take_columns(self, count: int, *, with_headers: bool) -> list[Piece]:
        """See `_take`."""
        pieces = self._core.fetcher.take_columns(count, with_headers=with_headers)
        self._driver.pump()
        return pieces

    # --- commits

    async def commit(self, offsets: Offsets | None = None, *, timeout: float | None = None) -> None:
        """Commit these offsets, or the positions behind all records returned. Raises ApiError."""
        self._check_group()
        await self._commits.commit(offsets, self._timeout(timeout))

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """Begin a commit, as `commit`, and do not wait for it; commits are sent in the order of the calls.

        `callback(offsets, error)`, which must be short, is told how it has ended, at the latest when the
        consumer is closed. Without one an error is logged. Raises ApiError without a group.
        """
        self._check_group()
        self._commits.begin(offsets, self._api_timeout_s, callback)

    def group_metadata(self) -> GroupMetadata:
        """The group and this member of it, for `Producer.send_offsets_to_transaction`; as they are now.

        Raises ApiError without a group.
        """
        self._check_group(only_looks=True)
        identity = self._core.identity
        return GroupMetadata(identity.group, identity.epoch, identity.member, identity.instance)

    def membership(self) -> Membership | None:
        """As what this consumer is in its group: protocol, strategy, epoch; None before it subscribes."""
        self._check_group()
        return self._core.membership()

    async def committed(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offsets; None where there is none."""
        self._check_group()
        asked = committed_offsets(self._core.identity, partitions_of(partitions))
        return await self._ask(asked, "committed", timeout)

    # --- positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read this partition from this offset on."""
        one = partition_of(partition)
        chosen = position_of(one, offset)
        (state,) = self._states([one])
        self._handed_out.give_back([one])
        state.seek(chosen.offset, chosen.leader_epoch)
        self._driver.pump()

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Read these, or all assigned partitions, from their first offset on."""
        self._reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Read these, or all assigned partitions, from their end on."""
        self._reset(partitions, LATEST)

    def _reset(self, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        chosen = partitions_of(partitions) or list(self.assignment())
        states = self._states(chosen)
        self._handed_out.give_back(chosen)
        for state in states:
            state.reset(timestamp)
        self._driver.pump()

    async def position(self, partition: TopicPartition, *, timeout: float | None = None) -> int:
        """The offset of the next record that the application gets; waits until it is known."""
        one = partition_of(partition)
        (state,) = self._states([one])
        timeout_s = self._timeout(timeout)

        def is_known() -> bool:
            error = self._core.take_error()
            if error is not None:
                raise error
            return state.reset_timestamp is None and state.offset >= 0

        if not await self._driver.until(is_known, int(timeout_s * 1000)):
            said = f"the position of {one} was not found within {timeout_s:g} s"
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, said)
        behind = self._handed_out.positions().get(one)
        return state.offset if behind is None else behind.offset

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these until `resume`; what is here already is kept."""
        chosen = partitions_of(partitions)
        states = self._states(chosen)
        self._handed_out.give_back(chosen)
        for state in states:
            state.is_paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these again."""
        for state in self._states(partitions):
            state.is_paused = False
        self._driver.pump()

    def paused(self) -> frozenset[TopicPartition]:
        """The paused partitions."""
        self._driver.home.check("this consumer", only_looks=True)
        return frozenset(one for one, state in self._core.subscription.states.items() if state.is_paused)

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets lie between the position and the end of what may be read; None while unknown."""
        (state,) = self._states([partition])
        position = self._handed_out.positions().get(partition_of(partition))
        return None if position is None else self._core.lag(state, position.offset)

    async def partition_count(self, topic: str) -> int | None:
        """See `Producer.partition_count`."""
        check_open(self._driver)
        return await partition_count(self._driver, topic, self._options.request_timeout_ms)

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[int]:
        """The partitions of a topic, which is not created. Raises ApiError if there is none of this name."""
        check_open(self._driver)
        check_names([topic])
        return list(await self._ask(partition_numbers(topic), "partitions_for", timeout))

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition that is not older than a timestamp (ms); None: there is none."""
        check_open(self._driver)
        return await self._find(timestamps_of(timestamps), "offsets_for_times", timeout)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._ends(partitions, EARLIEST, "beginning_offsets", timeout)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset behind the last record that may be read of each partition."""
        return await self._ends(partitions, LATEST, "end_offsets", timeout)

    async def _ends(
        self, partitions: Iterable[TopicPartition], timestamp: int, name: str, timeout: float | None
    ) -> dict[TopicPartition, int]:
        check_open(self._driver)
        asked = dict.fromkeys(partitions_of(partitions), timestamp)
        found = await self._find(asked, name, timeout)
        return {one: at.offset for one, at in found.items() if at is not None}

    async def _find(
        self, asked: Mapping[TopicPartition, int], name: str, timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        is_committed_only = self._options.fetch.is_committed_only
        operation = offsets_for_times(self._driver.view, asked, is_committed_only=is_committed_only)
        return await self._ask(operation, name, timeout)

    async def _ask(self, operation: Operation[T], name: str, timeout: float | None) -> T:
        return await self._runs.run(operation, name, int(self._timeout(timeout) * 1000))

    # --- what it waits for, what it has done, and the end

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""
        self._driver.home.check("this consumer", only_looks=True)
        core_figures = self._core.figures(self._driver.now_ms)
        figures = {**self._driver.figures(), **core_figures, **self._commits.figures()}
        figures["records-consumed-total"] -= self._handed_out.withheld
        return Metrics("consumer", self._client_id, figures)

    def why(self) -> list[Why]:
        """What keeps `poll` from returning records, the most important cause first; then of other calls."""
        self._driver.home.check("this consumer", only_looks=True)
        if self._driver.is_closed:
            return [Why(Cause.CLOSED, "the consumer is closed")]
        causes = self._core.why(self._driver.now_ms, self._handed_out.firsts())
        return [*self._polling.why(), *causes, *self._runs.held_up()]

    async def close(self, *, timeout: float = 30.0) -> None:
        """Commit, if the consumer commits by itself, leave the group, and close the connections in time."""
        timeout = seconds_of(timeout)
        if self._driver.is_closed or self._driver.home.is_forked:
            return
        self._driver.home.check("this consumer")
        try:
            async with asyncio.timeout(timeout):
                await self._say_goodbye()
        except TimeoutError:
            _log.warning("the group was not left within %g s; its session ends later", timeout)
        finally:
            self._handed_out.clear()
            self._driver.close()
            await self._commits.close()

    async def _say_goodbye(self) -> None:
        await self._rebalancing.give_up_all()
        await _leave(self._core, self._driver)

    def leaving(self, timeout_s: float) -> Callable[[], Coroutine[Any, Any, None]]:
        """A function that leaves the group in time, without a commit, and closes the connections.

        It does not hold the consumer: it is for a shell of which the application keeps no reference.
        """
        core, driver = self._core, self._driver

        async def leave() -> None:
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await _leave(core, driver)
            finally:
                driver.close()

        return leave

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it.

        After an exception the records that the application got last do not count as processed: commits of the
        consumer's own leave them out.
        """
        if error is not None:
            self.put_back_unless_committed(self._handed_out.last)
        await self.close()

    # --- helpers

    @contextmanager
    def _only_poll(self) -> Iterator[None]:
        check_open(self._driver)
        with self._polling.only():
            if self._core.subscription.is_none:
                raise ApiError(ErrorCode.INVALID_REQUEST, "subscribe to topics or assign partitions first")
            self._handed_out.last = ()
            yield

    def _check_group(self, *, only_looks: bool = False) -> None:
        check_open(self._driver, only_looks=only_looks)
        if not self._core.group:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "committed offsets need the setting group.id")

    def _states(self, partitions: Iterable[TopicPartition]) -> list[PartitionState]:
        check_open(self._driver)
        return [self._core.subscription.state(one) for one in partitions_of(partitions)]

    def _timeout(self, timeout: float | None) -> float:
        return self._api_timeout_s if timeout is None else seconds_of(timeout)


async def _leave(core: ConsumerCore, driver: Driver) -> None:
    core.unsubscribe()
    driver.pump()
    while core.is_leaving:
        await driver.changed()
