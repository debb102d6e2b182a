"""Looks once at a topic that an application names, before it waits for anything of it."""

from odradek.client.aio.driver import Driver
from odradek.client.aio.reaching import first_answer
from odradek.client.core.topic_partitions import count_request, counted
from odradek.wire.messages.metadata import MetadataResponse


async def partition_count(driver: Driver, topic: str, timeout_ms: int) -> int | None:
    """How many partitions a topic has, as one broker says; None if there is no such topic yet.

    Raises ConnectionFailed, with all reasons, if no bootstrap server answers; ApiError for a topic that may
    not be seen, and for a name that no topic may have.
    """
    outcome = await first_answer(driver, lambda: count_request(topic, timeout_ms))
    return counted(topic, outcome.answer(MetadataResponse))
