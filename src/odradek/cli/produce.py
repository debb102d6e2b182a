"""`odradek produce`: lines of the standard input become records."""

import asyncio
import sys
from typing import Annotated

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from odradek.base.errors import OdradekError
from odradek.cli.output import BOOTSTRAP, Bootstrap, say

# How many records are sent before their acknowledgements are awaited.
UNACKNOWLEDGED_MAX = 10_000


def produce(
    topic: Annotated[str, typer.Argument(help="the topic")],
    key_separator: Annotated[
        str | None, typer.Option(help="what ends the key at the start of each line; none: no keys")
    ] = None,
    partition: Annotated[int | None, typer.Option(help="the partition; none: by key or in turn")] = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Send each line of the standard input as a record, acknowledged by all replicas."""
    sent = asyncio.run(_produce(bootstrap, topic, key_separator, partition))
    say(f"Sent {sent} records to {topic}.", as_error=True)


async def _produce(bootstrap: str, topic: str, key_separator: str | None, partition: int | None) -> int:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=5)
    sent = 0
    try:
        await producer.start()
        pending = []
        for line in sys.stdin.buffer:
            key, value = _split(line.rstrip(b"\r\n"), key_separator)
            pending.append(await producer.send(topic, value=value, key=key, partition=partition))
            sent += 1
            if len(pending) == UNACKNOWLEDGED_MAX:
                await asyncio.gather(*pending)
                pending = []
        await asyncio.gather(*pending)
    except KafkaError as error:
        raise OdradekError(f"cannot send to {topic}: {error}") from error
    finally:
        await producer.stop()
    return sent


def _split(line: bytes, key_separator: str | None) -> tuple[bytes | None, bytes]:
    if key_separator is None:
        return None, line
    key, found, value = line.partition(key_separator.encode())
    if not found:
        raise OdradekError(
            f"a line has no key separator '{key_separator}': {line[:60].decode(errors='replace')}"
        )
    return key, value
