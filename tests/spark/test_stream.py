"""Streams of a whole Spark: from topic to table, over a restart from the checkpoint."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.testing import Broker

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
    from odradek.spark.session import spark_session

    session = spark_session("test-stream")
    yield session
    session.stop()


def send(broker: Broker, topic: str, numbers: range) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in numbers:
        producer.produce(topic, b"%d" % number, b"k%d" % number)
    assert producer.flush(30) == 0


def numbers_in(frame: Any) -> list[int]:
    return sorted(row["n"] for row in frame.selectExpr("cast(cast(value as string) as int) as n").collect())


def test_a_query_goes_on_from_its_checkpoint(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=2)
    table, checkpoint = str(tmp_path / "table"), str(tmp_path / "checkpoint")
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}

    def run() -> None:
        stream = spark.readStream.format("odradek").options(
            **servers, subscribe=topic, startingOffsets="earliest"
        )
        writer = stream.load().writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = writer.start(table)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    send(broker, topic, range(100))
    run()
    assert numbers_in(spark.read.parquet(table)) == list(range(100))
    send(broker, topic, range(100, 250))
    run()
    assert numbers_in(spark.read.parquet(table)) == list(range(250))


def test_a_query_with_a_bad_option_fails_with_its_sentence_first(
    broker: Broker, spark: Any, tmp_path: Path
) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t"}
    stream = spark.readStream.format("odradek").options(**options, endingOffsets="latest").load()
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(Exception, match="endingOffsets is for batches") as refused:
        query.awaitTermination(120)
    assert "Traceback" not in str(refused.value).split("endingOffsets is for batches")[0]
