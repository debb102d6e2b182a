"""`odradek.aio.Producer`: writes records, each exactly once and in order, unless the settings say otherwise.

    async with Producer("localhost:9092") as producer:
        delivery = await producer.send("flights", b"LX 38 landed", key=b"LX38")
        receipt = await delivery
        print(receipt.partition, receipt.offset)

`send` returns when the record is in the producer's memory, with a future for its delivery: await it, or add a
callback. Records of a partition are sent together; `linger.ms` says how long a batch waits for more. Leaving
the `async with` block sends what is left.

With a `transactional.id` records are written in transactions, which are committed or aborted as a whole:

    async with producer.transaction():
        await producer.send("flights", b"LX 38 landed")
        await producer.send_offsets_to_transaction({partition: 12}, consumer.group_metadata())

What decides is in `client/core/producer`, and `deliveries` keeps the futures. Cancelling a call leaves the
producer usable: a cancelled `send` has added its record as a whole or not at all, and a record whose delivery
is cancelled is sent all the same.
"""

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Self, TypeVar, Unpack

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.extras import missing_extra
from odradek.client.absent_topics import why_absent
from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.deliveries import Deliveries, Give, Receipt, give_futures, give_quietly
from odradek.client.aio.driver import Driver
from odradek.client.aio.options import driver_options
from odradek.client.aio.producer_interceptors import ProducerInterceptor, ProducerInterceptors
from odradek.client.aio.record_arguments import Headers, check_record_topic, interrupted
from odradek.client.aio.record_lists import ListDelivery, RecordLists
from odradek.client.aio.serializing import record_maker
from odradek.client.aio.table_deliveries import TableReceipt
from odradek.client.aio.topic_look import partition_count
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.producer.batch import Batch, record_bytes_max
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.lack import MEMORY, Lack
from odradek.client.core.producer.outgoing import Outgoing
from odradek.client.core.producer.settings import Partitioner, producer_settings
from odradek.client.core.producer.transaction import Transaction
from odradek.client.core.waiting import Cause, Why
from odradek.client.key_value_types import K, V
from odradek.client.metrics import Metrics
from odradek.client.setting_types import ProducerSettings
from odradek.client.settings import METADATA_MAX_IDLE_MS, Client, read_settings

if TYPE_CHECKING:
    import ssl

    import pyarrow as pa

    from odradek.client.aio.transactions import Offsets, Transactions

T = TypeVar("T")


_log: Final = logging.getLogger("odradek.producer")
_LASTING: Final = frozenset({Cause.FENCED, Cause.REFUSED})
"""Causes that no broker ends."""


class _Running(NamedTuple):
    """The parts of a producer that has a loop."""

    driver: Driver
    core: ProducerCore
    deliveries: Deliveries


class Producer(Generic[K, V]):
    """A producer on the running loop; see the module.

    Settings have Kafka's names, in the mapping `settings`, or Python's, as arguments (`linger_ms=20`).
    Serializers make bytes of keys and values. `partitioner(key, all, available)` chooses the partition of a
    record that names none, by its key as bytes; it is asked again if the record must wait for memory.
    """

    def __init__(
        self,
        bootstrap_servers: str | list[str] | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        key_serializer: Callable[[K], bytes | None] | None = None,
        value_serializer: Callable[[V], bytes | None] | None = None,
        partitioner: Partitioner | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        ssl_context: "ssl.SSLContext | None" = None,
        token_provider: Callable[[], str] | None = None,
        **named: Unpack[ProducerSettings],
    ) -> None:
        """Nothing is connected before the first record. Raises SettingError."""
        given = {**(settings or {}), **named}
        if bootstrap_servers is not None:
            given["bootstrap_servers"] = bootstrap_servers
        read = read_settings(Client.PRODUCER, given, ssl_context=ssl_context, token_provider=token_provider)
        self._options = driver_options(
            read, allow_auto_create_topics=True, metadata_max_idle_ms=read[METADATA_MAX_IDLE_MS]
        )
        self._settings = producer_settings(read, partitioner)
        self.outgoing = record_maker(key_serializer, value_serializer)
        """Makes records of what is sent."""
        self._is_plain = key_serializer is None and value_serializer is None and partitioner is None
        self.interceptors = ProducerInterceptors(interceptors)
        """What sees records pass."""
        self._is_watched = bool(self.interceptors)
        # What gives outcomes to records' receivers; None: the receivers are futures of the loop.
        self._give: Give | None = None
        # None until the first call, which has a running loop.
        self._parts: _Running | None = None
        self._transactions: Transactions | None = None
        # Calls that wait for a topic or a partition, by the identity of their attempt.
        self._unplaced: dict[int, Lack] = {}
        # Whether a turn of the loop is to come in which the driver looks at what was appended.
        self._is_kicked = False
        self._is_closed = False

    def give_by(self, give: Give) -> None:
        """Called before all else where receivers are no futures: `give` gives them outcomes."""
        self._check_home()
        assert self._parts is None
        self._give = give

    @property
    def max_block_ms(self) -> int:
        """How long `send` waits at most."""
        return self._settings.max_block_ms

    # --- records

    async def send(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[Receipt]:
        """Add a record; the future gets its receipt, or the error that kept it from being acknowledged.

        Waits at most `max.block.ms` for the topic and for memory. Raises ApiError if they do not come, if
        the record is too large, or if the topic refuses records; TypeError for what is not bytes, and what
        serializers raise.
        """
        record = self.outgoing(topic, value, key, headers, partition, timestamp_ms)
        if self._is_watched:
            record = self.interceptors.sent(record)
        record_bytes = record_bytes_max(record.key, record.value, record.headers)
        try:
            running = self._running()
            future: asyncio.Future[Receipt] = running.driver.loop.create_future()
            if not self._add(record, future, record_bytes, running):
                await self.add_later(record, future, record_bytes, self._settings.max_block_ms)
        except asyncio.CancelledError:
            self.interceptors.acknowledged(record.topic, None, interrupted())
            raise
        except Exception as error:
            self.interceptors.acknowledged(record.topic, None, error)
            raise
        return future

    async def send_and_wait(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Receipt:
        """`send`, and its receipt once the record is acknowledged. Raises what `send` or its future does."""
        return await (
            await self.send(
                topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms
            )
        )

    def add(self, record: Outgoing, receiver: object, record_bytes: int) -> bool:
        """Add a record that was checked already; False if that cannot be done without waiting.

        What becomes of it is given to `receiver` (`give_by`); `record_bytes` is its `record_bytes_max`.
        Raises ApiError as `send` does.
        """
        return self._add(record, receiver, record_bytes, self._running())

    async def add_later(
        self, record: Outgoing, receiver: object, record_bytes: int, max_block_ms: int
    ) -> None:
        """`add` as soon as that can be done. Raises ApiError if it cannot within this time."""
        try:
            attempt = partial(self._attempt, record, receiver, record_bytes, self._running())
            await self.until(attempt, max_block_ms)
        except ApiError as error:
            self._not_added(error)
            raise

    def _add(self, record: Outgoing, receiver: object, record_bytes: int, running: _Running) -> bool:
        try:
            found = self._attempt(record, receiver, record_bytes, running)
        except ApiError as error:
            self._not_added(error)
            raise
        if isinstance(found, Lack):
            return False
        if not self._is_kicked:
            self._kick(running.driver)
        return True

    async def until(self, attempt: Callable[[], T | Lack], max_block_ms: int) -> T:
        """Try until it succeeds, whenever something has changed. Raises ApiError when the time is over."""
        driver, core, _ = self._running()
        ends_ms = driver.now_ms + max_block_ms
        seen = -1
        while True:
            was_wanted = core.is_memory_wanted
            found = attempt()
            if not isinstance(found, Lack):
                self._kick(driver)
                return found
            if driver.now_ms >= ends_ms:
                raise self._blocked(found)
            # The driver looks only after a change: to look wakes all who wait.
            if driver.view.version != seen or core.is_memory_wanted != was_wanted:
                seen = driver.view.version
                self._kick(driver)
            if found.topic is not None:
                self._unplaced[id(attempt)] = found
            try:
                await driver.changed(ends_ms - driver.now_ms)
            finally:
                self._unplaced.pop(id(attempt), None)
            if self._is_closed:
                raise closed()

    def _not_added(self, error: ApiError) -> None:
        if self._transactions is not None:
            self._transactions.failed(error)

    def _attempt(
        self, record: Outgoing, receiver: object, record_bytes: int, running: _Running
    ) -> Batch | Lack:
        """Add a record to a batch of its partition, if that is known and there is memory for it."""
        driver, core, deliveries = running
        if self._transactions is not None:
            core.check_open()
        topic, value, key, headers, named, stamp_ms = record
        clock = driver.clock
        now_ms = clock.monotonic_ms()
        partition = core.placement.find(topic, key, named, now_ms)
        if partition is None:
            return Lack(topic, named)
        if stamp_ms is None:
            stamp_ms = clock.wall_ms()
        batch = core.append(partition, stamp_ms, key, value, headers, record_bytes, now_ms)
        if batch is None:
            return MEMORY
        deliveries.add(batch, receiver, stamp_ms)
        return batch

    # --- many records at once

    async def append_all(self, records: Sequence[Outgoing], delivery: ListDelivery) -> None:
        """Add records that were checked already, in batches of their own, which are sent at once.

        `delivery` gets what becomes of each: also that there was no topic or memory for it within
        `max.block.ms`. Raises ApiError where no record may be added.
        """
        driver, core, deliveries = self._running()
        core.check_open()
        self._check_plain()
        await RecordLists(self, driver, core, deliveries, self._settings).add(records, delivery)

    async def produce_batch(
        self, table: "pa.Table | pa.RecordBatch", *, topic: str | None = None
    ) -> asyncio.Future[TableReceipt]:
        """Add the rows of a table as records; the future gets one receipt for all, or the first error.

        The columns are those of Spark's Kafka source: value; if they are there key, headers, partition and
        timestamp; and topic, unless the argument names it. Returns when all rows are in memory; each wait for
        memory, or for a topic, takes at most `max.block.ms`. A table in which anything is wrong is refused as
        a whole: TypeError for a type, ApiError for a column or a row. Raises ApiError as `send` does; then,
        and when it is cancelled, the rows that were added so far are sent all the same. Interceptors,
        serializers and partitioners see no rows: a producer that has any is refused. Needs pyarrow.
        """
        missing = missing_extra("arrow", "produce_batch")
        if missing:
            raise ApiError(ErrorCode.INVALID_REQUEST, missing)
        from odradek.client.aio.table_producing import TableProducing
        from odradek.client.core.producer.table_columns import TableColumns

        driver, core, deliveries = self._running()
        core.check_open()
        self._check_plain()
        columns = TableColumns(table, topic)
        if topic is not None:
            check_record_topic(topic)
        try:
            return (await TableProducing(self, driver, core, deliveries, self._settings).add(columns)).future
        except ApiError as error:
            self._not_added(error)
            raise

    async def flush(self) -> None:
        """Send what was added so far, and return when each record of it is acknowledged or has failed.

        With acks=0: when the brokers have read it, or their connections have failed.
        """
        driver, core, deliveries = self._running()
        batches = deliveries.batches
        core.flush()
        self._kick(driver)
        while not batches.isdisjoint(deliveries.batches):
            await driver.changed()
        await asyncio.gather(*(driver.ask(send) for send in core.take_unanswered()))

    # --- transactions

    async def init_transactions(self) -> None:
        """Begin to use the `transactional.id`; once, before the first transaction.

        An older producer with this id is fenced, and the transaction that it left open is aborted. Raises
        ApiError, after `max.block.ms` at the latest; then it can be called again.
        """
        await self._transactional().init()

    async def begin_transaction(self) -> None:
        """Begin a transaction. Raises ApiError if one is open."""
        self._transactional().begin()

    async def send_offsets_to_transaction(self, offsets: "Offsets", group: GroupMetadata | str) -> None:
        """Commit these offsets of a group if, and when, the transaction is committed.

        An offset is that of the next record to read. `group` is `consumer.group_metadata()`, so that a member
        which has lost its partitions is refused (KIP-447); the group's id alone for a consumer whose
        partitions the application assigns. The consumer must not commit by itself. Raises ApiError.
        """
        await self._transactional().send_offsets(offsets, group)

    async def commit_transaction(self) -> None:
        """Send what was added, and commit. Raises TransactionAbortable if a record or offset failed.

        Raises ApiError after `max.block.ms`: whether it is committed is not known; call it again to learn.
        """
        await self._transactional().commit()

    async def abort_transaction(self) -> None:
        """Abort: no read-committed consumer sees a record of the transaction. Raises as the commit does."""
        await self._transactional().abort()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction for an `async with` block: committed at its end, aborted by an exception.

        The first one calls `init_transactions`. Raises what the block raises, and what the commit raises;
        after TransactionAbortable it is aborted already, and the block can be run again.
        """
        async with self._transactional().block():
            yield

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic. Raises ApiError as `send` does."""
        check_record_topic(topic)
        _, core, _ = self._running()
        count = await self.until(
            lambda: core.placement.partition_count(topic) or Lack(topic), self._settings.max_block_ms
        )
        return list(range(count))

    async def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has now; None if it does not exist, and it is not created.

        Asks once. Raises ConnectionFailed if no bootstrap server answers, ApiError if they refuse.
        """
        driver, _, _ = self._running()
        return await partition_count(driver, topic, self._settings.request_timeout_ms)

    def why(self) -> list[Why]:
        """What the producer is waiting for, the worst cause first; empty if it has nothing to do."""
        self._check_home(only_looks=True)
        if self._is_closed:
            return [Why(Cause.CLOSED, "the producer was closed")]
        if self._parts is None:
            return []
        driver, core, _ = self._parts
        now_ms, routing = driver.now_ms, driver.routing
        causes = core.why(now_ms, routing.answers)
        if self._transactions is not None:
            of_transaction = self._transactions.why(now_ms)
            has_failed = any(one.cause in _LASTING for one in of_transaction)
            causes = [*of_transaction, *causes] if has_failed else [*causes, *of_transaction]
        unknown = {self._said(lack): lack.topic for lack in self._unplaced.values()}
        causes = [*(Why(Cause.UNKNOWN_TOPIC, text, {"topic": unknown[text]}) for text in unknown), *causes]
        if causes and causes[0].cause in _LASTING:
            return causes
        return [*routing.why(now_ms), *causes] if causes else []

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""
        self._check_home(only_looks=True)
        figures: dict[str, float] = {}
        if self._parts is not None:
            driver, core, _ = self._parts
            figures = {**driver.figures(), **core.figures(driver.now_ms)}
        return Metrics("producer", self._options.client_id, figures)

    # --- its life

    async def close(self, timeout: float | None = None) -> None:
        """Send what is left, for at most `timeout` seconds (None: `delivery.timeout.ms`), and disconnect.

        What is not acknowledged then fails; an open transaction is aborted. Closing it again does nothing.
        """
        timeout = None if timeout is None else seconds_of(timeout)
        if self._is_closed:
            return
        if self._parts is None or self._parts.driver.home.is_forked:
            self._is_closed = True
            return
        self._check_home()
        try:
            async with asyncio.timeout(timeout):
                if self._transactions is not None:
                    await self._transactions.settle()
                await self.flush()
        except TimeoutError:
            pass  # what is left fails below
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Disconnect at once: what is not acknowledged fails."""
        self._is_closed = True
        if self._parts is not None and not self._parts.driver.home.is_forked:
            self._parts.deliveries.fail_all(closed())
            self._parts.driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        """Say what is lost if it was not closed; Python's own parts may be gone already."""
        parts = getattr(self, "_parts", None)
        if parts is None or self._is_closed or parts.driver.home.is_forked:
            return
        unsent = parts.deliveries.unsent
        if unsent:
            _log.error("a producer was not closed, and %d records may be lost: await its close()", unsent)
        warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)

    # --- inside

    def _running(self) -> _Running:
        """Its parts, which are made by the first call. Raises ApiError where it cannot be used."""
        if self._is_closed:
            raise closed()
        parts = self._parts
        if parts is None:
            return self._start()
        parts.driver.home.check("this producer")
        return parts

    def _check_plain(self) -> None:
        """Raise ApiError where something of the application's would not see the rows of tables and lists."""
        self.interceptors.check_none()
        if not self._is_plain:
            said = (
                "serializers and partitioners see no rows: a producer that has any sends records one by one"
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, said)

    def _check_home(self, *, only_looks: bool = False) -> None:
        if self._parts is not None:
            self._parts.driver.home.check("this producer", only_looks=only_looks)

    def _start(self) -> _Running:
        loop = asyncio.get_running_loop()
        driver = Driver(self._options, loop)
        name = self._settings.transactional_id
        transaction = None if name is None else Transaction(name)
        core = ProducerCore(self._settings, driver.view, driver.chance, transaction, encodes_elsewhere=True)
        deliveries = Deliveries(
            core,
            loop,
            driver.pump,
            self._give or (give_futures if transaction is None else give_quietly),
            self.interceptors.acknowledged if self._is_watched else None,
            is_transactional=transaction is not None,
        )
        parts = self._parts = _Running(driver, core, deliveries)
        driver.run(deliveries)
        if transaction is not None:
            from odradek.client.aio.transactions import Transactions  # 30 ms that few producers need
            from odradek.client.core.producer.transaction_core import TransactionCore

            asks = TransactionCore(self._settings, transaction, core, driver.routing, driver.chance)
            driver.run(asks)
            self._transactions = Transactions(transaction, asks, core, driver, self._settings.max_block_ms)
        return parts

    def _transactional(self) -> "Transactions":
        self._running()
        if self._transactions is None:
            raise ApiError(ErrorCode.INVALID_TXN_STATE, "transactions need the setting transactional.id")
        return self._transactions

    def _kick(self, driver: Driver) -> None:
        """Let the driver look once for all records that are added in this turn of the loop."""
        if not self._is_kicked:
            self._is_kicked = True
            driver.loop.call_soon(self._pump, driver)

    def _pump(self, driver: Driver) -> None:
        self._is_kicked = False
        driver.pump()

    def _blocked(self, lack: Lack) -> ApiError:
        waited_s = self._settings.max_block_ms / 1000
        assert self._parts is not None
        error = self._parts.driver.view.last_error
        more = "" if error is None else f": {error}"
        said = f"not sent within {waited_s:g} s: {self._said(lack)}{more}"
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, said)

    def _said(self, lack: Lack) -> str:
        """What is missing, and why a topic is, if the brokers say it."""
        assert self._parts is not None
        if lack.topic is None:
            return str(lack)
        view = self._parts.driver.view
        code, known = view.errors.get(lack.topic), view.topics.get(lack.topic)
        if code is not None:
            return why_absent(lack.topic, code)
        return str(lack) if known is None else f"{lack}: it has {len(known.leaders)}"


def closed() -> ApiError:
    """What calls and deliveries get after the close."""
    return ApiError(ErrorCode.INVALID_REQUEST, "this producer was closed")
