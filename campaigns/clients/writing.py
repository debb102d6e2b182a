"""An idempotent producer of numbered records, which notes what became of each of them."""

import asyncio
from typing import Final

from campaigns.clients.application import API_MS, PARTITIONS, SLACK_S, SOURCE, Setting
from odradek.aio import Producer, Receipt, TopicPartition
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError

PASSING: Final = frozenset(
    {
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
"""What mishaps may end a record with, once its time is over."""
EVERY_S: Final = 0.3
"""The average time between two records of a writer."""


async def write(setting: Setting, name: str) -> None:
    """Write until the run's writing ends, and wait for every answer."""
    chance = setting.chance
    delivery_ms = chance.choice((6_000, 12_000, 60_000))
    settings = {
        **setting.common,
        "delivery.timeout.ms": delivery_ms,
        "max.block.ms": API_MS,
        "linger.ms": chance.choice((0, 5, 100)),
        "batch.size": chance.choice((50, 300, 16_384)),
        "compression.type": chance.choice(("none", "lz4")),
        "max.in.flight.requests.per.connection": chance.choice((1, 5)),
    }
    producer = Producer(settings=settings)
    numbers = [0] * PARTITIONS
    async with asyncio.TaskGroup() as answers:
        while setting.is_writing:
            at = chance.randrange(PARTITIONS)
            value = b"%s %d" % (name.encode(), numbers[at])
            numbers[at] += 1
            try:
                async with setting.within(API_MS / 1000, f"{name}: send", producer):
                    sent = await producer.send(SOURCE, value, partition=at)
            except ApiError as error:
                setting.refused("send", error, PASSING)
            else:
                limit_s = delivery_ms / 1000 + SLACK_S
                answers.create_task(_answer(setting, sent, value, at, limit_s))
            await asyncio.sleep(chance.expovariate(1 / EVERY_S))
        async with setting.within(delivery_ms / 1000, f"{name}: close", producer):
            await producer.close()


async def _answer(
    setting: Setting, sent: "asyncio.Future[Receipt]", value: bytes, partition: int, limit_s: float
) -> None:
    await asyncio.wait((sent,), timeout=limit_s)
    if not sent.done():
        setting.ledger.broken(f"{value!r} has no answer after {limit_s:g} s")
        sent.cancel()
    elif isinstance(error := sent.exception(), ApiError):
        setting.refused("delivery", error, PASSING)
    else:
        receipt = sent.result()
        setting.ledger.acknowledged(TopicPartition(SOURCE, partition), receipt.offset, value)
