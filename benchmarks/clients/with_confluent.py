"""The jobs, done by confluent-kafka, which is librdkafka."""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from benchmarks.clients.job import GROUP, POLL_S, RECORDS_AT_ONCE, Figures, Job, value_of
from benchmarks.clients.stopwatch import Stopwatch, of_trips
from benchmarks.clients.with_odradek import REST_BEFORE_S, REST_S, TRIPS_BEFORE


def consumer_of(job: Job) -> Consumer:
    """A consumer that reads the topic from its beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(job.topic, number, 0) for number in range(job.partitions)])
    return consumer


def producer_of(job: Job, linger_ms: int) -> Producer:
    """A producer with the settings that all have."""
    return Producer(
        {
            "bootstrap.servers": job.bootstrap,
            "linger.ms": linger_ms,
            "batch.size": 65536,
            "compression.type": job.codec,
            "enable.idempotence": True,
        }
    )


def read(job: Job) -> Figures:
    """Read records in lists."""
    consumer = consumer_of(job)
    left = job.records
    with Stopwatch() as watch:
        while left > 0:
            records = consumer.consume(min(left, RECORDS_AT_ONCE), timeout=POLL_S)
            assert records, f"{left} records never came"
            left -= len(records)
    consumer.close()
    return watch.of_records(job.records)


def write(job: Job) -> Figures:
    """Write records one by one, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    acknowledged = 0

    def reported(error: KafkaError | None, message: Message) -> None:
        nonlocal acknowledged
        if error is not None:
            raise KafkaException(error)
        acknowledged += 1

    producer = producer_of(job, linger_ms=5)
    producer.produce(job.topic, b"first")
    producer.flush()
    with Stopwatch() as watch:
        for value in values:
            while True:
                try:
                    producer.produce(job.topic, value, on_delivery=reported)
                    break
                except BufferError:
                    producer.poll(0.01)
            producer.poll(0)
        producer.flush()
    assert acknowledged == job.records
    return watch.of_records(job.records)


def round_trips(job: Job) -> Figures:
    """Write a record, get its receipt, and read it, again and again."""
    consumer, producer = consumer_of(job), producer_of(job, linger_ms=0)
    took = []
    for _ in range(TRIPS_BEFORE + job.records):
        began_s = time.perf_counter()
        producer.produce(job.topic, b"there and back")
        producer.flush()
        while consumer.poll(POLL_S) is None:
            pass
        took.append(time.perf_counter() - began_s)
    consumer.close()
    return of_trips(took[TRIPS_BEFORE:])


def rest(job: Job) -> Figures:
    """Have empty partitions, of which nothing comes."""
    consumer = consumer_of(job)
    consumer.poll(REST_BEFORE_S)
    with Stopwatch() as watch:
        consumer.poll(REST_S)
    consumer.close()
    return watch.of_rest()
