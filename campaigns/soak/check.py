"""What must be true after a soak: each record is in each topic once, and nothing of clients is left."""

import asyncio
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from campaigns.soak.writers import number_of
from odradek.aio import Consumer
from odradek.base.ids import TopicPartition

GROWN_MB_MAX: Final = 40.0
"""What memory may grow by between the first quarter of the time and its end."""


class Broken(Exception):
    """A promise is broken; the message has the first few cases."""


async def read_committed(bootstrap: str, topic: str, partitions: int) -> list[int]:
    """The numbers of all committed records of a topic, up to where its partitions end now."""
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    settings = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    async with Consumer(bootstrap_servers=bootstrap, settings=settings) as consumer:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        found: list[int] = []
        while any([await consumer.position(place) < ends[place] for place in places]):
            found += [number_of(record.value) for record in await consumer.poll(1.0)]
    return found


def check_copies(topic: str, found: Sequence[int], acknowledged: Collection[int]) -> None:
    """Raise Broken if a record is missing in `topic`, or is there twice."""
    twice = sorted(number for number, times in Counter(found).items() if times > 1)
    if twice:
        raise Broken(f"{len(twice)} records are more than once in {topic}: {twice[:5]}")
    lost = sorted(set(acknowledged) - set(found))
    if lost:
        raise Broken(f"{len(lost)} acknowledged records are missing in {topic}: {lost[:5]}")


def check_same(topic: str, found: Collection[int], source: Collection[int]) -> None:
    """Raise Broken if a copy has a record that its source has not."""
    invented = sorted(set(found) - set(source))
    if invented:
        raise Broken(f"{len(invented)} records of {topic} were never written: {invented[:5]}")


def check_nothing_left(threads_before: int) -> None:
    """Raise Broken if clients that are closed have left tasks or threads behind."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        raise Broken(f"{len(tasks)} tasks are left over: {[task.get_name() for task in tasks][:5]}")
    # The loop's executor keeps its threads, as many as it ever used at once.
    threads = [thread.name for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
    if len(threads) > threads_before:
        raise Broken(f"threads are left over: {threads}")


def check_memory(resident_mb: Sequence[float]) -> None:
    """Raise Broken if memory has grown on and on; samples are as far apart as each other."""
    first = resident_mb[len(resident_mb) // 4 : len(resident_mb) // 2]
    last = resident_mb[-(len(resident_mb) // 4) or -1 :]
    if first and min(last) - max(first) > GROWN_MB_MAX:
        raise Broken(f"memory has grown from {max(first):.0f} to {min(last):.0f} MB")
