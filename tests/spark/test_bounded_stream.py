"""Streams with bounded batches, where PySpark has them (4.2 and later: `./dev spark 4.2.1`).

`./dev spark 4.2.0 --client` has no Spark, and leaves out the query.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.testing import Broker

admission = pytest.importorskip("pyspark.sql.streaming.datasource", reason="PySpark 4.2 or later")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    import pyspark

    from odradek.spark.session import spark_session

    if not (Path(pyspark.__file__).parent / "jars").is_dir():
        pytest.skip("PySpark's client has no Spark")
    session = spark_session("test-bounded-stream")
    yield session
    session.stop()


class Time:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def reader(broker: Broker, topic: str, time: Time | None = None, **options: str) -> Any:
    from odradek.spark.bounded_stream import BoundedStreamReader

    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic} | options
    return BoundedStreamReader(given, monotonic_s=time or Time())


def send(broker: Broker, topic: str, counts: dict[int, int]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition, count in counts.items():
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(30) == 0


def test_the_limit_of_the_options_is_what_spark_is_told(broker: Broker) -> None:
    assert reader(broker, "t").getDefaultReadLimit() == admission.ReadAllAvailable()
    most = reader(broker, "t", maxOffsetsPerTrigger="70", minOffsetsPerTrigger="7")
    assert most.getDefaultReadLimit() == admission.ReadMaxRows(70)
    assert reader(broker, "t", minOffsetsPerTrigger="7").getDefaultReadLimit() == admission.ReadMinRows(7)


def test_a_batch_has_what_its_limit_says(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    send(broker, topic, {0: 90, 1: 10})
    stream, start = reader(broker, topic), {topic: {"0": 0, "1": 0}}
    assert stream.reportLatestOffset() is None
    assert stream.latestOffset(start, admission.ReadMaxRows(10)) == {topic: {"0": 9, "1": 1}}
    assert stream.latestOffset(start, admission.ReadAllAvailable()) == {topic: {"0": 90, "1": 10}}
    assert stream.reportLatestOffset() == {topic: {"0": 90, "1": 10}}


def test_a_partition_that_was_added_is_read_from_its_first_record(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    send(broker, topic, {0: 90, 1: 10})
    stream = reader(broker, topic)
    assert stream.latestOffset({topic: {"0": 90}}, admission.ReadMaxRows(3)) == {topic: {"0": 90, "1": 3}}


def test_a_batch_waits_for_enough_and_no_longer_than_told(broker: Broker) -> None:
    topic = broker.create_topic(partitions=1)
    time, start = Time(), {topic: {"0": 0}}
    stream = reader(broker, topic, time, minOffsetsPerTrigger="10", maxTriggerDelay="30s")
    least = stream.getDefaultReadLimit()
    send(broker, topic, {0: 4})
    first = stream.latestOffset(start, least)
    assert first == {topic: {"0": 4}}, "the first batch waits for nothing"
    send(broker, topic, {0: 9})
    time.now_s = 29.9
    assert stream.latestOffset(first, least) == first
    assert stream.latestOffset(first, admission.ReadAllAvailable()) == {topic: {"0": 13}}, "Trigger.Once"
    send(broker, topic, {0: 1})
    second = stream.latestOffset(first, least)
    assert second == {topic: {"0": 14}}
    send(broker, topic, {0: 1})
    time.now_s = 59.8
    assert stream.latestOffset(second, least) == second
    time.now_s = 59.9
    assert stream.latestOffset(second, least) == {topic: {"0": 15}}


def test_available_now_ends_where_the_topic_ended_at_its_begin(broker: Broker) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, {0: 5})
    stream = reader(broker, topic, maxOffsetsPerTrigger="3", minOffsetsPerTrigger="3")
    stream.prepareForTriggerAvailableNow()
    send(broker, topic, {0: 50})
    at, seen = {topic: {"0": 0}}, []
    for _ in range(3):
        at = stream.latestOffset(at, admission.ReadMaxRows(3))
        seen.append(at[topic]["0"])
    assert seen == [3, 5, 5], "the last two are fewer than minOffsetsPerTrigger, and not waited for"


def test_a_query_reads_in_batches_and_ends(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=2)
    table, checkpoint = str(tmp_path / "table"), str(tmp_path / "checkpoint")
    batches: list[int] = []

    def run() -> None:
        stream = spark.readStream.format("odradek").options(
            **{"kafka.bootstrap.servers": broker.bootstrap_servers},
            subscribe=topic,
            startingOffsets="earliest",
            maxOffsetsPerTrigger="40",
        )
        writer = stream.load().writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start(table)
        assert query.awaitTermination(240)
        batches.extend(one.numInputRows for one in query.recentProgress if one.numInputRows)

    def numbers() -> list[tuple[int, int]]:
        rows = spark.read.parquet(table).select("partition", "offset").collect()
        return sorted((row["partition"], row["offset"]) for row in rows)

    send(broker, topic, {0: 75, 1: 25})
    run()
    assert batches == [40, 40, 20]
    assert numbers() == [(0, offset) for offset in range(75)] + [(1, offset) for offset in range(25)]
    send(broker, topic, {0: 10, 1: 10})
    run()
    assert batches == [40, 40, 20, 20]
    assert numbers() == [(0, offset) for offset in range(85)] + [(1, offset) for offset in range(35)]
