"""The jobs, done by the blocking clients of `odradek`."""

import time
from typing import Any

import pyarrow as pa

from benchmarks.clients.job import GROUP, POLL_S, RECORDS_AT_ONCE, Figures, Job, value_of
from benchmarks.clients.stopwatch import Stopwatch, of_trips
from odradek import Consumer, Producer, TopicPartition

TABLE_ROWS = 10_000
TRIPS_BEFORE = 100
"""Round trips that are not counted: connections are made, and code is loaded."""
WORK_S = 0.010
"""What an application does with the records of a poll."""
RECORDS_PER_POLL = 500
REST_BEFORE_S, REST_S = 3.0, 10.0


def consumer_of(job: Job, **settings: int) -> Consumer:
    """A consumer that reads the topic from its beginning."""
    consumer = Consumer(**(consumer_settings(job) | settings))
    consumer.assign([TopicPartition(job.topic, number) for number in range(job.partitions)])
    return consumer


def producer_of(job: Job, linger_ms: int) -> Producer:
    """A producer with the settings that all have."""
    return Producer(**producer_settings(job, linger_ms))


def consumer_settings(job: Job) -> dict[str, Any]:
    """Those of both our consumers."""
    return {
        "bootstrap_servers": job.bootstrap,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "group_id": GROUP,
    }


def producer_settings(job: Job, linger_ms: int) -> dict[str, Any]:
    """Those of both our producers."""
    return {
        "bootstrap_servers": job.bootstrap,
        "linger_ms": linger_ms,
        "batch_size": 65536,
        "compression_type": job.codec,
    }


def read(job: Job) -> Figures:
    """Read records."""
    with consumer_of(job, max_poll_records=RECORDS_AT_ONCE) as consumer:
        left = job.records
        with Stopwatch() as watch:
            while left > 0:
                records = consumer.poll(POLL_S)
                assert records, f"{left} records never came"
                left -= len(records)
    return watch.of_records(job.records)


def read_columns(job: Job) -> Figures:
    """Read records as columns."""
    with consumer_of(job) as consumer:
        left = job.records
        with Stopwatch() as watch:
            while left > 0:
                batch = consumer.poll_batch(POLL_S)
                assert batch is not None, f"{left} records never came"
                left -= batch.num_rows
    return watch.of_records(job.records)


def write(job: Job) -> Figures:
    """Write records one by one, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    with producer_of(job, linger_ms=5) as producer:
        producer.send(job.topic, b"first").result()
        with Stopwatch() as watch:
            deliveries = [producer.send(job.topic, value) for value in values]
            producer.flush()
        for delivery in deliveries:
            delivery.result()
    return watch.of_records(job.records)


def write_table(job: Job) -> Figures:
    """Write records from tables, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    tables = [
        pa.table({"value": pa.array(values[first : first + TABLE_ROWS], pa.binary())})
        for first in range(0, job.records, TABLE_ROWS)
    ]
    with producer_of(job, linger_ms=5) as producer:
        producer.send(job.topic, b"first").result()
        with Stopwatch() as watch:
            deliveries = [producer.produce_batch(table, topic=job.topic) for table in tables]
            producer.flush()
        for delivery in deliveries:
            delivery.result()
    return watch.of_records(job.records)


def round_trips(job: Job) -> Figures:
    """Write a record, get its receipt, and read it, again and again."""
    took = []
    with consumer_of(job) as consumer, producer_of(job, linger_ms=0) as producer:
        for _ in range(TRIPS_BEFORE + job.records):
            began_s = time.perf_counter()
            producer.send(job.topic, b"there and back").result()
            while not consumer.poll(POLL_S):
                pass
            took.append(time.perf_counter() - began_s)
    return of_trips(took[TRIPS_BEFORE:])


def work_on_records(job: Job) -> Figures:
    """Read records, and work on those of each poll: the share of the time that is the work."""
    with consumer_of(job, max_poll_records=RECORDS_PER_POLL) as consumer:
        left, worked_s = job.records, 0.0
        consumer.poll(POLL_S)  # the connection is made
        with Stopwatch() as watch:
            while left > RECORDS_PER_POLL:
                left -= len(consumer.poll(POLL_S))
                began_s = time.perf_counter()
                time.sleep(WORK_S)
                worked_s += time.perf_counter() - began_s
    return {"share": worked_s / watch.took_s}


def rest(job: Job) -> Figures:
    """Have empty partitions, of which nothing comes."""
    with consumer_of(job) as consumer:
        consumer.poll(REST_BEFORE_S)
        with Stopwatch() as watch:
            consumer.poll(REST_S)
    return watch.of_rest()
