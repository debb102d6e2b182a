"""aiokafka in a group."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from peers.waiting import WAIT_S_MAX

from compat.clients.aiokafka import record_of, refusal_of
from compat.clients.model import Record
from compat.members.model import (
    HEARTBEAT_INTERVAL_MS,
    POLL_S,
    RANGE,
    SESSION_TIMEOUT_MS,
    STICKY,
    Member,
    Membership,
)

T = TypeVar("T")

ASSIGNORS = {RANGE: RangePartitionAssignor, STICKY: StickyPartitionAssignor}


class AiokafkaMember(Member):
    """AIOKafkaConsumer, subscribed, in an event loop and a thread of its own."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        super().__init__(bootstrap, membership)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._join())

    def poll(self) -> list[Record]:
        """Get the records of a short wait."""
        return self._run(self._poll())

    def assignment(self) -> set[int]:
        """As the consumer reports it."""
        return {each.partition for each in self._consumer.assignment()}

    def commit(self) -> None:
        """Commit and wait."""
        self._run(self._commit())

    def close(self) -> None:
        """Stop the consumer and end the loop."""
        self._run(self._consumer.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S_MAX)

    async def _join(self) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.membership.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            group_instance_id=self.membership.instance_id,
            partition_assignment_strategy=[ASSIGNORS[self.membership.strategy]],
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
        # Subscribed before it starts, it would wait for an assignment, and so for the members after it.
        await self._consumer.start()
        self._consumer.subscribe([self.membership.topic])

    async def _poll(self) -> list[Record]:
        try:
            polled = await self._consumer.getmany(timeout_ms=int(POLL_S * 1000))
        except KafkaError as error:
            raise refusal_of(error) from error
        return [record_of(record) for records in polled.values() for record in records]

    async def _commit(self) -> None:
        try:
            await self._consumer.commit()
        except KafkaError as error:
            raise refusal_of(error) from error
