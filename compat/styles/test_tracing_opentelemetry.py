"""Tracing: the producer's span and the consumer's span are one trace, carried by a record's headers.

OpenTelemetry's instrumentation of confluent-kafka, with spans kept in memory. dd-trace and others do the same
with headers of their own.
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from odradek.testing import Broker


class Spans:
    """The spans that have ended, by kind."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._kept.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def producer(odradek_broker: Broker, spans: Spans) -> Producer:
    plain = Producer({"bootstrap.servers": odradek_broker.bootstrap_servers})
    return ConfluentKafkaInstrumentor.instrument_producer(plain, spans.provider)


@pytest.fixture
def consumer(odradek_broker: Broker, odradek_topic: str, spans: Spans) -> Iterator[Consumer]:
    plain = Consumer(
        {
            "bootstrap.servers": odradek_broker.bootstrap_servers,
            "group.id": f"traced-{odradek_topic}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer = ConfluentKafkaInstrumentor.instrument_consumer(plain, spans.provider)
    consumer.subscribe([odradek_topic])
    yield consumer
    consumer.close()


def test_the_record_carries_the_span_that_sent_it(
    odradek_broker: Broker, odradek_topic: str, producer: Producer, spans: Spans
) -> None:
    with spans.provider.get_tracer("shop").start_as_current_span("order"):
        producer.produce(odradek_topic, b"lamp")
    assert producer.flush(30) == 0

    (sent,) = spans.named(f"{odradek_topic} send")
    (order,) = spans.named("order")
    (record,) = odradek_broker.records(odradek_topic)
    _, trace, span, _ = dict(record.headers)["traceparent"].decode().split("-")
    assert (int(trace, 16), int(span, 16)) == (sent.context.trace_id, sent.context.span_id)
    assert sent.parent == order.context


def test_who_reads_is_linked_to_who_sent(
    odradek_topic: str, producer: Producer, consumer: Consumer, spans: Spans
) -> None:
    producer.produce(odradek_topic, b"lamp", headers=[("source", b"shop")])
    assert producer.flush(30) == 0
    message = consumer.poll(30)
    consumer.poll(0)  # ends the span of the message before

    (sent,) = spans.named(f"{odradek_topic} send")
    (processed,) = spans.named(f"{odradek_topic} process")
    (link,) = processed.links
    assert link.context.span_id == sent.context.span_id
    assert processed.attributes["messaging.message.id"] == f"{odradek_topic}.0.0"
    assert ("source", b"shop") in message.headers()
