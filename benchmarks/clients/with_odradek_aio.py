"""The jobs, done by the clients of `odradek.aio`."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import wraps

from benchmarks.clients.job import POLL_S, RECORDS_AT_ONCE, Figures, Job, Work, value_of
from benchmarks.clients.stopwatch import Stopwatch, of_trips
from benchmarks.clients.with_odradek import (
    REST_BEFORE_S,
    REST_S,
    TRIPS_BEFORE,
    consumer_settings,
    producer_settings,
)
from odradek.aio import Consumer, Producer, TopicPartition


def on_a_loop(work: Callable[[Job], Coroutine[None, None, Figures]]) -> Work:
    """Work that runs on an event loop."""

    @wraps(work)
    def run(job: Job) -> Figures:
        return asyncio.run(work(job))

    return run


def consumer_of(job: Job, **settings: int) -> Consumer:
    """A consumer that reads the topic from its beginning."""
    consumer = Consumer(**(consumer_settings(job) | settings))
    consumer.assign([TopicPartition(job.topic, number) for number in range(job.partitions)])
    return consumer


def producer_of(job: Job, linger_ms: int) -> Producer:
    """A producer with the settings that all have."""
    return Producer(**producer_settings(job, linger_ms))


@on_a_loop
async def read(job: Job) -> Figures:
    """Read records."""
    async with consumer_of(job, max_poll_records=RECORDS_AT_ONCE) as consumer:
        left = job.records
        with Stopwatch() as watch:
            while left > 0:
                records = await consumer.poll(POLL_S)
                assert records, f"{left} records never came"
                left -= len(records)
    return watch.of_records(job.records)


@on_a_loop
async def write(job: Job) -> Figures:
    """Write records one by one, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    async with producer_of(job, linger_ms=5) as producer:
        await (await producer.send(job.topic, b"first"))
        with Stopwatch() as watch:
            receipts = [await producer.send(job.topic, value) for value in values]
            await producer.flush()
        for receipt in receipts:
            receipt.result()
    return watch.of_records(job.records)


@on_a_loop
async def round_trips(job: Job) -> Figures:
    """Write a record, get its receipt, and read it, again and again."""
    took = []
    async with consumer_of(job) as consumer, producer_of(job, linger_ms=0) as producer:
        for _ in range(TRIPS_BEFORE + job.records):
            began_s = time.perf_counter()
            await (await producer.send(job.topic, b"there and back"))
            while not await consumer.poll(POLL_S):
                pass
            took.append(time.perf_counter() - began_s)
    return of_trips(took[TRIPS_BEFORE:])


@on_a_loop
async def rest(job: Job) -> Figures:
    """Have empty partitions, of which nothing comes."""
    async with consumer_of(job) as consumer:
        await consumer.poll(REST_BEFORE_S)
        with Stopwatch() as watch:
            await consumer.poll(REST_S)
    return watch.of_rest()
