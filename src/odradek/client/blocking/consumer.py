"""`odradek.Consumer`: the consumer for programs without asyncio; one thread at a time uses it (C1).

    with Consumer("orders", bootstrap_servers="127.0.0.1:9092", group_id="billing") as consumer:
        for record in consumer:
            ...

It runs `odradek.aio.Consumer` on a thread of its own, so heartbeats and fetches go on while the application
works. Everything of the application's (rebalance listener, deserializers, interceptors, callbacks of commits)
is called on the application's thread, within its calls; only `wakeup` may come from another thread, or from a
signal handler.

Invariants: a record leaves `_pending` only when the application gets it, so what interrupts a call (Ctrl-C,
an exception of a deserializer) loses none (C2). Before any other call what is left there is put back, so
that positions and commits are always those of the application.
"""

import asyncio
import inspect
import logging
import re
import threading
import time
import weakref
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, Unpack

from odradek.base.closing import Closing
from odradek.base.errors import WakeupError
from odradek.base.ids import TopicPartition
from odradek.client.aio import consumer as aio
from odradek.client.aio import polling
from odradek.client.aio.arguments import check_listener, seconds_of
from odradek.client.aio.columns import BATCH_RECORDS, check_plain, first_of, joined
from odradek.client.aio.committing import CommitCallback, Offsets
from odradek.client.aio.handed_out import Refused
from odradek.client.aio.home import Misuse
from odradek.client.aio.interceptors import ConsumerInterceptor, intercepted, tell_committed
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.blocking.calls import Calls
from odradek.client.blocking.network_thread import NetworkThread
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.deserializing import converter
from odradek.client.core.consumer.fetcher import Piece
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.waiting import Cause, Why
from odradek.client.key_value_types import K, V
from odradek.client.setting_types import ConsumerSettings

if TYPE_CHECKING:
    import ssl

    import pyarrow as pa

P = ParamSpec("P")
T = TypeVar("T")

# How long the thread may take to end.
_GRACE_S: Final = 5.0

_log: Final = logging.getLogger("odradek.consumer")


def _blocking(
    method: Callable[Concatenate[aio.Consumer, P], Coroutine[Any, Any, T]],
) -> "Callable[Concatenate[Consumer[Any, Any], P], T]":
    """The blocking form of a coroutine function."""

    @wraps(method)
    def call(self: "Consumer[Any, Any]", /, *arguments: P.args, **named: P.kwargs) -> T:
        return self._run(lambda consumer: method(consumer, *arguments, **named))

    return call


def _at_once(
    method: Callable[Concatenate[aio.Consumer, P], T],
) -> "Callable[Concatenate[Consumer[Any, Any], P], T]":
    """The same method, called on the network thread."""

    @wraps(method)
    def call(self: "Consumer[Any, Any]", /, *arguments: P.args, **named: P.kwargs) -> T:
        async def there(consumer: aio.Consumer) -> T:
            return method(consumer, *arguments, **named)

        return self._run(there)

    return call


class Consumer(Closing, Generic[K, V]):
    """A consumer; see the module.

    It raises ApiError for refusals, and Misuse, a RuntimeError, where it cannot be used: by two threads at
    once, after it was closed, in a forked process.
    """

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
        # Held by the thread that uses the consumer; that thread's listener may use it, too.
        self._use = threading.RLock()
        # Records that the network thread has handed over and the application does not have yet.
        self._pending: deque[ConsumerRecord] = deque()
        # The record that a deserializer refused last, until the network thread knows: `why` names it.
        self._refused: Refused | None = None
        # What interceptors made of one record beyond the first; only iteration fills it.
        self._spare: deque[ConsumerRecord[K, V]] = deque()
        # The same for columns.
        self._pieces: list[Piece] = []
        # What the application got last, before interceptors; and what it certainly has not processed.
        self._last: Sequence[ConsumerRecord] = ()
        self._unprocessed: Sequence[ConsumerRecord] = ()
        # Whether `wakeup` was called and no poll has ended of it yet: iteration may not poll for long.
        self._is_woken = False
        # When the last poll ended that raised nothing, on the monotonic clock.
        self._polled_s = 0.0
        # Whether the application's thread is within poll, so that a listener may be running.
        self._is_polling = False
        # On the network thread: the task of the poll, also of an interrupted one that has not ended yet, and
        # where it has the listener called.
        self._poll_task: asyncio.Task[Any] | None = None
        self._calls = Calls()
        # What is to be called on the application's thread: interceptors and callbacks, each with its commit.
        self._untold: deque[Callable[[], None]] = deque()
        self._convert = converter(key_deserializer, value_deserializer)
        self._interceptors = interceptors

        async def make() -> aio.Consumer:
            return aio.Consumer(
                *topics,
                settings=settings,
                key_deserializer=None,
                value_deserializer=None,
                listener=None if listener is None else _HandedOver(listener, self._call),
                interceptors=[_Keeper(self._tell_committed)] if interceptors else (),
                ssl_context=ssl_context,
                token_provider=token_provider,
                **more_settings,
            )

        self._network = NetworkThread("this consumer")
        try:
            self._consumer = self._network.run(make)
        except BaseException:
            self._network.close(_GRACE_S, _nothing)
            raise
        # Else its thread would go on, and the group would wait for a member that nobody has.
        leaving = self._consumer.leaving(_GRACE_S)
        weakref.finalize(self, self._network.drop, leaving, "odradek.Consumer").atexit = False

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose whole name matches `pattern`, with the group's other members."""
        told = None if listener is None else _HandedOver(listener, self._call)
        self._subscribe(topics, pattern=pattern, listener=told)

    _subscribe = _at_once(aio.Consumer.subscribe)
    assign = _at_once(aio.Consumer.assign)

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group.

        Before that it commits, if it commits by itself, and tells the listener what is given back.
        """
        with self._in_use():
            self._end(aio.Consumer.unsubscribe, "unsubscribe")

    assignment = _at_once(aio.Consumer.assignment)
    subscription = _at_once(aio.Consumer.subscription)

    # --- records

    def poll(
        self, timeout: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord[K, V]]:
        """Up to `max.poll.records` records, as soon as there are any; none when the time is over.

        Calls the rebalance listener. Raises what keeps the consumer from reading, and WakeupError. With no
        timeout (None) it waits as long as it takes.
        """
        with self._in_use():
            self._fetch(lambda calls: self._poll(calls, timeout, max_records))
            return self._hand_out()

    def poll_batch(
        self,
        timeout: float | None = 1.0,
        *,
        max_records: int = BATCH_RECORDS,
        include_headers: bool = False,
    ) -> "pa.RecordBatch | None":
        """Up to `max_records` records as columns, those of Spark's Kafka source; None when the time is over.

        Otherwise as `poll`, but without deserializers, interceptors and `max.poll.records`. Needs pyarrow.
        """
        check_plain(is_plain=self._convert is None and not self._interceptors)
        with self._in_use():
            self._fetch(lambda calls: self._poll_pieces(calls, timeout, max_records, include_headers))
            found = joined(self._pieces)
            self._last, self._pieces = [first_of(piece) for piece in self._pieces], []
            return found

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        """The consumer itself: each record, forever.

        What is committed is the position behind the record that you have. After an exception go on iterating:
        nothing is lost.
        """
        return self

    def __next__(self) -> ConsumerRecord[K, V]:
        with self._in_use():
            self._network.check()
            has_just_polled = False
            while not self._spare:
                if not self._pending or not (has_just_polled or self._iterates_on()):
                    self._fetch(lambda calls: self._poll(calls, None, None))
                    has_just_polled = True
                    continue
                records = intercepted(self._interceptors, [self._converted(self._pending[0])])
                self._spare.extend(records)
                self._last = (self._pending.popleft(),)
            return self._spare.popleft()

    def _iterates_on(self) -> bool:
        """Whether iteration need not poll while it has records; see `odradek.aio.Consumer`."""
        return not self._is_woken and time.monotonic() - self._polled_s < polling.POLLS_AGAIN_MS / 1000

    def wakeup(self) -> None:
        """End the poll that waits, or else the next one, with WakeupError; any thread may call it.

        No record is lost by it.
        """
        self._is_woken = True
        self._network.post(self._consumer.wakeup)

    def _fetch(self, poll: Callable[[Calls], Coroutine[Any, Any, None]]) -> None:
        """Wait for records, and call the listener meanwhile; they are handed over then."""
        if self._is_polling:
            raise Misuse("poll was called within poll, by a rebalance listener or a callback")
        calls = Calls()
        self._last = ()
        self._is_polling = True
        try:
            self._network.run(lambda: poll(calls), calls)
            self._polled_s = time.monotonic()
        except WakeupError:
            self._is_woken = False
            raise
        finally:
            self._is_polling = False
            self._tell()

    def _hand_out(self) -> list[ConsumerRecord[K, V]]:
        """All pending records, or those before the first that a deserializer refuses; that error is next."""
        records: list[ConsumerRecord[K, V]] = []
        try:
            records.extend(map(self._converted, self._pending))
        except Exception:
            if not records:
                raise
        count = len(records)
        records = [*self._spare, *intercepted(self._interceptors, records)]
        self._spare.clear()
        self._last = [self._pending.popleft() for _ in range(count)]
        return records

    def _converted(self, record: ConsumerRecord) -> ConsumerRecord[Any, Any]:
        try:
            return record if self._convert is None else self._convert(record)
        except Exception as error:
            self._refused = record, f"{type(error).__name__}: {error}"
            raise

    # --- commits and positions

    commit = _blocking(aio.Consumer.commit)
    committed = _blocking(aio.Consumer.committed)
    group_metadata = _at_once(aio.Consumer.group_metadata)
    membership = _at_once(aio.Consumer.membership)
    seek = _at_once(aio.Consumer.seek)
    seek_to_beginning = _at_once(aio.Consumer.seek_to_beginning)
    seek_to_end = _at_once(aio.Consumer.seek_to_end)
    position = _blocking(aio.Consumer.position)
    pause = _at_once(aio.Consumer.pause)
    resume = _at_once(aio.Consumer.resume)
    paused = _at_once(aio.Consumer.paused)
    lag = _at_once(aio.Consumer.lag)
    partition_count = _blocking(aio.Consumer.partition_count)
    partitions_for = _blocking(aio.Consumer.partitions_for)
    offsets_for_times = _blocking(aio.Consumer.offsets_for_times)
    beginning_offsets = _blocking(aio.Consumer.beginning_offsets)
    end_offsets = _blocking(aio.Consumer.end_offsets)

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """Begin a commit, as `commit`, and do not wait for it; commits are sent in the order of the calls.

        `callback(offsets, error)` is told how it has ended, within a later call of the application's, at the
        latest that of `close`; what it raises comes out of that call. Without one an error is logged. Raises
        ApiError without a group.
        """
        if callback is None:
            self._begin_commit(offsets)
        else:
            self._begin_commit(offsets, lambda *ended: self._tell_later(partial(callback, *ended)))

    _begin_commit = _at_once(aio.Consumer.commit_async)

    def _tell(self) -> None:
        """Tell the application how all its commits have ended. Raises the first error of a callback."""
        failed: Exception | None = None
        while self._untold:
            try:
                self._untold.popleft()()
            except Exception as error:
                if failed is None:
                    failed = error
                else:
                    _log.exception("another callback of a commit failed")
        if failed is not None:
            raise failed

    # --- what it waits for, and the end

    def why(self) -> list[Why]:
        """What keeps `poll` from returning records, the most important cause first."""
        if self._network.is_closed:
            return [Why(Cause.CLOSED, "the consumer is closed")]
        return self._why()

    _why = _at_once(aio.Consumer.why)

    metrics = _at_once(aio.Consumer.metrics)

    def close(self, *, timeout: float = 30.0) -> None:
        """Commit, if the consumer commits by itself, leave the group, and close the connections in time."""
        timeout = seconds_of(timeout)
        if self._network.is_forked:
            return
        with self._in_use():
            if self._network.is_closed:
                return
            try:
                self._end(lambda consumer: consumer.close(timeout=timeout), "close")
            finally:
                if not self._is_polling:
                    self._network.close(_GRACE_S, _nothing)
                    self._pending.clear()
                    self._spare.clear()
                    self._tell()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it.

        After an exception the records that the application got last do not count as processed: commits of the
        consumer's own leave them out.
        """
        if error is not None:
            self._unprocessed = self._last
        self.close()

    def _end(self, method: Callable[[aio.Consumer], Coroutine[Any, Any, None]], name: str) -> None:
        """Run what gives all partitions back: the listener is told, and may commit."""
        if self._is_polling:
            raise Misuse(f"{name} was called within poll, by a rebalance listener or a callback")
        calls = Calls()
        self._is_polling = True
        try:
            self._network.run(lambda: self._give_up(calls, method), calls)
        finally:
            self._is_polling = False
            self._last = ()
            self._tell()

    # --- inside

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Keep other threads away (C1)."""
        if not self._use.acquire(blocking=False):
            self._network.check()  # in a forked process that other thread does not exist
            raise Misuse("this consumer is in use by another thread; only wakeup() may be called meanwhile")
        try:
            yield
        finally:
            self._use.release()

    def _run(self, method: Callable[[aio.Consumer], Coroutine[Any, Any, T]]) -> T:
        with self._in_use():
            is_within_poll = self._is_polling

            async def there() -> T:
                if not is_within_poll:
                    await self._settle()
                return await method(self._consumer)

            try:
                return self._network.run(there)
            finally:
                self._tell()

    # --- on the network thread

    @asynccontextmanager
    async def _within_poll(self, calls: Calls) -> AsyncIterator[None]:
        """What a poll reads inside may be interrupted: `_settle` waits for the end of it."""
        await self._settle()
        self._calls = calls
        self._poll_task = asyncio.current_task()
        try:
            yield
        finally:
            self._poll_task = None

    async def _poll(self, calls: Calls, timeout: float | None, max_records: int | None) -> None:
        async with self._within_poll(calls):
            self._pending.extend(await self._consumer.poll(timeout, max_records=max_records))

    async def _give_up(
        self, calls: Calls, method: Callable[[aio.Consumer], Coroutine[Any, Any, None]]
    ) -> None:
        await self._settle()
        self._consumer.put_back_unless_committed(self._unprocessed)
        self._calls = calls
        await method(self._consumer)

    async def _poll_pieces(
        self, calls: Calls, timeout: float | None, max_records: int, include_headers: bool
    ) -> None:
        async with self._within_poll(calls):
            self._pieces.extend(await self._consumer.poll_pieces(timeout, max_records, include_headers))

    async def _settle(self) -> None:
        """Wait until an interrupted poll has ended, and put back what the application does not have."""
        while self._poll_task is not None:
            await asyncio.wait({self._poll_task})
        self._consumer.handed_out.put_back(self._pending, self._refused)
        self._refused = None
        self._pending.clear()
        self._consumer.handed_out.undo(self._pieces)
        self._pieces.clear()

    async def _call(self, function: Callable[[], None]) -> None:
        await self._calls.make(function)

    def _tell_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._tell_later(lambda: tell_committed(self._interceptors, offsets))

    def _tell_later(self, function: Callable[[], None]) -> None:
        """Have a function called on the application's thread: now if it polls, else within its next call."""
        self._untold.append(function)
        if self._poll_task is not None:
            self._calls.add(self._tell)


class _HandedOver(RebalanceListener):
    """Has the application's listener called on the application's thread."""

    def __init__(
        self,
        listener: RebalanceListener,
        call: Callable[[Callable[[], None]], Awaitable[None]],
    ) -> None:
        check_listener(listener)
        self._listener = listener
        self._call = call

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> Awaitable[None]:
        return self._call(lambda: _told(self._listener.on_partitions_revoked(partitions)))

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> Awaitable[None]:
        return self._call(lambda: _told(self._listener.on_partitions_assigned(partitions)))

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> Awaitable[None]:
        return self._call(lambda: _told(self._listener.on_partitions_lost(partitions)))


async def _nothing() -> None:
    """What is left to do before the network thread ends."""


def _told(answer: object) -> None:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("a listener with coroutines needs odradek.aio.Consumer; this one calls functions")


class _Keeper:
    """An interceptor that hands commits over to the application's thread, where its own are told."""

    def __init__(self, tell: Callable[[Mapping[TopicPartition, OffsetAndMetadata]], None]) -> None:
        self._tell = tell

    def on_consume(self, records: list[ConsumerRecord[Any, Any]]) -> list[ConsumerRecord[Any, Any]]:
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._tell(offsets)
