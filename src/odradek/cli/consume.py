"""`odradek consume`: records of a topic as lines, or as JSON."""

import asyncio
import sys
from typing import Annotated

import typer
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from odradek.base.errors import OdradekError
from odradek.base.visible import visible
from odradek.cli.output import BOOTSTRAP, Bootstrap, say, say_json
from odradek.client.admin import Admin


def consume(
    topic: Annotated[str, typer.Argument(help="the topic")],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="from the first record")] = False,
    max_messages: Annotated[int | None, typer.Option(help="stop after so many records")] = None,
    timeout: Annotated[float | None, typer.Option(help="stop after so many seconds without a record")] = None,
    partition: Annotated[int | None, typer.Option(help="only this partition")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a record, with everything")
    ] = False,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> None:
    """Print the values of new records until Ctrl-C."""
    with Admin(bootstrap) as admin:
        known = [one.partition for one in admin.list_topics([topic])[0].partitions]
    asyncio.run(_consume(bootstrap, topic, known, from_beginning, max_messages, timeout, partition, as_json))


async def _consume(
    bootstrap: str,
    topic: str,
    known: list[int],
    from_beginning: bool,
    max_messages: int | None,
    timeout_s: float | None,
    partition: int | None,
    as_json: bool,
) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    shown = 0
    try:
        await consumer.start()
        _assign(consumer, topic, known, partition)
        await (consumer.seek_to_beginning if from_beginning else consumer.seek_to_end)()
        while max_messages is None or shown < max_messages:
            record = await asyncio.wait_for(consumer.getone(), timeout_s)
            _print(record, as_json)
            shown += 1
    except TimeoutError:
        say(f"No record for {timeout_s} s; {shown} were shown.", as_error=True)
    except KafkaError as error:
        raise OdradekError(f"cannot read {topic}: {error}") from error
    finally:
        await consumer.stop()


def _assign(consumer: AIOKafkaConsumer, topic: str, known: list[int], partition: int | None) -> None:
    if partition is not None and partition not in known:
        raise OdradekError(f"there is no partition {partition} of topic {topic}")
    consumer.assign([TopicPartition(topic, one) for one in known if partition in (None, one)])


def _print(record: ConsumerRecord, as_json: bool) -> None:
    if not as_json:
        value = record.value or b""
        if sys.stdout.isatty():  # A person reads, and a record's maker must not steer the terminal.
            value = visible(_text(value) or "").encode()
        sys.stdout.buffer.write(value + b"\n")
        sys.stdout.buffer.flush()
        return
    shown = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers],
    }
    say_json(shown)
    sys.stdout.flush()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")
