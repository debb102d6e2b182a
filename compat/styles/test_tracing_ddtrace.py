"""Tracing with ddtrace: the consumer's span belongs to the trace of the producer, which the headers carry.

A trace filter keeps the spans and sends none of them, so no agent is needed.
"""

from collections.abc import Iterator

import confluent_kafka
import pytest
from ddtrace import config, patch
from ddtrace.trace import Span, TraceFilter, tracer

from odradek.testing import Broker

patch(kafka=True)
config.kafka["distributed_tracing_enabled"] = True
config.kafka["trace_empty_poll_enabled"] = False


class Spans(TraceFilter):
    """The spans of traces that have ended."""

    def __init__(self) -> None:
        self.ended: list[Span] = []

    def process_trace(self, trace: list[Span]) -> None:
        self.ended += trace

    def named(self, name: str) -> list[Span]:
        return [span for span in self.ended if span.name == name]


SPANS = Spans()
tracer.configure(trace_processors=[SPANS])


@pytest.fixture
def spans() -> Spans:
    SPANS.ended.clear()
    return SPANS


@pytest.fixture
def consumer(odradek_broker: Broker, odradek_topic: str) -> Iterator[confluent_kafka.Consumer]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": odradek_broker.bootstrap_servers,
            "group.id": f"traced-{odradek_topic}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([odradek_topic])
    yield consumer
    consumer.close()


def test_sending_and_reading_are_one_trace(
    odradek_broker: Broker, odradek_topic: str, consumer: confluent_kafka.Consumer, spans: Spans
) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": odradek_broker.bootstrap_servers})
    producer.produce(odradek_topic, b"lamp", key="42")
    assert producer.flush(30) == 0
    message = consumer.poll(30)

    (sent,), (read,) = spans.named("kafka.produce"), spans.named("kafka.consume")
    assert message.value() == b"lamp"
    assert (read.trace_id, read.parent_id) == (sent.trace_id, sent.span_id)
    assert read.get_tag("kafka.topic") == odradek_topic
    assert read.get_metric("kafka.partition") == 0
    (record,) = odradek_broker.records(odradek_topic)
    assert dict(record.headers)["x-datadog-parent-id"] == str(sent.span_id).encode()


def test_a_tombstone_is_marked(
    odradek_broker: Broker, odradek_topic: str, consumer: confluent_kafka.Consumer, spans: Spans
) -> None:
    odradek_broker.produce(odradek_topic, None, key="42")
    assert consumer.poll(30).value() is None
    (read,) = spans.named("kafka.consume")
    assert read.get_tag("kafka.tombstone") == "True"
