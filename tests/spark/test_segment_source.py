from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_what_the_source_cannot_do_is_said_in_a_sentence() -> None:
    from pyspark.sql.types import StructType

    from odradek.spark.segment_source import SegmentsDataSource

    source = SegmentsDataSource({})
    with pytest.raises(OdradekError, match="writes nothing: it reads the files of topics"):
        source.writer(StructType(), overwrite=False)
    with pytest.raises(OdradekError, match="has no readStream"):
        source.streamReader(StructType())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_reads_the_files_of_a_stopped_broker(tmp_path: Path) -> None:
    from confluent_kafka import Producer

    from odradek.spark.session import spark_session

    with Broker(data_dir=tmp_path) as broker:
        broker.create_topic("flights", partitions=2)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(3000):
            producer.produce("flights", b"%d" % number, b"k%d" % (number % 7))
        assert producer.flush(30) == 0
    spark = spark_session("test-segments")
    try:
        found = spark.newSession()  # Nothing is registered in it: Spark finds the source by itself.
        frame = found.read.format("odradek.segments").option("subscribe", "flights").load(str(tmp_path))
        assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
        rows = frame.selectExpr("cast(cast(value as string) as int) as number", "partition").collect()
        assert sorted(row["number"] for row in rows) == list(range(3000))
        assert {row["partition"] for row in rows} == {0, 1}
        with pytest.raises(Exception, match="there is no topic nowhere") as refused:
            found.read.format("odradek.segments").option("subscribe", "nowhere").load(str(tmp_path)).collect()
        assert "Traceback" not in str(refused.value).split("there is no topic nowhere")[0]
    finally:
        spark.stop()
