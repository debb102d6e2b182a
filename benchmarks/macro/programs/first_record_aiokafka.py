"""BOOTSTRAP TOPIC GROUP: aiokafka; prints `ready` at its start, `record` at its first record."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer


async def main() -> None:
    """Consume one record."""
    bootstrap, topic, group = sys.argv[1:]
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
    )
    await consumer.start()
    await consumer.getone()
    print("record", flush=True)
    await consumer.stop()


print("ready", flush=True)
asyncio.run(main())
