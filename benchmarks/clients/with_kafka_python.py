"""The jobs, done by kafka-python."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from benchmarks.clients.job import POLL_S, RECORDS_AT_ONCE, Figures, Job, value_of
from benchmarks.clients.stopwatch import Stopwatch

POLL_MS = int(1000 * POLL_S)


def read(job: Job) -> Figures:
    """Read records."""
    consumer = KafkaConsumer(
        bootstrap_servers=job.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=RECORDS_AT_ONCE,
    )
    consumer.assign([TopicPartition(job.topic, number) for number in range(job.partitions)])
    left = job.records
    with Stopwatch() as watch:
        while left > 0:
            found = consumer.poll(timeout_ms=POLL_MS)
            assert found, f"{left} records never came"
            left -= sum(map(len, found.values()))
    consumer.close()
    return watch.of_records(job.records)


def write(job: Job) -> Figures:
    """Write records one by one, and wait until all are acknowledged."""
    values = [value_of(number, job.record_bytes) for number in range(job.records)]
    producer = KafkaProducer(
        bootstrap_servers=job.bootstrap,
        linger_ms=5,
        batch_size=65536,
        compression_type=None if job.codec == "none" else job.codec,
    )
    producer.send(job.topic, b"first").get(timeout=POLL_S)
    with Stopwatch() as watch:
        receipts = [producer.send(job.topic, value) for value in values]
        producer.flush()
    for receipt in receipts:
        receipt.get(timeout=POLL_S)
    producer.close()
    return watch.of_records(job.records)
