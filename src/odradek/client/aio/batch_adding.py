"""Adds whole batches to a producer, each when there is memory for it: for lists and for tables of records."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from odradek.base.ids import TopicPartition
from odradek.client.aio.deliveries import Deliveries, RowsDelivery
from odradek.client.aio.driver import Driver
from odradek.client.aio.table_deliveries import RowNumbers
from odradek.client.core.producer.batch import EncodedRecords
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.lack import MEMORY, Lack
from odradek.client.core.producer.settings import ProducerSettings

T = TypeVar("T")


class Host(Protocol):
    """The producer, to which batches are added."""

    async def until(self, attempt: Callable[[], T | Lack], max_block_ms: int) -> T:
        """Try until it succeeds, whenever something has changed. Raises ApiError when the time is over."""


class BatchAdding:
    """See the module; a subclass says which records become which batches."""

    def __init__(
        self,
        host: Host,
        driver: Driver,
        core: ProducerCore,
        deliveries: Deliveries,
        settings: ProducerSettings,
    ) -> None:
        self._host = host
        self._driver = driver
        self._core = core
        self._deliveries = deliveries
        self._settings = settings

    async def add_batch(
        self, partition: TopicPartition, records: EncodedRecords, rows: RowNumbers, delivery: RowsDelivery
    ) -> None:
        """Add a batch, whose records are these rows of `delivery`. Raises ApiError after `max.block.ms`."""
        batch = await self._host.until(
            lambda: self._core.append_encoded(partition, records, self._driver.now_ms) or MEMORY,
            self._settings.max_block_ms,
        )
        self._deliveries.rows_of(batch, rows, delivery)
