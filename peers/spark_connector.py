"""Spark's own Kafka connector, `format("kafka")`, to compare our source with: its jars, for Spark 4.1."""

from pathlib import Path

from peers.jars import jars_of

POM = Path(__file__).with_name("spark_connector.xml")
KAFKA_CLIENT = "3.9.1"
"""The release of Kafka's client that Spark 4.1 was built with."""


def connector_jars() -> list[Path]:
    """The files for `spark.jars`; fetched when they are not there. Raises JarsMissing."""
    return sorted(jars_of(POM, "spark-connector", KAFKA_CLIENT).glob("*.jar"))
