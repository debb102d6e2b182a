"""Records on their way from the application's threads to the producer on the network thread.

    outbox.put(record, delivery)     on any thread; waits while there is no room
    await outbox.emptied()           on the network thread: all that was put was added or has failed

A thread that sends does not wait for the network thread, which takes many records at once.

Invariants: records of a topic are added in the order in which they were put. What waits here takes at most
`ROOM` bytes and a record more; until then records that wait for their topic hold up no other topic's. Each
record is added, or fails, within `max.block.ms`.
"""

import asyncio
import time
from collections import deque
from typing import Any, Final, NamedTuple

from odradek.client.aio.home import Misuse
from odradek.client.aio.producer import Producer, closed
from odradek.client.aio.record_arguments import interrupted
from odradek.client.blocking.delivery import Delivery
from odradek.client.blocking.network_thread import NetworkThread
from odradek.client.blocking.shared_lock import SharedLock
from odradek.client.core.producer.batch import record_bytes_max
from odradek.client.core.producer.outgoing import Outgoing

ROOM: Final = 1 << 18
# How many records are added in one turn of the loop, which nothing may hold for long.
_IN_ONE_TURN: Final = 200
# What a record's objects take beside the bytes that are sent, roughly.
_OVERHEAD: Final = 64


class _Put(NamedTuple):
    record: Outgoing
    delivery: Delivery
    record_bytes: int
    """Its `record_bytes_max`."""
    ends_s: float
    """When it fails, on the monotonic clock."""


class Outbox:
    """See the module."""

    def __init__(self, producer: Producer[Any, Any], network: NetworkThread) -> None:
        self._producer = producer
        self._interceptors = producer.interceptors
        self._network = network
        self._max_block_s = producer.max_block_ms / 1000
        # Guards the fields below; threads wait on the condition for room.
        self._changed = SharedLock()
        self._put: deque[_Put] = deque()
        # The size of all records that are not added or failed yet, held ones among them.
        self._size = 0
        # Whether the network thread will take what was put.
        self._is_noticed = False
        self._is_closed = False
        # On the network thread: records that wait for their topic or for memory, and the tasks that add them.
        self._held: dict[str, deque[_Put]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # --- any thread

    def put(self, record: Outgoing, delivery: Delivery) -> None:
        """Have a record added; `delivery` gets what becomes of it. Raises Misuse.

        Interceptors see it first, on this thread.
        """
        self._network.check()
        record = self._interceptors.sent(record)
        _, value, key, headers, _, _ = record
        record_bytes = record_bytes_max(key, value, headers)
        is_put = False
        try:
            with self._changed:
                while self._size >= ROOM and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    raise Misuse("this producer was closed")
                self._put.append(_Put(record, delivery, record_bytes, time.monotonic() + self._max_block_s))
                is_put = True
                self._size += record_bytes + _OVERHEAD
                if not self._is_noticed:
                    self._network.post(self._take)
                    self._is_noticed = True
        except BaseException as error:
            if not is_put:
                said = error if isinstance(error, Exception) else interrupted()
                self._interceptors.acknowledged(record.topic, None, said)
            raise

    def close(self) -> None:
        """Let no thread put anything any more; those that wait for room are told."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    # --- the network thread

    async def emptied(self) -> None:
        """Return when all that was put so far is added to the producer, or failed."""
        left = len(self._put)
        while left > 0:
            self._take()
            left -= _IN_ONE_TURN
            await asyncio.sleep(0)
        if self._tasks:
            await asyncio.wait(self._tasks)

    def fail_all(self) -> None:
        """The producer was abandoned, and no task adds records any more: whatever is still here fails."""
        for held in self._held.values():  # whose task was ended before it began
            self._put.extend(held)
        while self._put:
            self._fail(self._put.popleft(), closed())

    def _take(self) -> None:
        freed = 0
        for _ in range(min(len(self._put), _IN_ONE_TURN)):
            one = self._put.popleft()
            if self._is_added(one):
                freed += one.record_bytes + _OVERHEAD
        self._free(freed)
        with self._changed:
            self._is_noticed = bool(self._put)
            if self._is_noticed:
                self._network.post(self._take)

    def _is_added(self, one: _Put) -> bool:
        """Add or fail a record; else keep it, behind others of its topic."""
        topic = one.record.topic
        if topic in self._held:
            self._held[topic].append(one)
            return False
        try:
            if self._producer.add(one.record, one.delivery, one.record_bytes):
                return True
        except Exception as error:
            self._fail(one, error)
            return True
        self._held[topic] = deque([one])
        task = asyncio.get_running_loop().create_task(self._add_held(topic))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return False

    async def _add_held(self, topic: str) -> None:
        held = self._held[topic]
        try:
            while held:
                left_ms = max(0, int((held[0].ends_s - time.monotonic()) * 1000))
                try:
                    await self._producer.add_later(
                        held[0].record, held[0].delivery, held[0].record_bytes, left_ms
                    )
                except Exception as error:
                    self._fail(held[0], error)
                self._free(held.popleft().record_bytes + _OVERHEAD)
        finally:
            del self._held[topic]
            for one in held:  # the network thread ends
                self._fail(one, closed())

    def _free(self, size: int) -> None:
        if size:
            with self._changed:
                self._size -= size
                self._changed.notify_all()

    def _fail(self, one: _Put, error: Exception) -> None:
        """A record is not added."""
        self._interceptors.acknowledged(one.record.topic, None, error)
        one.delivery.end(error)
