"""Sends the flights to a topic with an unmodified Kafka client."""

from asyncio import Future
from collections.abc import Callable, Iterable

from aiokafka import AIOKafkaProducer


async def produce(
    bootstrap: str, topic: str, records: Iterable[tuple[bytes, bytes]], on_sent: Callable[[int], None]
) -> int:
    """Send every (key, value) once, idempotently; `on_sent` gets the number sent since its last call.

    Returns how many the broker acknowledged.
    """
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        compression_type="lz4",
        linger_ms=5,
        max_batch_size=256 * 1024,
    )
    await producer.start()
    acknowledged = 0
    try:
        pending = []
        for key, value in records:
            pending.append(await producer.send(topic, key=key, value=value))
            if len(pending) == 5_000:
                acknowledged += await _acknowledged(pending)
                on_sent(len(pending))
                pending = []
        acknowledged += await _acknowledged(pending)
        on_sent(len(pending))
    finally:
        await producer.stop()
    return acknowledged


async def _acknowledged(pending: list[Future[object]]) -> int:
    for one in pending:
        await one
    return len(pending)
