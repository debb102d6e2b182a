"""Our Spark source reads what Spark's own Kafka connector reads, and each reads what the other writes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from peers import BrokerProcess
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from compat.clients import Record
from compat.clients.confluent import ConfluentClient
from compat.generated_topics import Generated, generated_topics
from compat.spark_sessions import Jars, session_with

pytestmark = [
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]

SOURCES = ("kafka", "odradek")
ISOLATIONS = ("read_uncommitted", "read_committed")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both sources."""
    yield from session_with(Jars.CONNECTOR)


Reads = Callable[..., DataFrame]


@pytest.fixture
def read(spark: SparkSession, broker: BrokerProcess) -> Reads:
    """A batch read of a source, with headers: `read("odradek", subscribe="flights")`."""

    def frame(source: str, isolation: str = "read_committed", **options: object) -> DataFrame:
        given = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.isolation.level": isolation}
        texts = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()
        }
        return spark.read.format(source).options(**given, includeHeaders="true", **texts).load()

    return frame


def figures(frame: DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    """Of each partition: counts, sums of offsets and times, and a checksum of each column and of all."""

    def checksum(*columns: str) -> Column:
        # A sum, so that the order of rows does not matter and equal rows do not take each other away.
        return f.sum(f.xxhash64(*columns).cast("decimal(38, 0)"))

    whole = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
    found = frame.groupBy("topic", "partition").agg(
        f.count(f.lit(1)).alias("records"),
        f.sum("offset").alias("offsets"),
        f.min("offset").alias("first"),
        f.max("offset").alias("last"),
        f.count("key").alias("keys"),
        f.count("value").alias("values"),
        f.count("headers").alias("with_headers"),
        checksum("offset", "key").alias("key_sum"),
        checksum("offset", "value").alias("value_sum"),
        f.sum(f.unix_micros("timestamp").cast("decimal(38, 0)")).alias("times"),
        f.collect_set("timestampType").alias("timestamp_types"),
        checksum("offset", "headers").alias("header_sum"),
        checksum(*whole).alias("row_sum"),
    )
    return {(row.topic, row.partition): row.asDict() for row in found.collect()}


def records_of(found: dict[tuple[str, int], dict[str, Any]]) -> dict[str, int]:
    """The records of each topic."""
    counts: dict[str, int] = {}
    for (topic, _), one in found.items():
        counts[topic] = counts.get(topic, 0) + one["records"]
    return counts


def expected(topics: list[Generated], isolation: str, found: dict[str, int]) -> dict[str, int]:
    """The records that each topic has; those of compacted ones are as many as were found."""
    committed = isolation == "read_committed"
    counts = {one.name: one.committed_records if committed else one.all_records for one in topics}
    return {name: found[name] if count is None else count for name, count in counts.items()}


def test_both_sources_read_the_same_rows_of_ten_topics(
    read: Reads, broker: BrokerProcess, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    with generated_topics(broker.bootstrap, new_topic, fresh_name) as topics:
        names = ",".join(one.name for one in topics)
        assert len(topics) == 10
        for isolation in ISOLATIONS:
            theirs, ours = (figures(read(source, isolation, subscribe=names)) for source in SOURCES)
            assert ours == theirs, isolation
            counts = records_of(ours)
            assert counts == expected(topics, isolation, counts), isolation


def test_the_columns_have_the_same_names_and_types(read: Reads, topic: str) -> None:
    theirs, ours = (read(source, subscribe=topic) for source in SOURCES)
    assert ours.dtypes == theirs.dtypes


def test_both_sources_read_the_same_part_of_a_topic(
    read: Reads, broker: BrokerProcess, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2, retention_ms=-1)
    client = ConfluentClient(broker.bootstrap)
    for number in range(100):
        client.write(topic, [Record(value=b"%d" % number, timestamp_ms=1000 + number, partition=number % 2)])
    parts: list[tuple[dict[str, object], int]] = [
        (
            {
                "startingOffsets": {topic: {"0": 10, "1": -2}},
                "endingOffsets": {topic: {"0": -1, "1": 20}},
            },
            60,
        ),
        ({"startingTimestamp": "1040", "endingTimestamp": "1060"}, 20),
        (
            {
                "startingOffsetsByTimestamp": {topic: {"0": 1050, "1": 1000}},
                "endingOffsets": {topic: {"0": 40, "1": 5}},
            },
            20,
        ),
        ({"minPartitions": "7"}, 100),
    ]
    for options, count in parts:
        theirs, ours = (figures(read(source, subscribe=topic, **options)) for source in SOURCES)
        assert ours == theirs, options
        assert records_of(ours) == {topic: count}, options


@pytest.mark.parametrize(
    ("sink", "more"),
    [
        ("kafka", {"includeHeaders": "true"}),
        ("odradek", {"deliveryGuarantee": "at-least-once"}),
        ("odradek", {"deliveryGuarantee": "exactly-once"}),
    ],
    ids=["kafka", "odradek", "odradek-exactly-once"],
)
def test_what_a_sink_writes_is_read_back_by_both_sources(
    read: Reads,
    spark: SparkSession,
    broker: BrokerProcess,
    new_topic: Callable[..., str],
    tmp_path: Path,
    sink: str,
    more: dict[str, str],
) -> None:
    topic = new_topic(partitions=3)
    header = "array(named_struct('key', 'n', 'value', cast(cast(id as string) as binary)))"
    written = spark.range(500).selectExpr(
        "if(id % 5 = 0, null, cast(concat('key ', id) as binary)) as key",
        "if(id % 7 = 0, null, cast(repeat(cast(id as string), 20) as binary)) as value",
        f"if(id % 3 = 0, null, {header}) as headers",
        "cast(id % 3 as int) as partition",
    )
    options = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.compression.type": "lz4", "topic": topic}
    if more.get("deliveryGuarantee") == "exactly-once":
        options["stagingLocation"] = str(tmp_path)
    written.write.format(sink).options(**options, **more).mode("append").save()
    for source in SOURCES:
        back = read(source, subscribe=topic).select(*written.columns)
        assert back.count() == 500, source
        assert back.exceptAll(written).count() == 0, source


@pytest.mark.parametrize("sink_format", SOURCES)
def test_a_stream_goes_from_topic_to_topic_and_on_with_the_next_run(
    read: Reads,
    spark: SparkSession,
    broker: BrokerProcess,
    new_topic: Callable[..., str],
    tmp_path: Path,
    sink_format: str,
) -> None:
    source, sink = new_topic(partitions=2), new_topic(partitions=2)
    servers = {"kafka.bootstrap.servers": broker.bootstrap}
    client = ConfluentClient(broker.bootstrap)

    def run(first: int) -> None:
        """Write a hundred records, and let the stream go on to the end."""
        numbers = range(first, first + 100)
        client.write(source, [Record(key=b"%d" % one, value=b"v", partition=one % 2) for one in numbers])
        stream = spark.readStream.format("kafka").options(
            **servers, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger="30"
        )
        query = (
            stream.load()
            .select("key", "value")
            .writeStream.format(sink_format)
            .options(**servers, topic=sink, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    for first in (0, 100):  # the second run goes on where the first one has ended
        run(first)
    for one in SOURCES:
        keys = [int(bytes(row.key)) for row in read(one, subscribe=sink).select("key").collect()]
        assert sorted(keys) == list(range(200)), one
