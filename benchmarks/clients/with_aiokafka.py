"""The jobs, done by aiokafka."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.clients.job import POLL_S, RECORDS_AT_ONCE, Figures, Job, value_of
from benchmarks.clients.stopwatch import Stopwatch, of_trips
from benchmarks.clients.with_odradek import REST_BEFORE_S, REST_S, TRIPS_BEFORE
from benchmarks.clients.with_odradek_aio import on_a_loop

POLL_MS = int(1000 * POLL_S)


async def started_consumer(job: Job) -> AIOKafkaConsumer:
    """A consumer that reads the topic from its beginning."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=job.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    consumer.assign([TopicPartition(job.topic, number) for number in range(job.partitions)])
    return consumer


async def started_producer(job: Job, linger_ms: int) -> AIOKafkaProducer:
    """A producer with the settings that all have."""
    producer = AIOKafkaProducer(
        bootstrap_servers=job.bootstrap,
        linger_ms=linger_ms,
        max_batch_size=65536,
        compression_type=None if job.codec == "none" else job.codec,
        enable_idempotence=True,
    )
    await producer.start()
    return producer


@on_a_loop
async def read(job: Job) -> Figures:
    """Read records."""
    consumer = await started_consumer(job)
    left = job.records
    with Stopwatch() as watch:
        while left > 0:
            found = await consumer.getmany(timeout_ms=POLL_MS, max_records=RECORDS_AT_ONCE)
            assert found, f"{left} records never came"
            left -= sum(map(len, found.values()))
    await consumer.stop()
    return watch.of_records(job.records)


@on_a_loop
async def write(job: Job) -> Figures:
    """Write records one by one, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    producer = await started_producer(job, linger_ms=5)
    await producer.send_and_wait(job.topic, b"first")
    with Stopwatch() as watch:
        receipts = [await producer.send(job.topic, value) for value in values]
        await producer.flush()
    await asyncio.gather(*receipts)
    await producer.stop()
    return watch.of_records(job.records)


@on_a_loop
async def round_trips(job: Job) -> Figures:
    """Write a record, get its receipt, and read it, again and again."""
    consumer, producer = await started_consumer(job), await started_producer(job, linger_ms=0)
    took = []
    for _ in range(TRIPS_BEFORE + job.records):
        began_s = time.perf_counter()
        await producer.send_and_wait(job.topic, b"there and back")
        while not await consumer.getmany(timeout_ms=POLL_MS):
            pass
        took.append(time.perf_counter() - began_s)
    await producer.stop()
    await consumer.stop()
    return of_trips(took[TRIPS_BEFORE:])


@on_a_loop
async def rest(job: Job) -> Figures:
    """Have empty partitions, of which nothing comes."""
    consumer = await started_consumer(job)
    await consumer.getmany(timeout_ms=int(1000 * REST_BEFORE_S))
    with Stopwatch() as watch:
        await consumer.getmany(timeout_ms=int(1000 * REST_S))
    await consumer.stop()
    return watch.of_rest()
