"""Adds the rows of a table to a producer: what `produce_batch` does.

The rows are checked first, all of them. Then some thousand at a time get their partitions, and are encoded
and added as batches, in steps of a few milliseconds: the loop serves others between two steps.
"""

import asyncio
from functools import partial

import numpy as np

from odradek.base.errors import ApiError, ProducerFatal, TransactionAbortable
from odradek.base.ids import TopicPartition
from odradek.client.aio.batch_adding import BatchAdding
from odradek.client.aio.table_deliveries import TableDelivery
from odradek.client.columnar_partitioning import partitions_of_keys, rows_at_a_time
from odradek.client.core.producer.lack import Lack
from odradek.client.core.producer.table_batches import Group, encoded_in_steps, grouped
from odradek.client.core.producer.table_columns import NO_PARTITION, Rows, TableColumns
from odradek.records.columnar.varints import Longs

# Of `buffer.memory`, what is planned at once: batches of other calls find room beside it.
_SHARE = 4


class TableProducing(BatchAdding):
    """See the module."""

    async def add(self, columns: TableColumns) -> TableDelivery:
        """Add all rows. Raises ApiError; rows that were added by then are sent all the same."""
        await self._check(columns)
        delivery = self._deliveries.table(columns.count)
        added = 0
        try:
            for rows in columns.windows():
                for first, end in rows.within(self._settings.buffer_memory // _SHARE):
                    groups = await self._placed(rows, first, end)
                    await asyncio.sleep(0)
                    for step in encoded_in_steps(
                        rows, groups, self._settings.batch_size, self._driver.clock.wall_ms()
                    ):
                        for batch in step:
                            await self.add_batch(batch.partition, batch.records, batch.rows, delivery)
                            added += batch.records.count
                        await asyncio.sleep(0)
        except ApiError as error:
            if added:
                kind = type(error) if isinstance(error, TransactionAbortable | ProducerFatal) else ApiError
                said = f"{error.message}; {added} of {columns.count} rows were added before, and are sent"
                raise kind(error.code, said) from error
            raise
        return delivery

    async def _check(self, columns: TableColumns) -> None:
        limit, name = self._settings.record_limit
        for rows in columns.windows():
            rows.check(limit, name)
            await asyncio.sleep(0)

    async def _placed(self, rows: Rows, first: int, end: int) -> list[Group]:
        """The rows [first, end) by their partitions, when these are known."""
        groups = []
        for topic, numbers in rows.by_topic(first, end):
            count = await self._host.until(partial(self._count, topic), self._settings.max_block_ms)
            partitions = np.full(len(numbers), NO_PARTITION, dtype=np.int64)
            if rows.partitions is not None:
                partitions = rows.partitions[numbers]
                highest = int(partitions.max())
                if highest >= count:
                    known = partial(self._known, topic, highest)
                    await self._host.until(known, self._settings.max_block_ms)
            groups += grouped(topic, numbers, await self._chosen(topic, rows, numbers, partitions, count))
        return groups

    async def _chosen(self, topic: str, rows: Rows, numbers: Longs, partitions: Longs, count: int) -> Longs:
        """The partition of each row: the one that it names, that of its key, or the current one."""
        chosen = partitions.copy()
        is_free = chosen == NO_PARTITION
        if not self._core.placement.ignores_keys:
            keyed = np.flatnonzero(is_free & rows.has_key(numbers))
            many = rows_at_a_time(rows.keys)
            for first in range(0, len(keyed), many):
                part = keyed[first : first + many]
                chosen[part] = partitions_of_keys(rows.keys.take(numbers[part]), count)
                await asyncio.sleep(0)
        free = np.flatnonzero(chosen == NO_PARTITION)
        begin = 0
        ends = np.cumsum(rows.sizes[numbers[free]]).tolist()
        for partition, behind in self._core.placement.spread(topic, ends):
            chosen[free[begin:behind]] = partition
            begin = behind
        return chosen

    def _count(self, topic: str) -> int | Lack:
        return self._core.placement.partition_count(topic) or Lack(topic)

    def _known(self, topic: str, partition: int) -> TopicPartition | Lack:
        is_known = self._core.placement.check_partition(topic, partition, self._driver.now_ms)
        return TopicPartition(topic, partition) if is_known else Lack(topic, partition)
