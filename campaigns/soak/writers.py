"""An idempotent producer of numbered records, which notes what was acknowledged."""

import asyncio
import random

from odradek.aio import Producer
from odradek.client.aio.deliveries import Receipt

SOURCE = "soak"
PER_SECOND = 40
"""Records of one writer: few, so that hours fit on a disk and copying never falls behind."""


class Writer:
    """Writes the numbers from `first` in steps of `step`."""

    def __init__(self, bootstrap: str, first: int, step: int, chance: random.Random) -> None:
        self.acknowledged: set[int] = set()
        self.next = first
        self._bootstrap = bootstrap
        self._step = step
        self._chance = chance

    async def write(self, ending: asyncio.Event) -> None:
        """Write until `ending`, and wait for every answer. Raises ApiError if a record is refused."""
        codec = self._chance.choice(("none", "gzip", "lz4", "zstd"))
        settings = {"compression.type": codec, "linger.ms": self._chance.choice((0, 5, 50))}
        async with Producer(self._bootstrap, settings=settings) as producer, asyncio.TaskGroup() as answers:
            while not ending.is_set():
                number = self.next
                self.next += self._step
                sent = await producer.send(SOURCE, b"%d" % number + b" " * self._chance.randrange(400))
                answers.create_task(self._await_answer(number, sent))
                await asyncio.sleep(self._chance.expovariate(PER_SECOND))

    async def _await_answer(self, number: int, sent: asyncio.Future[Receipt]) -> None:
        await sent
        self.acknowledged.add(number)


def number_of(value: object) -> int:
    """The number that a record was written with."""
    assert isinstance(value, bytes), "every record has a value"
    return int(value)
