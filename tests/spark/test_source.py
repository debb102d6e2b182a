import json
from collections.abc import Iterator

import pytest

from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_reads_a_topic_with_the_kafka_source_s_columns(broker: Broker) -> None:
    from confluent_kafka import Producer

    from odradek.spark.session import spark_session

    topic = broker.create_topic(partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(3000):
        producer.produce(topic, b"%d" % number, b"k%d" % (number % 7), headers={"h": b"1"})
    assert producer.flush(30) == 0
    spark = spark_session("test-source")
    try:
        servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        whole = {**servers, "subscribe": topic, "includeHeaders": "true"}
        frame = spark.read.format("odradek").options(**whole).load()
        assert frame.columns == [
            "key",
            "value",
            "topic",
            "partition",
            "offset",
            "timestamp",
            "timestampType",
            "headers",
        ]
        rows = frame.selectExpr("cast(cast(value as string) as int) as number").collect()
        assert sorted(row["number"] for row in rows) == list(range(3000))
        assign, ending = json.dumps({topic: [1]}), json.dumps({topic: {"1": 10}})
        part = {**servers, "assign": assign, "endingOffsets": ending}
        rows = spark.read.format("odradek").options(**part).load().collect()
        assert sorted(row["offset"] for row in rows) == list(range(10))
        found = spark.newSession()  # Nothing is registered in it: Spark finds the source by itself.
        assert found.read.format("odradek").options(**part).load().count() == 10
        with pytest.raises(Exception, match="there is no topic nowhere") as refused:
            found.read.format("odradek").options(**servers, subscribe="nowhere").load().collect()
        assert "Traceback" not in str(refused.value).split("there is no topic nowhere")[0]
    finally:
        spark.stop()
