"""Copies records to another topic, exactly once: what was read and what was written are one transaction.

A copier lives for seconds or minutes. It ends in good order, or it just vanishes, in the middle of whatever
it does; then another one takes its partitions and fences its transaction (KIP-447).
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

from campaigns.soak.writers import SOURCE
from odradek.aio import Consumer, Producer
from odradek.base.errors import ApiError, TransactionAbortable
from odradek.base.ids import TopicPartition

SESSION_MS: Final = 6_000
LIVES_S: Final = (2.0, 60.0)
"""How long a copier lives."""
AWAY_S: Final = (0.0, 10.0)
"""How long it is away."""


class Copier:
    """One place in a group, held by one life after another under the same transactional id."""

    def __init__(self, bootstrap: str, protocol: str, number: int, chance: random.Random) -> None:
        """`protocol` is a `group.protocol`, and names the group and the topic of its copies."""
        self.counts: Counter[str] = Counter()
        self._bootstrap = bootstrap
        self._protocol = protocol
        self._number = number
        self._chance = chance

    async def live(self, ending: asyncio.Event) -> None:
        """Live one life after another until `ending`; the last one goes on until it is cancelled."""
        while not ending.is_set():
            life = asyncio.ensure_future(self._copy())
            over = asyncio.ensure_future(ending.wait())
            try:
                lasts_s = self._chance.uniform(*LIVES_S)
                done, _ = await asyncio.wait((life, over), timeout=lasts_s, return_when="FIRST_COMPLETED")
                if over in done:
                    await life
                    return
                if life not in done:
                    self.counts["lives"] += 1
                    await _ended(life)
                    await asyncio.sleep(self._chance.uniform(*AWAY_S))
                else:
                    self.counts[life.result()] += 1
            finally:
                over.cancel()
                await _ended(life)

    async def _copy(self) -> str:
        """Copy until it is cancelled, or until an error that ends the producer; returns its name."""
        settings: dict[str, object] = {
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "max.poll.records": 100,
            "group.protocol": self._protocol,
        }
        if self._protocol == "classic":
            settings["session.timeout.ms"] = SESSION_MS
        consumer = Consumer(
            SOURCE, bootstrap_servers=self._bootstrap, group_id=self._protocol, settings=settings
        )
        producer = Producer(self._bootstrap, transactional_id=f"{self._protocol}-{self._number}")
        leaves = self._chance.random() < 0.5
        try:
            await producer.init_transactions()
            while True:
                await self._copy_some(consumer, producer)
        except ApiError as error:
            return error.code.name
        except asyncio.CancelledError:
            self.counts["left" if leaves else "vanished"] += 1
            raise
        finally:
            if leaves:
                await producer.close(5)
                await consumer.close(timeout=5)
            else:
                producer.abandon()
                await consumer.close(timeout=0)

    async def _copy_some(self, consumer: Consumer, producer: Producer) -> None:
        records = await consumer.poll(1.0)
        if not records:
            return
        following = {TopicPartition(one.topic, one.partition): one.offset + 1 for one in records}
        try:
            async with producer.transaction():
                for record in records:
                    await producer.send(self._protocol, _bytes(record.value))
                await producer.send_offsets_to_transaction(following, consumer.group_metadata())
        except TransactionAbortable as error:
            self.counts[error.code.name] += 1
            await self._go_back(consumer, following)
        else:
            self.counts["committed"] += 1

    async def _go_back(self, consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """Read again from what is committed, in partitions that are still this consumer's."""
        committed = await consumer.committed(partitions)
        for partition in consumer.assignment().intersection(partitions):
            found = committed[partition]
            if found is None:
                consumer.seek_to_beginning([partition])
            else:
                consumer.seek(partition, found.offset)


async def _ended(life: "asyncio.Future[str]") -> None:
    life.cancel()
    await asyncio.wait((life,))
    if not life.cancelled():
        life.result()  # raises what it has failed with


def _bytes(value: object) -> bytes:
    """The value of a record, as there is no deserializer."""
    assert isinstance(value, bytes)
    return value
