"""Writes of a whole Spark: batches, and streams from files to topics over restarts from the checkpoint."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.base.errors import SettingError
from odradek.testing import Broker
from tests.spark.committed import committed_messages, committed_values

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_bad_options_columns_and_modes_are_refused_before_any_task() -> None:
    from pyspark.sql.types import StructType

    from odradek.spark.source import OdradekDataSource

    servers = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}
    source, rows = OdradekDataSource(servers), StructType().add("value", "string")
    with pytest.raises(SettingError, match="Save mode Overwrite not allowed for topics"):
        source.writer(rows, overwrite=True)
    with pytest.raises(SettingError, match="Required attribute 'value' not found"):
        source.writer(StructType(), overwrite=False)
    with pytest.raises(SettingError, match="name it with stagingLocation, or give a streaming query"):
        source.streamWriter(rows, overwrite=False)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-sink")
    yield session
    session.stop()


def servers(broker: Broker) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers}


def numbers(spark: Any, count: int) -> Any:
    return spark.range(count).selectExpr("cast(id as string) as value", "cast(id % 7 as string) as key")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_batch_writes_the_columns_of_spark_s_sink(broker: Broker, spark: Any, tmp_path: Path) -> None:
    topic = broker.create_topic(partitions=2)
    rows = spark.range(100).selectExpr(
        "cast(id as string) as value",
        "cast(concat('k', id) as binary) as key",
        f"'{topic}' as topic",
        "array(struct('h' as key, cast(cast(id as string) as binary) as value)) as headers",
        "cast(id % 2 as int) as partition",
    )
    rows.write.format("odradek").options(**servers(broker)).mode("append").save()
    found = {int(message.value()): message for message in committed_messages(broker, topic)}
    assert sorted(found) == list(range(100))
    for number, message in found.items():
        assert message.key() == b"k%d" % number
        assert message.partition() == number % 2
        assert message.headers() == [("h", b"%d" % number)]
    copy = broker.create_topic(partitions=3)
    whole = spark.read.format("odradek").options(**servers(broker), subscribe=topic, includeHeaders="true")
    at_once = {"deliveryGuarantee": "exactly-once", "stagingLocation": str(tmp_path)}
    # What was read has the column topic, which the option stands before.
    whole.load().write.format("odradek").options(**servers(broker), **at_once, topic=copy).mode(
        "append"
    ).save()
    assert committed_values(broker, copy, 100) == list(range(100))
    assert list(tmp_path.iterdir()) == []
    refused = numbers(spark, 1).write.format("odradek").options(**servers(broker), topic=topic)
    with pytest.raises(Exception, match="Save mode Overwrite not allowed") as sentence:
        refused.mode("overwrite").save()
    assert "Traceback" not in str(sentence.value).split("Save mode Overwrite")[0]
    with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        refused.mode("errorifexists").save()


def run(spark: Any, source: Any, options: dict[str, str]) -> None:
    """One run of a query until it has read all; raises what ended it."""
    query = source.writeStream.format("odradek").options(**options).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_stream_sends_each_batch_once_over_failures_and_replays(
    broker: Broker, spark: Any, tmp_path: Path
) -> None:
    sink, inbox, checkpoint = broker.create_topic(partitions=2), tmp_path / "inbox", tmp_path / "checkpoint"
    inbox.mkdir()
    options = servers(broker) | {"topic": sink, "checkpointLocation": str(checkpoint)}
    stream = spark.readStream.text(str(inbox))

    def send(first: int, end: int) -> None:
        (inbox / f"{first}.txt").write_text("\n".join(map(str, range(first, end))))

    send(0, 50)
    run(spark, stream, options)
    assert committed_values(broker, sink, 50) == list(range(50))
    # A driver that was killed behind the transaction: Spark has not noted the batch, and repeats it.
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    send(50, 80)
    run(spark, stream, options)
    assert committed_values(broker, sink, 80) == list(range(80))
    # A task that fails: the batch is aborted, and done again by the next run.
    send(80, 90)
    broken = stream.selectExpr("if(value = '85', raise_error('broken'), value) as value")
    with pytest.raises(Exception, match="broken"):
        run(spark, broken, options)
    assert committed_values(broker, sink, 80) == list(range(80))
    run(spark, stream, options)
    assert committed_values(broker, sink, 90) == list(range(90))
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert [json.loads(message.value()) for message in committed_messages(broker, f"_odradek-spark-{query}")]
    assert not list((checkpoint / "_odradek_staging").iterdir())
    shutil.rmtree(checkpoint)
    with pytest.raises(Exception, match=r"is a new one, and query .*, whose checkpoint was there"):
        run(spark, stream, options)
    assert committed_values(broker, sink, 90) == list(range(90))
    direct = broker.create_topic()
    at_least = servers(broker) | {"topic": direct, "deliveryGuarantee": "at-least-once"}
    run(spark, stream, at_least | {"checkpointLocation": str(tmp_path / "other")})
    assert committed_values(broker, direct) == list(range(90))
    wrong = servers(broker) | {"topicc": sink, "checkpointLocation": str(tmp_path / "third")}
    with pytest.raises(Exception, match=r"no option topicc; did you mean topic\?") as refused:
        run(spark, stream, wrong)
    assert "Traceback" not in str(refused.value).split("no option topicc")[0]
