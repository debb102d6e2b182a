"""Sends numbers to a simulated cluster."""

from collections.abc import Iterable

from aiokafka import AIOKafkaProducer

from odradek.testing import Cluster


async def produce(
    cluster: Cluster, numbers: Iterable[int], *, partitions: int = 1, topic: str = "orders"
) -> None:
    """Send each number, as text, to the partition that its remainder names; all are acknowledged."""
    async with AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, acks="all", enable_idempotence=True
    ) as producer:
        for number in numbers:
            await producer.send_and_wait(topic, b"%d" % number, partition=number % partitions)
