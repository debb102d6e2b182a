"""`odradek.Producer`: the producer for programs without asyncio; any thread may use it.

    with Producer("localhost:9092") as producer:
        delivery = producer.send("flights", b"LX 38 landed", key=b"LX38")
        print(delivery.result(timeout=10).offset)

It runs `odradek.aio.Producer` (`client/aio/producer`), with its settings, guarantees and errors, on a thread
of its own.
"""

import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Generic, Unpack

from odradek.base.closing import Closing
from odradek.client.aio import producer as aio
from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.producer_interceptors import ProducerInterceptor
from odradek.client.aio.record_arguments import Headers
from odradek.client.aio.record_lists import ListDelivery
from odradek.client.blocking.delivery import Delivery, TableDelivery, give_deliveries
from odradek.client.blocking.producer_life import ProducerLife
from odradek.client.blocking.shared_lock import SharedLock
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.producer.outgoing import Outgoing
from odradek.client.core.producer.settings import Partitioner
from odradek.client.core.waiting import Cause, Why
from odradek.client.key_value_types import K, V
from odradek.client.metrics import Metrics
from odradek.client.setting_types import ProducerSettings

if TYPE_CHECKING:
    import ssl

    import pyarrow as pa

    from odradek.client.aio.transactions import Offsets


class Producer(Closing, Generic[K, V]):
    """A producer; see the module. It raises ApiError for refusals, and Misuse after its close or a fork.

    Settings have Kafka's names, in the mapping `settings`, or Python's, as arguments (`linger_ms=20`).
    Serializers, which make bytes of keys and values, are called on the thread that sends; the partitioner is
    called on the network thread.
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
        self._producer = aio.Producer[K, V](
            bootstrap_servers,
            settings=settings,
            key_serializer=key_serializer,
            value_serializer=value_serializer,
            partitioner=partitioner,
            interceptors=interceptors,
            ssl_context=ssl_context,
            token_provider=token_provider,
            **named,
        )
        # Guards the outcomes of all deliveries.
        self._ended = SharedLock()
        self._producer.give_by(partial(give_deliveries, self._ended))
        self._life = ProducerLife(self._producer)
        self._network, self._outbox = self._life.network, self._life.outbox
        weakref.finalize(self, self._life.drop).atexit = False

    def send(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Have a record sent; the delivery gets its receipt, or the error that kept it from being stored.

        Returns at once, as long as there is room. A topic or memory that does not come within `max.block.ms`,
        a record that is too large and a topic that refuses it are errors of the delivery. Raises ApiError for
        numbers that cannot be, TypeError for what is not bytes, and what serializers raise.
        """
        record = self._producer.outgoing(topic, value, key, headers, partition, timestamp_ms)
        delivery = Delivery(self._network, self._ended)
        self._outbox.put(record, delivery)
        return delivery

    def produce_batch(self, table: "pa.Table | pa.RecordBatch", *, topic: str | None = None) -> TableDelivery:
        """Add the rows of a table as records; the delivery gets one receipt for all, or the first error.

        The columns are those of Spark's Kafka source: value; if they are there key, headers, partition and
        timestamp; and topic, unless the argument names it. Returns when all rows are in memory, behind what
        was sent before; each wait for memory, or for a topic, takes at most `max.block.ms`. A table in which
        anything is wrong is refused as a whole: TypeError for a type, ApiError for a column or a row. Raises
        ApiError if memory or a topic does not come; then, and when it is interrupted, the rows that were
        added so far are sent all the same. Interceptors, serializers and partitioners see no rows: a producer
        that has any is refused. Needs pyarrow.
        """
        delivery = TableDelivery(self._network, self._ended)

        async def there() -> None:
            await self._outbox.emptied()
            future = await self._producer.produce_batch(table, topic=topic)
            future.add_done_callback(delivery.take_over)

        self._network.run(there)
        return delivery

    def append_all(self, records: Sequence[Outgoing], delivery: ListDelivery) -> None:
        """See `aio.Producer.append_all`; behind what was sent before."""

        async def there() -> None:
            await self._outbox.emptied()
            await self._producer.append_all(records, delivery)

        self._network.run(there)

    def flush(self, timeout: float | None = None) -> None:
        """Send what was added so far, and return when each record of it is acknowledged or has failed.

        Raises TimeoutError after `timeout` seconds; what is not acknowledged by then is still sent.
        """
        self._life.flush(None if timeout is None else seconds_of(timeout))

    # --- transactions

    def init_transactions(self) -> None:
        """Begin to use the `transactional.id`; once, before the first transaction.

        An older producer with this id is fenced, and the transaction that it left open is aborted. Raises
        ApiError, after `max.block.ms` at the latest; then it can be called again.
        """
        self._network.run(self._producer.init_transactions)

    def begin_transaction(self) -> None:
        """Begin a transaction. Raises ApiError if one is open."""
        self._network.run(lambda: self._after_records(self._producer.begin_transaction))

    def send_offsets_to_transaction(self, offsets: "Offsets", group: GroupMetadata | str) -> None:
        """Commit these offsets of a group if, and when, the transaction is committed.

        An offset is that of the next record to read. `group` is `consumer.group_metadata()`, so that a member
        which has lost its partitions is refused (KIP-447); the group's id alone for a consumer whose
        partitions the application assigns. The consumer must not commit by itself. Raises ApiError.
        """
        self._network.run(lambda: self._producer.send_offsets_to_transaction(offsets, group))

    def commit_transaction(self) -> None:
        """Send what was added, and commit. Raises TransactionAbortable if a record or offset failed.

        Raises ApiError after `max.block.ms`: whether it is committed is not known; call it again to learn.
        """
        self._network.run(lambda: self._after_records(self._producer.commit_transaction))

    def abort_transaction(self) -> None:
        """Abort: no read-committed consumer sees a record of the transaction. Raises as the commit does."""
        self._network.run(lambda: self._after_records(self._producer.abort_transaction))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction for a `with` block: committed at its end, aborted by an exception.

        The first one calls `init_transactions`. Raises what the block raises, and what the commit raises;
        after TransactionAbortable it is aborted already, and the block can be run again.
        """
        block = self._producer.transaction()
        self._network.run(lambda: self._after_records(block.__aenter__))
        try:
            yield
        except BaseException as error:
            self._network.run(partial(self._leave, block, error))
            raise
        self._network.run(partial(self._leave, block, None))

    async def _leave(self, block: AbstractAsyncContextManager[None], error: BaseException | None) -> None:
        """Leave the block of a transaction; what the application raised stays the application's to raise."""
        await self._outbox.emptied()
        try:
            await block.__aexit__(None if error is None else type(error), error, None)
        except BaseException as raised:
            if raised is not error:
                raise

    async def _after_records(self, call: Callable[[], Awaitable[None]]) -> None:
        """What was sent before belongs to the transaction before."""
        await self._outbox.emptied()
        await call()

    # --- what it knows

    def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic. Raises ApiError as `send` does."""
        return self._network.run(lambda: self._producer.partitions_for(topic))

    def partition_count(self, topic: str) -> int | None:
        """See `aio.Producer.partition_count`."""
        return self._network.run(lambda: self._producer.partition_count(topic))

    def why(self) -> list[Why]:
        """What the producer is waiting for, the worst cause first; empty if it has nothing to do."""
        if self._network.is_closed:
            return [Why(Cause.CLOSED, "the producer was closed")]
        return self._life.why()

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""

        async def there() -> Metrics:
            return self._producer.metrics()

        return self._network.run(there)

    def close(self, timeout: float | None = None) -> None:
        """Send what is left, for at most `timeout` seconds (None: `delivery.timeout.ms`), and disconnect.

        What is not acknowledged then fails; an open transaction is aborted. Closing it again does nothing.
        """
        self._life.close(None if timeout is None else seconds_of(timeout))
