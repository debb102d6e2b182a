"""`odradek.aio.Producer`: writes records, each exactly once and in order, unless the settings say otherwise.

    async with Producer("localhost:9092") as producer:
        delivery = await producer.send("flights", b"LX 38 landed", key=b"LX38")
        receipt = await delivery
        print(receipt.partition, receipt.offset)

`send` returns when the record is in the producer's memory, with a future for its delivery: await it, or add a
callback. Records of a partition are sent together; `linger.ms` says how long a batch waits for more. Leaving
the `async with` block sends what is left.

What decides is in `client/core/producer`, and `deliveries` keeps the futures. Cancelling a call leaves the
producer usable: a cancelled `send` has added its record as a whole or not at all, and a record whose delivery
is cancelled is sent all the same.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Self

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.base.ids import TopicPartition
from odradek.client.aio.deliveries import Deliveries, Receipt
from odradek.client.aio.driver import Driver
from odradek.client.aio.options import driver_options
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.settings import producer_settings
from odradek.client.core.waiting import Cause, Why
from odradek.client.settings import TRANSACTION_TIMEOUT_MS, TRANSACTIONAL_ID, Client, read_settings
from odradek.records.framing import LONG_MAX, RecordHeaders

if TYPE_CHECKING:
    import ssl

Headers = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]


class Producer:
    """A producer on the running loop; see the module.

    Settings have Kafka's names, in the mapping `config`, or Python's, as arguments (`linger_ms=20`).
    """

    def __init__(
        self,
        bootstrap_servers: str | list[str] | None = None,
        config: Mapping[str, object] | None = None,
        *,
        ssl_context: "ssl.SSLContext | None" = None,
        token_provider: Callable[[], str] | None = None,
        **settings: object,
    ) -> None:
        """Nothing is connected before the first record. Raises SettingError."""
        given = {**(config or {}), **settings}
        if bootstrap_servers is not None:
            given["bootstrap_servers"] = bootstrap_servers
        read = read_settings(Client.PRODUCER, given, ssl_context=ssl_context, token_provider=token_provider)
        for setting in (TRANSACTIONAL_ID, TRANSACTION_TIMEOUT_MS):
            if read.is_given(setting):
                raise SettingError(f"{setting.name}: this producer does not write transactions yet")
        self._options = driver_options(read, allow_auto_create_topics=True)
        self._settings = producer_settings(read)
        # None until the first call, which has a running loop.
        self._driver: Driver | None = None
        self._core: ProducerCore | None = None
        self._deliveries: Deliveries | None = None
        # Whether a turn of the loop is to come in which the driver looks at what was appended.
        self._is_kicked = False
        self._is_closed = False

    # --- records

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[Receipt]:
        """Add a record; the future gets its receipt, or the error that kept it from being acknowledged.

        Waits at most `max.block.ms` for the topic and for memory. Raises ApiError if they do not come, if
        the record is too large, or if the topic refuses records; TypeError for what is not bytes.
        """
        driver, core, deliveries = self._running()
        encoded = _encoded(headers)
        _check_bytes(key=key, value=value)
        if partition is not None and partition < 0:
            raise ApiError(ErrorCode.INVALID_PARTITIONS, f"partition {partition} is below 0")
        stamp_ms = driver.clock.wall_ms() if timestamp_ms is None else timestamp_ms
        if not 0 <= stamp_ms <= LONG_MAX:
            raise ApiError(ErrorCode.INVALID_TIMESTAMP, f"timestamp {stamp_ms} is not from 0 to {LONG_MAX}")
        ends_ms = driver.now_ms + self._settings.max_block_ms
        seen = -1
        while True:
            number = partition
            if partition is None:
                number = core.partition_for(topic, key)
            elif not core.check_partition(topic, partition):
                number = None
            was_wanted = core.is_memory_wanted
            if number is not None:
                place = core.append(
                    TopicPartition(topic, number), stamp_ms, key, value, encoded, driver.now_ms
                )
                if place is not None:
                    self._kick(driver)
                    return deliveries.future_of(place, stamp_ms)
            if driver.now_ms >= ends_ms:
                raise self._blocked(topic, partition, has_place=number is not None)
            # The driver looks only after a change: to look wakes all who wait.
            if driver.view.version != seen or core.is_memory_wanted != was_wanted:
                seen = driver.view.version
                self._kick(driver)
            await driver.changed(ends_ms - driver.now_ms)
            if self._is_closed:
                raise _closed()

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

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic. Raises ApiError as `send` does."""
        driver, core, _ = self._running()
        ends_ms = driver.now_ms + self._settings.max_block_ms
        self._kick(driver)
        while (count := core.partition_count(topic)) is None:
            if driver.now_ms >= ends_ms:
                raise self._blocked(topic, None, has_place=False)
            await driver.changed(ends_ms - driver.now_ms)
            if self._is_closed:
                raise _closed()
        return list(range(count))

    def why(self) -> list[Why]:
        """What the producer is waiting for, the worst cause first; empty if it has nothing to do."""
        if self._is_closed:
            return [Why(Cause.CLOSED, "the producer was closed")]
        if self._driver is None or self._core is None:
            return []
        causes = self._core.why(self._driver.now_ms)
        return [*self._driver.routing.why(self._driver.now_ms), *causes] if causes else []

    # --- its life

    async def close(self, timeout: float | None = None) -> None:
        """Send what is left, for at most `timeout` seconds (None: `delivery.timeout.ms`), and disconnect.

        What is not acknowledged then fails. Closing it again does nothing.
        """
        if self._is_closed:
            return
        if self._driver is None or self._deliveries is None:
            self._is_closed = True
            return
        try:
            async with asyncio.timeout(timeout):
                await self.flush()
        except TimeoutError:
            pass  # what is left fails below
        finally:
            self._is_closed = True
            self._deliveries.fail_all(_closed())
            self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- inside

    def _running(self) -> tuple[Driver, ProducerCore, Deliveries]:
        if self._is_closed:
            raise _closed()
        if self._driver is None or self._core is None or self._deliveries is None:
            loop = asyncio.get_running_loop()
            self._driver = Driver(self._options, loop)
            self._core = ProducerCore(self._settings, self._driver.view, self._driver.chance)
            self._deliveries = Deliveries(self._core, loop)
            self._driver.run(self._deliveries)
        return self._driver, self._core, self._deliveries

    def _kick(self, driver: Driver) -> None:
        """Let the driver look once for all records that are added in this turn of the loop."""
        if not self._is_kicked:
            self._is_kicked = True
            asyncio.get_running_loop().call_soon(self._pump, driver)

    def _pump(self, driver: Driver) -> None:
        self._is_kicked = False
        driver.pump()

    def _blocked(self, topic: str, partition: int | None, *, has_place: bool) -> ApiError:
        waited_s = self._settings.max_block_ms / 1000
        if has_place:
            reason = "buffer.memory is used up by records that are not acknowledged"
        elif partition is None:
            reason = f"topic {topic} is not known"
        else:
            reason = f"partition {partition} of topic {topic} is not known"
        assert self._driver is not None
        error = self._driver.view.last_error
        more = "" if error is None else f": {error}"
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, f"not sent within {waited_s:g} s: {reason}{more}")


def _encoded(headers: Headers) -> RecordHeaders:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    encoded = tuple((name.encode(), content) for name, content in pairs)
    for name, content in encoded:
        _check_bytes(**{f"header {name.decode()}": content})
    return encoded


def _check_bytes(**contents: object) -> None:
    for name, content in contents.items():
        if content is not None and not isinstance(content, bytes):
            raise TypeError(f"the {name} of a record is bytes or None, not {type(content).__name__}")


def _closed() -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, "this producer was closed")
